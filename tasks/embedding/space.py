"""A space of meanings: what turns texts into unit vectors that may be compared with each other.

Invariant: vectors of two spaces are never compared; a vector is stored with its space's name, and
the name changes when anything does that moves vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

Progress = Callable[[int], None]
"""Told, now and then, how many more texts are done."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """How far a cosine of one space and a share of words make a row relevant: a straight line.

    relevance = base + by_cosine * cosine + by_words * share, cut to [0, 1]. The numbers are set so
    that relevance means the same in every space (`tests/benchmarks/recall.py` shows it).
    """

    base: float
    by_cosine: float
    by_words: float
    of_words: bool = False
    """Its cosines tell of shared words again, not of meaning."""

    def likeness(self, cosines: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what cosines alone add to relevance: of one scale in all spaces of meaning."""
        line = self.base + self.by_cosine * np.maximum(cosines, 0.0)
        return np.maximum(line.astype(np.float64), 0.0)

    def relevance(
        self, cosines: NDArray[np.float32], shares: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Return the relevance of each row from its cosine and its share of the query's words."""
        line = self.base + self.by_cosine * np.maximum(cosines, 0.0) + self.by_words * shares
        return np.clip(line.astype(np.float64), 0.0, 1.0)


WORDS: Final = Gauge(base=0.13, by_cosine=0.0, by_words=0.77, of_words=True)
"""For a row without a vector: what MiniLM's gauge gives at the cosine such a share comes with."""


class SpaceAway(Exception):
    """The process that embeds for a space fails; the reason is told by `str`, in our own words."""


class Space(Protocol):
    """A way to embed; the closed set of them is `Hashed`, `MiniLM` and `Served`."""

    @property
    def name(self) -> str:
        """Return the tag of every vector stored."""
        ...

    @property
    def dim(self) -> int:
        """Return the length of a vector."""
        ...

    @property
    def join_cut(self) -> float:
        """Return the cosine at which two surprises are the same one."""
        ...

    @property
    def verify_cut(self) -> float:
        """Return the cosine at which an episode confirms a prediction."""
        ...

    @property
    def gauge(self) -> Gauge:
        """Return how recall reads a cosine."""
        ...

    def documents(self, texts: Sequence[str], progress: Progress) -> NDArray[np.float32]:
        """Return one unit row a text, shape (len(texts), dim); an empty text's row is zero.

        Raises:
            SpaceAway: when another process embeds, and fails.
        """
        ...

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a query, shape (dim,).

        Zero for an empty text, and while another process that embeds does not answer in time.
        """
        ...
