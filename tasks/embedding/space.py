"""A space of meanings: what turns texts into unit vectors that may be compared with each other.

Invariant: vectors of two spaces are never compared; a vector is stored with its space's name, and
the name changes when anything does that moves vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Progress = Callable[[int], None]
"""Told, now and then, how many more texts are done."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """How to read a cosine of one space: at `nothing` it says nothing, at `same` it says all."""

    nothing: float
    same: float

    def relevance(self, cosines: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return how relevant each cosine makes its row, in [0, 1]."""
        stretched = (cosines.astype(np.float64) - self.nothing) / (self.same - self.nothing)
        return np.clip(stretched, 0.0, 1.0)


class Space(Protocol):
    """A way to embed; the closed set of them is `Hashed` and `MiniLM`."""

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
        """Return one unit row a text, shape (len(texts), dim); an empty text's row is zero."""
        ...

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a query, shape (dim,); zero for an empty text."""
        ...
