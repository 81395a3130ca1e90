from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.embedding.dense import build_dense
from tasks.embedding.hashed import Hashed
from tasks.embedding.index import build_lexical
from tasks.embedding.space import WORDS, Gauge
from tasks.ranking import (
    BESIDE_BEST,
    HALF_LIFE,
    SPEAK,
    Asked,
    Corpus,
    Hit,
    fused,
    rank,
    relevant,
)

NOW = 1_800_000_000.0
DAY = 86_400.0
MODEL = Gauge(base=0.0, by_cosine=0.35, by_words=0.65)
TEXTS = [
    "Use pnpm and never npm in this repository",
    "Deploys happen on Tuesdays before noon",
    "The colour of the button is blue",
]


def _corpus(
    texts: Sequence[str] = TEXTS,
    *,
    age_days: Sequence[float] | None = None,
    strength: Sequence[float] | None = None,
    unfolded: Sequence[str] = (),
) -> Corpus:
    many = len(texts) + len(unfolded)
    return Corpus(
        lexical=build_lexical(texts),
        dense=build_dense(Hashed().documents(texts, lambda _: None)),
        at=NOW - DAY * np.array(age_days or [0.0] * many),
        strength=np.array(strength or [1.0] * many),
        unfolded=unfolded,
    )


def _ask(text: str, corpus: Corpus, k: int = 5) -> list[Hit]:
    space = Hashed()
    return rank(Asked(text, space.query(text), space.gauge), corpus, now=NOW, k=k)


def _ask_words(text: str, corpus: Corpus, k: int = 5) -> list[Hit]:
    return rank(Asked(text, None, WORDS), corpus, now=NOW, k=k)


def test_a_hit_explains_its_score() -> None:
    hit = _ask("pnpm or npm?", _corpus(age_days=[30, 0, 0], strength=[1.5, 1, 1]))[0]
    assert (hit.row, hit.recency, hit.strength_part) == (0, pytest.approx(0.5), 0.75)
    assert hit.cosine is not None
    assert hit.relevance == pytest.approx(0.13 + 0.154 * hit.cosine + 0.616 * hit.lexical, rel=1e-5)
    assert hit.score == pytest.approx(0.6 * hit.relevance + 0.25 * 0.5 + 0.15 * 0.75)


@pytest.mark.parametrize("ask", [_ask, _ask_words])
def test_what_has_nothing_to_do_with_it_is_met_with_silence(
    ask: Callable[[str, Corpus], list[Hit]],
) -> None:
    assert ask("pnpm repository", _corpus())[0].row == 0
    assert ask("kubernetes ingress certificates", _corpus()) == []
    assert ask("", _corpus()) == []


def test_newer_goes_before_older_and_stronger_before_weaker() -> None:
    same = ["use pnpm here", "use pnpm here"]
    assert [hit.row for hit in _ask("pnpm", _corpus(same, age_days=[40, 1]))] == [1, 0]
    assert [hit.row for hit in _ask("pnpm", _corpus(same, strength=[0.5, 1.5]))] == [1, 0]
    assert [hit.row for hit in _ask("pnpm", _corpus(same))] == [0, 1]


def test_strength_counts_up_to_two_and_the_future_is_now() -> None:
    hits = _ask("pnpm", _corpus(["use pnpm"], age_days=[-3], strength=[9]))
    assert (hits[0].recency, hits[0].strength_part) == (1.0, 1.0)


def test_an_unfolded_note_is_ranked_by_its_words_alone() -> None:
    corpus = _corpus(unfolded=["the staging database is on port 5433", "unrelated"])
    hits = _ask("which port has the staging database?", corpus)
    assert [(hit.row, hit.cosine) for hit in hits] == [(3, None)]
    assert hits[0].relevance == pytest.approx(0.13 + 0.77 * hits[0].lexical, rel=1e-5)


def test_rows_beyond_the_vectors_are_ranked_by_their_words_alone() -> None:
    texts = [*TEXTS, "passage about the flux capacitor"]
    full = _corpus(texts)
    dense = build_dense(Hashed().documents(TEXTS, lambda _: None))
    corpus = Corpus(full.lexical, dense, full.at, full.strength)
    assert [(h.row, h.cosine) for h in _ask("flux capacitor", corpus)] == [(3, None)]
    assert _ask("flux capacitor", full)[0].cosine is not None


def test_meaning_alone_can_speak_up() -> None:
    """A row that shares no word with the query but points the same way."""
    vector = np.eye(4, dtype=np.float32)
    corpus = Corpus(build_lexical(["one", "two"]), build_dense(vector[:2]), np.ones(2), np.ones(2))
    hits = rank(Asked("three", vector[1], MODEL), corpus, now=1.0, k=5)
    assert [(hit.row, hit.lexical) for hit in hits] == [(1, 0.0)]


def test_nothing_is_returned_far_below_the_best() -> None:
    best = 0.8
    lower = best * BESIDE_BEST
    assert relevant(np.array([best, lower + 0.01, lower - 0.01])).tolist() == [True, True, False]


def test_the_best_decides_whether_there_is_an_answer() -> None:
    assert relevant(np.array([SPEAK, SPEAK * 0.9])).tolist() == [True, True]
    assert relevant(np.array([SPEAK - 0.01, SPEAK * 0.9])).tolist() == [False, False]
    assert relevant(np.zeros(0)).tolist() == []


def test_a_half_life_is_thirty_days() -> None:
    assert HALF_LIFE == 30 * DAY


@given(
    st.lists(st.floats(-1, 1, width=32) | st.just(float("nan")), min_size=1, max_size=5),
    st.floats(0, 1, width=32),
)
def test_relevance_lies_in_zero_to_one(cosines: list[float], share: float) -> None:
    values = np.array(cosines, dtype=np.float32)
    shares = np.full(len(cosines), share, dtype=np.float32)
    for gauge in (MODEL, Hashed.gauge):
        found = fused(gauge, values, shares)
        assert np.all((found >= 0) & (found <= 1))


@given(st.lists(st.sampled_from(TEXTS), max_size=6), st.integers(0, 4))
def test_at_most_k_come_back_best_first_each_once(texts: list[str], k: int) -> None:
    hits = _ask("pnpm on Tuesdays", _corpus(texts), k)
    assert len(hits) <= k
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.row for hit in hits}) == len(hits)
