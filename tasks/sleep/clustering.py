"""Average linkage at a cut, over neighbours only, so that memory never holds all pairs.

Two clusters with no near pair between them can never meet under average linkage, so linking inside
the connected parts of the neighbour graph is exact. A part too large to link whole is split first
around seeded centres: then, and only then, one meaning may end as two clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tasks.sleep.neighbours import SLACK, Cells, Matrix, Rows, centres_of, near_pairs, nearest

LINKED_AT_ONCE: Final = 2000
PACK: Final = 600
"""Small parts are linked together in one call, which has a fixed price; parts never meet."""
NEVER: Final = 1e9
"""A distance that no average over LINKED_AT_ONCE² pairs brings under a cut."""
HELD_EDGES: Final = 4_000_000


def clusters(matrix: Matrix, cut: float) -> list[Rows]:
    """Return the clusters of unit rows by average linkage at cosine `cut`, by their first row.

    Args:
        matrix: shape (n, dim), rows in an order that does not depend on how they arrived.
        cut: the least mean cosine between two clusters that become one.
    """
    return linked_within(matrix, connected(matrix, cut), cut)


def connected(matrix: Matrix, cut: float, *, cells: Cells | None = None) -> NDArray[np.intp]:
    """Label the connected parts of the neighbour graph, holding about HELD_EDGES edges at once.

    Args:
        matrix: shape (n, dim), unit rows.
        cut: the least cosine of neighbours.
        cells: where to look for them; None as `near_pairs` decides.
    """
    labels = np.arange(len(matrix))
    held: list[tuple[Rows, Rows]] = []
    waiting = 0
    for pairs in near_pairs(matrix, matrix, cut, cells=cells):
        once = pairs.queries != pairs.targets
        held.append((pairs.queries[once], pairs.targets[once]))
        waiting += int(once.sum())
        if waiting > HELD_EDGES:
            labels, held, waiting = _joined_up(labels, held), [], 0
    return _joined_up(labels, held)


def linked_within(matrix: Matrix, labels: NDArray[np.intp], cut: float) -> list[Rows]:
    """Return the clusters of unit rows inside parts that `connected` labelled, by first row."""
    found: list[Rows] = []
    pack: list[Rows] = []
    for part in _parts(matrix, labels):
        if len(part) <= 2:
            found.append(part)
            continue
        if pack and sum(map(len, pack)) + len(part) > PACK:
            found += linked(np.concatenate(pack), distances(matrix[np.concatenate(pack)]), cut)
            pack = []
        pack.append(part)
    if pack:
        found += linked(np.concatenate(pack), distances(matrix[np.concatenate(pack)]), cut)
    return sorted(found, key=lambda rows: int(rows[0]))


def distances(matrix: Matrix) -> NDArray[np.float64]:
    """Return 1 − cosine between all rows, shape (n, n); for at most LINKED_AT_ONCE rows."""
    apart = 1.0 - (matrix @ matrix.T).astype(np.float64)
    np.fill_diagonal(apart, 0.0)
    return np.maximum(apart, 0.0)


def linked(rows: Rows, apart: NDArray[np.float64], cut: float) -> list[Rows]:
    """Return `rows` in clusters by average linkage of their distances, each cluster sorted."""
    from sklearn.cluster import AgglomerativeClustering  # noqa: PLC0415  costs a second to import

    if len(rows) == 1:
        return [rows]
    tree = AgglomerativeClustering(
        n_clusters=None,
        metric="precomputed",
        linkage="average",
        distance_threshold=1.0 - cut + SLACK,
    )
    return grouped(rows, tree.fit(apart).labels_)


def grouped(rows: Rows, labels: NDArray[np.intp]) -> list[Rows]:
    """Return `rows` by label, each group sorted."""
    order = np.lexsort((rows, labels))
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(rows[order], ends)


def _parts(matrix: Matrix, labels: NDArray[np.intp]) -> Iterator[Rows]:
    for part in grouped(np.arange(len(matrix)), labels) if len(matrix) else []:
        if len(part) <= LINKED_AT_ONCE:
            yield part
        else:
            yield from _split(matrix, part)


def _joined_up(labels: NDArray[np.intp], edges: list[tuple[Rows, Rows]]) -> NDArray[np.intp]:
    from scipy.sparse import coo_array  # noqa: PLC0415  comes with scikit-learn, as slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    if not edges:
        return labels
    starts = labels[np.concatenate([a for a, _ in edges])]
    ends = labels[np.concatenate([b for _, b in edges])]
    weights = np.ones(len(starts), dtype=np.int8)
    graph = coo_array((weights, (starts, ends)), shape=(len(labels), len(labels)))
    parts: NDArray[np.intp] = connected_components(graph, directed=False)[1].astype(np.intp)
    return parts[labels]


def _split(matrix: Matrix, part: Rows) -> Iterator[Rows]:
    centres = centres_of(matrix[part], -(-len(part) * 2 // LINKED_AT_ONCE))
    for rows in grouped(part, nearest(matrix[part], centres, 1)[:, 0]):
        yield from np.array_split(rows, -(-len(rows) // LINKED_AT_ONCE))
