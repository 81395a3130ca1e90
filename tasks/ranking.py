"""The order in which recall answers, and whether it answers: pure arithmetic over an index.

score = 0.6 relevance + 0.25 recency + 0.15 strength, as the architecture has it. Relevance is
absolute, in [0, 1]: what is under the floor is not returned, however little else there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.index import Found, Lexical, best, nearest
from tasks.embedding.space import Gauge

RELEVANCE_SHARE: Final = 0.6
RECENCY_SHARE: Final = 0.25
STRENGTH_SHARE: Final = 0.15
HALF_LIFE: Final = 30 * 86_400.0
CANDIDATES: Final = 200
FLOOR: Final = 0.25


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
        dense: unit rows of the first units, shape (m, dim) with m <= n, or None; the units after
            them (unfolded notes, passages) have no vector and are ranked by their words alone.
        at: when each happened, seconds since the epoch; `strength`: at the present instant.
    """

    lexical: Lexical
    dense: NDArray[np.float32] | None
    at: NDArray[np.float64]
    strength: NDArray[np.float64]


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


def rank(asked: Asked, corpus: Corpus, *, now: float, k: int, floor: float = FLOOR) -> list[Hit]:
    """Return at most `k` rows, best first, none less relevant than `floor`; maybe none at all.

    Ties are broken by the row, so the same question over the same index has one answer.

    Args:
        asked: the query.
        corpus: the index of one scope.
        now: seconds since the epoch.
        k: how many at most.
        floor: relevance under which a row is silence.
    """
    lexical = corpus.lexical.scores(asked.text)
    rows, cosines, shares = _candidates(asked, corpus, lexical)
    relevance = fused(asked.gauge, cosines, shares)
    kept = relevance >= floor
    rows, cosines, shares, relevance = rows[kept], cosines[kept], shares[kept], relevance[kept]
    recency = np.exp2(-np.maximum(now - corpus.at[rows], 0.0) / HALF_LIFE)
    strength = np.minimum(corpus.strength[rows], 2.0) / 2.0
    score = RELEVANCE_SHARE * relevance + RECENCY_SHARE * recency + STRENGTH_SHARE * strength
    return [
        Hit(
            row=int(rows[i]),
            score=float(score[i]),
            relevance=float(relevance[i]),
            cosine=None if np.isnan(cosines[i]) else float(cosines[i]),
            lexical=float(shares[i]),
            recency=float(recency[i]),
            strength_part=float(strength[i]),
        )
        for i in np.lexsort((rows, -score))[:k]
    ]


def fused(
    gauge: Gauge, cosines: NDArray[np.float32], shares: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return relevance in [0, 1] from both arms; a row whose cosine is nan has words alone."""
    words = shares.astype(np.float64)
    meaning = np.where(np.isnan(cosines), 0.0, gauge.relevance(np.nan_to_num(cosines)))
    return 1.0 - (1.0 - meaning) * (1.0 - words)


def _candidates(
    asked: Asked, corpus: Corpus, lexical: Found
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """Return the rows that either arm puts among its best, with both arms' values for each."""
    rows = best(lexical, CANDIDATES).rows
    if corpus.dense is not None and asked.vector is not None:
        rows = np.union1d(rows, nearest(corpus.dense, asked.vector, CANDIDATES).rows)
    return rows, _cosines(asked, corpus, rows), _shares(lexical, rows)


def _cosines(asked: Asked, corpus: Corpus, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    cosines = np.full(len(rows), np.nan, dtype=np.float32)
    if corpus.dense is not None and asked.vector is not None:
        known = rows < len(corpus.dense)
        cosines[known] = corpus.dense[rows[known]] @ asked.vector
    return cosines


def _shares(lexical: Found, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    if not len(lexical.rows):
        return np.zeros(len(rows), dtype=np.float32)
    at = np.minimum(np.searchsorted(lexical.rows, rows), len(lexical.rows) - 1)
    found = lexical.rows[at] == rows
    return np.where(found, lexical.scores[at], np.float32(0.0))
