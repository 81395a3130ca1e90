"""The order in which recall answers, and whether it answers: pure arithmetic over an index.

score = 0.6 relevance + 0.25 recency + 0.15 strength, as the architecture has it. Relevance is
absolute, in [0, 1]: when no row has enough of it the answer is silence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.dense import Dense
from tasks.embedding.index import Found, Lexical, best
from tasks.embedding.space import WORDS, Gauge

RELEVANCE: Final = 0.6
RECENCY: Final = 0.25
STRENGTH: Final = 0.15
HALF_LIFE: Final = 30 * 86_400.0
STRONG: Final = 2.0
CANDIDATES: Final = 200
SPEAK: Final = 0.25
"""Relevance the best row must have for any to be returned; `tests/benchmarks/recall.py` shows what
it costs: answerable questions met with silence, foreign ones answered."""
BESIDE_BEST: Final = 0.5
"""Share of the best row's relevance under which a row is left out."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query: its words, and its vector where a space can read it.

    `vector` has shape (dim,), unit or zero; `gauge` belongs to the vector's space.
    """

    text: str
    vector: NDArray[np.float32] | None
    gauge: Gauge


@dataclass(frozen=True, slots=True)
class Corpus:
    """The rows that may be returned: row i is the same unit in every array.

    Attributes:
        lexical: over the n folded units and passages, each in its context where it has one.
        dense: vectors of the first m <= n rows, or None; a row without one, or with a zero one, is
            ranked by its words alone.
        at: when each happened, seconds since the epoch, shape (n + number unfolded,).
        strength: of each at the present instant, the same shape.
        unfolded: texts of the notes that the journal holds beyond the view; rows n, n + 1, and on.
    """

    lexical: Lexical
    dense: Dense | None
    at: NDArray[np.float64]
    strength: NDArray[np.float64]
    unfolded: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One row with everything its place rests on; `cosine` is None for a row without a vector."""

    row: int
    score: float
    relevance: float
    cosine: float | None
    lexical: float
    recency: float
    strength_part: float


def rank(asked: Asked, corpus: Corpus, *, now: float, k: int) -> list[Hit]:
    """Return at most `k` rows, best first; none at all when none is relevant.

    Ties are broken by the row, so the same question over the same index has one answer. Scores of
    two indexes may be compared, so the answers of a project and of `@global` merge by score.

    Args:
        asked: the query.
        corpus: the index of one scope.
        now: seconds since the epoch.
        k: how many at most.
    """
    return _hits(asked, corpus, now, k, relevant)


def nearest(asked: Asked, corpus: Corpus, *, now: float) -> list[Hit]:
    """Return all that either arm comes upon, relevant or not, best first: to tell why not."""
    return _hits(asked, corpus, now, 2 * CANDIDATES, np.isfinite)


def _hits(
    asked: Asked,
    corpus: Corpus,
    now: float,
    k: int,
    chosen: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
) -> list[Hit]:
    rows, cosines, shares = _candidates(asked, corpus)
    relevance = fused(asked.gauge, cosines, shares)
    kept = np.flatnonzero(chosen(relevance))
    recency = np.exp2(-np.maximum(now - corpus.at[rows[kept]], 0.0) / HALF_LIFE)
    strength = np.minimum(corpus.strength[rows[kept]], STRONG) / STRONG
    score = RELEVANCE * relevance[kept] + RECENCY * recency + STRENGTH * strength
    return [
        Hit(
            row=int(rows[kept[i]]),
            score=float(score[i]),
            relevance=float(relevance[kept[i]]),
            cosine=None if np.isnan(cosines[kept[i]]) else float(cosines[kept[i]]),
            lexical=float(shares[kept[i]]),
            recency=float(recency[i]),
            strength_part=float(strength[i]),
        )
        for i in np.lexsort((rows[kept], -score))[:k]
    ]


def fused(
    gauge: Gauge, cosines: NDArray[np.float32], shares: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return relevance in [0, 1] from both arms; a row whose cosine is nan has words alone."""
    by_words = np.where(shares > 0, WORDS.relevance(shares, shares), 0.0)
    by_both = gauge.relevance(np.nan_to_num(cosines), shares)
    return np.where(np.isnan(cosines), by_words, by_both)


def relevant(relevance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which rows to return: all false unless the best of them is worth speaking up for."""
    top = float(relevance.max(initial=0.0))
    return (relevance >= top * BESIDE_BEST) & (top >= SPEAK)


def _candidates(
    asked: Asked, corpus: Corpus
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """Return the rows that either arm puts among its best, with both arms' values for each."""
    words = _with_unfolded(asked.text, corpus)
    rows = best(words, CANDIDATES).rows
    if corpus.dense is None or asked.vector is None or not asked.vector.any():
        return rows, np.full(len(rows), np.nan, dtype=np.float32), _shares(words, rows)
    rows = np.union1d(rows, corpus.dense.nearest(asked.vector, CANDIDATES).rows)
    return rows, corpus.dense.cosines(asked.vector, rows), _shares(words, rows)


def _with_unfolded(query: str, corpus: Corpus) -> Found:
    found = corpus.lexical.scores(query)
    if not corpus.unfolded:
        return found
    shares = corpus.lexical.against(query, corpus.unfolded)
    said = np.flatnonzero(shares)
    return Found(
        np.concatenate([found.rows, said + corpus.lexical.count]),
        np.concatenate([found.scores, shares[said]]),
    )


def _shares(words: Found, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    if not len(words.rows):
        return np.zeros(len(rows), dtype=np.float32)
    at = np.minimum(np.searchsorted(words.rows, rows), len(words.rows) - 1)
    return np.where(words.rows[at] == rows, words.scores[at], np.float32(0.0))
