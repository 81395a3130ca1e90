"""Which vectors lie near which, without ever holding all pairs.

Up to EXACT_PAIRS every pair is compared, in blocks of rows. Beyond, targets are filed in cells
around seeded centres and a query looks into its nearest few, so time grows with the number of
vectors and not with its square; a pair that no common cell holds is missed, a pair reported is
always true. The same rows in the same order give the same pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Rows = NDArray[np.intp]

EXACT_PAIRS: Final = 25_000_000
BLOCK: Final = 2048
CELL: Final = 512
PROBES: Final = 8
SAMPLE: Final = 32
"""Rows a centre is learnt from, on average."""
SLACK: Final = 1e-6
"""Float rounding differs between shapes of a product; a cosine this close to a cut meets it."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Some pairs at or above the cut: `queries[i]` and `targets[i]` at cosine `cosines[i]`."""

    queries: Rows
    targets: Rows
    cosines: Matrix


class Cells:
    """Cells around seeded centres of some rows, which are worked out once and only when asked for.

    Two rows that meet in them do so whatever other rows are compared.
    """

    def __init__(self, matrix: Matrix, rows: Rows) -> None:
        self._matrix, self._rows = matrix, rows

    @cached_property
    def centres(self) -> Matrix:
        """Return the unit centres, shape (cells, dim)."""
        return centres_of(_unit(self._matrix[self._rows]), -(-len(self._rows) // CELL))


def crowded(queries: int, targets: int) -> bool:
    """Tell whether there are too many pairs to compare each of them."""
    return queries * targets > EXACT_PAIRS


def near_pairs(
    queries: Matrix, targets: Matrix, cut: float, *, cells: Cells | None = None
) -> Iterator[Pairs]:
    """Yield every pair (or, within cells, almost every pair) whose product is at least `cut`.

    Args:
        queries: shape (n, dim), unit rows.
        targets: shape (m, dim), unit rows or means of unit rows.
        cut: the least product that counts.
        cells: where to look; None compares every pair, or files the targets when there are too
            many.
    """
    if not len(queries) or not len(targets):
        return
    if cells is None and not crowded(len(queries), len(targets)):
        yield from _compared(
            queries, targets, cut, np.arange(len(queries)), np.arange(len(targets))
        )
        return
    cells = cells or Cells(targets, np.arange(len(targets)))
    for asking, filed in _filed(queries, targets, cells.centres):
        yield from _compared(queries, targets, cut, asking, filed)


def centres_of(matrix: Matrix, count: int) -> Matrix:
    """Return `count` unit centres of the rows, shape (count, dim), learnt from a seeded sample."""
    from sklearn.cluster import MiniBatchKMeans  # noqa: PLC0415  costs a second to import

    sample = np.random.default_rng(0).permutation(len(matrix))[: count * SAMPLE]
    learner = MiniBatchKMeans(
        count, init="random", n_init=1, random_state=0, batch_size=4096, max_iter=5
    )
    return _unit(learner.fit(matrix[np.sort(sample)]).cluster_centers_.astype(np.float32))


def nearest(matrix: Matrix, centres: Matrix, count: int) -> Rows:
    """Return the indices of each row's `count` nearest centres, in no order, shape (n, count)."""
    count = min(count, len(centres))
    found = np.empty((len(matrix), count), dtype=np.intp)
    for start in range(0, len(matrix), BLOCK):
        products = matrix[start : start + BLOCK] @ centres.T
        found[start : start + BLOCK] = (
            products.argmax(axis=1)[:, None]
            if count == 1
            else np.argpartition(products, -count, axis=1)[:, -count:]
        )
    return found


def _filed(queries: Matrix, targets: Matrix, centres: Matrix) -> Iterator[tuple[Rows, Rows]]:
    homes = _members(nearest(_unit(targets), centres, 1), len(centres))
    asking = _members(nearest(queries, centres, PROBES), len(centres))
    yield from zip(asking, homes, strict=True)


def _members(cells: Rows, count: int) -> list[Rows]:
    order = np.argsort(cells.ravel(), kind="stable")
    ends = np.searchsorted(cells.ravel()[order], np.arange(1, count))
    return np.split(order // cells.shape[1], ends)


def _compared(
    queries: Matrix, targets: Matrix, cut: float, asking: Rows, filed: Rows
) -> Iterator[Pairs]:
    held = targets[filed]
    for start in range(0, len(asking), BLOCK):
        rows = asking[start : start + BLOCK]
        products = queries[rows] @ held.T
        q, t = np.nonzero(products >= cut - SLACK)
        if len(q):
            yield Pairs(rows[q], filed[t], products[q, t])


def _unit(matrix: Matrix) -> Matrix:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Matrix = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return unit
