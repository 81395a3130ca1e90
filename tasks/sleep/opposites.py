"""Keep opposite rules apart: near-identical vectors, opposite meanings.

Invariant: no group handed back holds two units whose stances are opposed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.domain.polarity import clashes, stance_of
from tasks.sleep.clustering import NEVER, distances, linked
from tasks.sleep.neighbours import Matrix, Rows


def parted(
    groups: Sequence[Rows], matrix: Matrix, stances: Sequence[str], cut: float
) -> list[Rows]:
    """Return the groups, those that hold opposites linked again with the opposites kept apart.

    Args:
        groups: clusters of rows of `matrix`.
        matrix: shape (n, dim).
        stances: the words of each row.
        cut: the mean cosine at which clusters become one.
    """
    found: list[Rows] = []
    for group in groups:
        apart = _clashes([stances[row] for row in group])
        found += _relinked(group, matrix, apart, cut) if apart else [group]
    return sorted(found, key=lambda rows: int(rows[0]))


def _relinked(
    group: Rows, matrix: Matrix, opposites: list[tuple[int, int]], cut: float
) -> list[Rows]:
    apart = distances(matrix[group])
    first, second = np.array(opposites).T
    apart[first, second] = apart[second, first] = NEVER
    return linked(group, apart, cut)


def _clashes(stances: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of all opposed pairs; texts that stand several times are compared once."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(stances):
        places.setdefault(text, []).append(place)
    standing = list(places.values())
    return [
        (i, j)
        for a, b in clashes([stance_of(text) for text in places])
        for i in standing[a]
        for j in standing[b]
    ]
