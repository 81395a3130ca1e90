"""The dense arm of search: the nearest rows of a matrix of unit vectors, mapped and never loaded.

A large matrix is first sifted by the signs of its numbers, 32 times smaller, and only what passes
is compared in full. Invariant: cosines are always exact; sifting can only miss a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.index import Found, best

EXACT: Final = 20_000
"""Rows up to which every one is compared: 1.5 ms at 384 numbers a row."""
_SIFT: Final = 1_500  # rows that pass at least; how many of the wanted they hold is benchmarked
_BLOCK: Final = 16_384


@dataclass(frozen=True, slots=True)
class Dense:
    """Unit rows and, packed 64 to a word, the signs of their numbers."""

    matrix: NDArray[np.float32]
    signs: NDArray[np.uint64]

    def nearest(self, vector: NDArray[np.float32], top: int) -> Found:
        """Return the `top` rows by cosine with `vector`, in the order of the rows."""
        if len(self.matrix) <= EXACT:
            return best(self._all(vector), top)
        rows = self._sifted(vector, max(_SIFT, 2 * top))
        return best(Found(rows, self.matrix[rows] @ vector), top)

    def cosines(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the cosine of each of `rows`; nan for a row past the end or without a vector."""
        found = np.full(len(rows), np.nan, dtype=np.float32)
        known = np.flatnonzero(rows < len(self.matrix))
        near = self.matrix[rows[known]]
        found[known] = np.where(near.any(axis=1), near @ vector, np.float32(np.nan))
        return found

    def save(self, folder: Path) -> None:
        """Write the arrays into `folder`, which exists; durability is the publisher's business."""
        for name in self.__slots__:
            np.save(folder / f"dense-{name}.npy", getattr(self, name), allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> Dense:
        """Map the arrays that `save` wrote."""
        return cls(
            *(
                np.load(folder / f"dense-{name}.npy", mmap_mode="r", allow_pickle=False)
                for name in cls.__slots__
            )
        )

    def _all(self, vector: NDArray[np.float32]) -> Found:
        cosines = np.empty(len(self.matrix), dtype=np.float32)
        for start in range(0, len(cosines), _BLOCK):
            cosines[start : start + _BLOCK] = self.matrix[start : start + _BLOCK] @ vector
        return Found(np.arange(len(cosines)), cosines)

    def _sifted(self, vector: NDArray[np.float32], many: int) -> NDArray[np.int64]:
        asked = _signs(vector[np.newaxis])[0]
        apart = np.zeros(len(self.signs[0]), dtype=np.uint16)
        for word, bits in zip(self.signs, asked, strict=True):
            apart += np.bitwise_count(word ^ bits)
        within = np.searchsorted(np.cumsum(np.bincount(apart)), many)
        return np.flatnonzero(apart <= within)


def build_dense(matrix: NDArray[np.float32]) -> Dense:
    """Return the dense arm over unit rows, shape (n, dim)."""
    return Dense(matrix, np.ascontiguousarray(_signs(matrix).T))


def _signs(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    packed = np.packbits(rows > 0, axis=1)
    padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return padded.view("<u8")
