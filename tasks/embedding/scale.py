"""What cosines of an embedding model mean that is not known here, measured on texts of ours.

Models differ in the cosines that they give to the same pairs: of one model's texts 0.7 is a close
paraphrase, of another's any two texts. So a model's cosines are brought by a straight line to the
scale of MiniLM's, on which the cuts and the gauge were set. Invariant: a model that cannot tell
paraphrases from unrelated texts gets no scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tasks.cues import table
from tasks.embedding.space import Gauge

_ORDERED: Final = 0.95
"""Share of pairs of pairs in the right order; MiniLM has 1.00, hashed words 0.99, chance 0.5."""


@dataclass(frozen=True, slots=True)
class Scale:
    """MiniLM's cosine is about `offset + slope * cosine`."""

    offset: float
    slope: float

    def cut(self, known: float) -> float:
        """Return the model's own cosine that stands for MiniLM's `known`."""
        return (known - self.offset) / self.slope

    def gauge(self, known: Gauge) -> Gauge:
        """Return MiniLM's gauge for the model's own cosines."""
        return Gauge(
            known.base + known.by_cosine * self.offset,
            known.by_cosine * self.slope,
            known.by_words,
        )


def reference_texts() -> list[str]:
    """Return the texts that a model is measured on; texts 2i and 2i + 1 say the same."""
    return [text for pair in table(__package__, "reference")["texts"]["pairs"] for text in pair]


def scale_of(matrix: NDArray[np.float32]) -> Scale | None:
    """Return a model's scale from its unit vectors of the reference texts, shape (n, dim).

    None when the model orders too few pairs as they should be.
    """
    same, apart = cosines(matrix)
    if (same[:, np.newaxis] > apart).mean() < _ORDERED:
        return None
    known = table(__package__, "reference")["minilm"]
    slope = (known["same"] - known["apart"]) / float(same.mean() - apart.mean())
    return Scale(known["apart"] - slope * float(apart.mean()), slope)


def cosines(matrix: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cosines of the pairs that say the same, and those of all other pairs."""
    products = matrix.astype(np.float64) @ matrix.astype(np.float64).T
    first = np.arange(0, len(matrix), 2)
    pairs = np.arange(len(matrix)) // 2
    apart = products[np.less.outer(pairs, pairs)]
    return products[first, first + 1], apart
