from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.embedding.index import BACKGROUND, K1, B, Lexical, best, build_lexical, windows
from tasks.embedding.words import terms

TEXTS = [
    "Use pnpm, never npm, in this repository.",
    "Deploys happen on Tuesdays before noon.",
    "The deploy failed: pnpm was not found on the build machine.",
    "",
    "テストを書いてからコミットしてください。",
]


def _shares(index: Lexical, query: str) -> dict[int, float]:
    found = index.scores(query)
    return dict(zip(found.rows.tolist(), found.scores.tolist(), strict=True))


def test_a_share_is_bm25_over_the_most_a_text_could_get() -> None:
    query = "pnpm deploys"
    lengths = [len(terms(text)) for text in TEXTS]
    mean = sum(lengths) / len(lengths)
    expected = {}
    idf = {
        term: np.log1p((len(TEXTS) + BACKGROUND - n + 0.5) / (n + 0.5))
        for term in terms(query)
        for n in [sum(term in terms(text) for text in TEXTS)]
    }
    for row, text in enumerate(TEXTS):
        counts = {term: terms(text).count(term) for term in idf}
        norm = K1 * (1 - B + B * lengths[row] / mean)
        score = sum(idf[t] * c * (K1 + 1) / (c + norm) for t, c in counts.items())
        if score:
            expected[row] = score / (sum(idf.values()) * (K1 + 1))
    assert _shares(build_lexical(TEXTS), query) == pytest.approx(expected, rel=1e-5)


def test_the_text_with_both_words_is_best_and_others_are_not_found() -> None:
    found = _shares(build_lexical(TEXTS), "did a deploy with pnpm fail?")
    assert max(found, key=found.__getitem__) == 2
    assert set(found) == {0, 1, 2}


def test_unknown_words_lower_the_share() -> None:
    index = build_lexical(TEXTS)
    assert _shares(index, "pnpm kubernetes ingress")[0] < _shares(index, "pnpm")[0] / 2


def test_function_words_count_only_when_there_is_nothing_else() -> None:
    index = build_lexical(TEXTS)
    assert _shares(index, "what was on the kubernetes") == {}
    assert 2 in _shares(index, "was not on the")


def test_scripts_without_spaces_are_found() -> None:
    assert set(_shares(build_lexical(TEXTS), "コミット")) == {4}


def test_what_was_saved_is_what_is_loaded_and_nothing_is_read_into_memory(tmp_path: Path) -> None:
    built = build_lexical(TEXTS)
    built.save(tmp_path)
    loaded = Lexical.load(tmp_path)
    assert _shares(loaded, "pnpm deploy") == _shares(built, "pnpm deploy")
    assert all(isinstance(getattr(loaded, name), np.memmap) for name in Lexical.__slots__)


def test_the_same_texts_give_the_same_bytes(tmp_path: Path) -> None:
    def bytes_of(texts: list[str], name: str) -> list[bytes]:
        folder = tmp_path / name
        folder.mkdir()
        build_lexical(texts).save(folder)
        return [path.read_bytes() for path in sorted(folder.iterdir())]

    first = bytes_of(TEXTS, "a")
    assert first == bytes_of(list(TEXTS), "b")
    assert first != bytes_of([*TEXTS, "one more"], "c")


def test_an_empty_index_finds_nothing_and_can_be_saved(tmp_path: Path) -> None:
    for texts in ([], ["", ""]):
        build_lexical(texts).save(tmp_path)
        assert len(Lexical.load(tmp_path).scores("pnpm").rows) == 0


@given(st.lists(st.text(alphabet="abc déé東京_A", max_size=30), max_size=8), st.text(max_size=20))
def test_shares_lie_between_nothing_and_one_and_rows_ascend(texts: list[str], query: str) -> None:
    found = build_lexical(texts).scores(query)
    assert np.all(found.scores > 0)
    assert np.all(found.scores < 1)
    assert np.all(np.diff(found.rows) > 0)


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma_Delta", "the"]), min_size=1, max_size=6))
def test_a_text_outside_is_measured_like_the_same_text_inside(words: list[str]) -> None:
    text = " ".join(words)
    index = build_lexical([text, "alpha beta", "other things"])
    query = "alpha gamma"
    inside = _shares(index, query).get(0, 0.0)
    assert index.against(query, [text])[0] == pytest.approx(inside, rel=1e-5)


def test_windows_hold_neighbours_of_their_own_group_only() -> None:
    texts = ["a0", "a1", "a2", "a3", "b0", "b1"]
    made = windows(texts, ["a", "a", "a", "a", "b", "b"])
    assert made[0].split("\n") == ["a0", "a0", "a1", "a2"]
    assert made[3].split("\n") == ["a3", "a1", "a2", "a3"]
    assert made[4].split("\n") == ["b0", "b0", "b1"]


def test_best_keeps_the_highest_in_the_order_of_rows() -> None:
    found = build_lexical(["x", "x x x x", "x y y y y", "x x"]).scores("x")
    assert best(found, 2).rows.tolist() == [1, 3]
    assert best(found, 9).rows.tolist() == [0, 1, 2, 3]
