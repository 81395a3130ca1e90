"""Episodes of one kind by meaning, round after round of a pass, at the price of what changed.

Clusters form inside the connected parts of the neighbour graph. Taking episodes away can only split
parts, so a part that lost none keeps its clusters, and only the others are linked again. Invariant:
the groups are those that all the episodes together would have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tasks.domain.units import Episode, EpisodeKind
from tasks.sleep.clustering import connected, linked_within
from tasks.sleep.founding import suffices
from tasks.sleep.material import Vectors
from tasks.sleep.meaning import stance, vectors_of
from tasks.sleep.neighbours import Cells, Matrix, Rows, crowded
from tasks.sleep.opposites import parted

Group = list[Episode]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Groups of episodes, and the part of the graph that each episode is in.

    Attributes:
        cells: where neighbours were looked for; None when everywhere.
    """

    groups: tuple[Group, ...] = ()
    part: Mapping[str, int] = field(default_factory=dict)
    cells: Cells | None = None


def alike(
    waiting: Sequence[Episode],
    before: Grouped,
    *,
    vectors: Vectors,
    cells: Cells,
    cut: float,
) -> Grouped:
    """Return the episodes by meaning; opposites are parted where a lesson could come of them.

    Args:
        waiting: episodes of one kind, by id; no others than those of `before`, if it has any.
        before: the groups of the round before.
        vectors: of all episodes.
        cells: where to look for neighbours when the episodes are too many for all pairs.
        cut: the mean cosine at which two clusters become one.
    """
    looked = cells if crowded(len(waiting), len(waiting)) else None
    known = before if before.cells is looked else Grouped()
    kept, rest = _parted_from(waiting, known)
    if not rest:
        return kept
    matrix = vectors_of(rest, vectors)
    labels = connected(matrix, cut, cells=looked)
    first = max(kept.part.values(), default=-1) + 1
    part = {e.id: first + int(label) for e, label in zip(rest, labels, strict=True)}
    groups = _groups(rest, matrix, linked_within(matrix, labels, cut), cut)
    return Grouped((*kept.groups, *groups), {**kept.part, **part}, looked)


def _parted_from(waiting: Sequence[Episode], known: Grouped) -> tuple[Grouped, Sequence[Episode]]:
    """Return what stays of the groups, since its part lost no episode, and all other episodes."""
    had = Counter(known.part.values())
    left = Counter(known.part[episode.id] for episode in waiting if episode.id in known.part)
    whole = {part for part, count in left.items() if had[part] == count}
    part = {unit: number for unit, number in known.part.items() if number in whole}
    groups = tuple(group for group in known.groups if group[0].id in part)
    return Grouped(groups, part, known.cells), [e for e in waiting if e.id not in part]


def _groups(
    episodes: Sequence[Episode], matrix: Matrix, clusters: Sequence[Rows], cut: float
) -> list[Group]:
    groups = list(clusters)
    if episodes[0].kind is not EpisodeKind.ERROR:
        founding = [rows for rows in groups if suffices(episodes[row] for row in rows)]
        kept = {int(rows[0]) for rows in founding}
        stances = [stance(episode) for episode in episodes]
        groups = [rows for rows in groups if int(rows[0]) not in kept]
        groups += parted(founding, matrix, stances, cut)
    return [[episodes[row] for row in rows] for rows in groups]
