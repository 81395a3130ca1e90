"""Where a lesson's meaning lies: the mean of its sources' unit vectors, and the stance it takes.

The mean is left as it is, not brought to length one: its product with a unit vector is the mean
cosine to the sources, and the product of two means the mean cosine between two sets of sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tasks.domain.units import Episode, Grounding, Lesson
from tasks.sleep.material import Vectors
from tasks.sleep.neighbours import Matrix

_WEIGHT = (Grounding.PERSON, Grounding.TOOL, Grounding.INFERRED, Grounding.FOREIGN)


def mean_of(ids: Iterable[str], vectors: Vectors) -> Matrix | None:
    """Return the mean vector of those ids that have one, shape (dim,), or None when none has."""
    rows = [row for row in map(vectors.rows.get, ids) if row is not None]
    return vectors.matrix[rows].mean(axis=0, dtype=np.float32) if rows else None


def vectors_of(episodes: Sequence[Episode], vectors: Vectors) -> Matrix:
    """Return the episodes' vectors in their order, shape (n, dim).

    Raises:
        KeyError: when one has no vector.
    """
    return vectors.matrix[[vectors.rows[episode.id] for episode in episodes]]


def placed(lessons: Iterable[Lesson], vectors: Vectors) -> tuple[tuple[Lesson, ...], Matrix]:
    """Return the lessons that have a source with a vector, and their means, shape (n, dim)."""
    found = [
        (lesson, mean)
        for lesson in lessons
        if (mean := mean_of(lesson.sources, vectors)) is not None
    ]
    means = np.stack([mean for _, mean in found]) if found else vectors.matrix[:0]
    return tuple(lesson for lesson, _ in found), means


def stance(unit: Episode | Lesson) -> str:
    """Return the words whose polarity is the unit's: the rule the person stated, else the words."""
    if isinstance(unit, Lesson):
        return unit.quote or unit.text
    return unit.rule or unit.words


def strongest(groundings: Iterable[Grounding]) -> Grounding:
    """Return the best grounding of several: the person, a tool, a reading, another memory."""
    return min(groundings, key=_WEIGHT.index)
