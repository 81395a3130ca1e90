"""Let waiting episodes join the lesson whose sources they resemble.

Invariant: nothing joins a lesson it contradicts or takes back, nor one that a person rejected or
forgot; and after `join` nothing is left that would still join.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tasks.domain.polarity import opposed
from tasks.domain.units import Episode, EpisodeKind, Lifecycle, Trust
from tasks.sleep.error_key import ErrorKey, error_key
from tasks.sleep.material import Vectors
from tasks.sleep.meaning import stance, vectors_of
from tasks.sleep.neighbours import Cells, near_pairs
from tasks.sleep.speech import retracts
from tasks.sleep.standing import Standing, corroborated


@dataclass(frozen=True, slots=True)
class Joined:
    """What joining left: the lessons as they are now, and the episodes still waiting, by id."""

    standings: dict[str, Standing]
    waiting: tuple[Episode, ...]


def join(  # noqa: PLR0913  a pure step: everything it reads is named
    standings: Mapping[str, Standing],
    waiting: Sequence[Episode],
    *,
    asking: Iterable[str],
    vectors: Vectors,
    cells: Cells | None,
    shown: Mapping[str, frozenset[str]],
    at: datetime,
    cut: float,
) -> Joined:
    """Return the lessons with all that joins them, repeated until nothing more does.

    Each round compares with the lessons as they were at its start, so the order of episodes does
    not matter; later rounds look only at lessons that changed, since the others were refused.

    Args:
        standings: the lessons of one kind, by id.
        waiting: the episodes of that kind which are no source yet, by id.
        asking: the lessons that may gain one; the others were compared with all that wait.
        vectors: of all episodes.
        cells: where to look for near ones; None to look everywhere.
        shown: lesson id -> sessions in which it was shown.
        at: now.
        cut: the least cosine to a lesson's mean that lets an episode join it.
    """
    lessons, rest, open_to = dict(standings), tuple(waiting), set(asking)
    while rest and open_to:
        asked = [lessons[unit] for unit in sorted(open_to)]
        choices = _choices(asked, rest, vectors, cut, cells)
        for unit, joining in choices.items():
            lessons[unit] = corroborated(
                lessons[unit],
                joining,
                shown=shown.get(unit, frozenset()),
                vectors=vectors,
                at=at,
            )
        taken = {episode.id for joining in choices.values() for episode in joining}
        rest = tuple(episode for episode in rest if episode.id not in taken)
        open_to = set(choices)
    return Joined(lessons, rest)


def _choices(
    standings: Sequence[Standing],
    waiting: Sequence[Episode],
    vectors: Vectors,
    cut: float,
    cells: Cells | None,
) -> dict[str, list[Episode]]:
    """Return lesson id -> the episodes that join it: each its nearest that will have it."""
    keyed = [(episode, key) for episode in waiting if (key := error_key(episode))]
    plain = [episode for episode in waiting if error_key(episode) is None]
    found: dict[str, list[Episode]] = {}
    near = _by_vector(standings, plain, vectors, cut, cells)
    for episode, unit in (*_by_key(standings, keyed), *near):
        found.setdefault(unit, []).append(episode)
    return found


def _by_key(
    standings: Sequence[Standing], waiting: Iterable[tuple[Episode, ErrorKey]]
) -> list[tuple[Episode, str]]:
    owners: dict[ErrorKey, list[Standing]] = {}
    for standing in standings:
        for key in {error_key(source) for source in standing.sources} - {None}:
            owners.setdefault(key, []).append(standing)  # type: ignore[arg-type]  # None is taken out above
    return [
        (episode, owner.now.id)
        for episode, key in waiting
        if (owner := next((s for s in owners.get(key, ()) if _takes(s, episode)), None))
    ]


def _by_vector(
    standings: Sequence[Standing],
    waiting: Sequence[Episode],
    vectors: Vectors,
    cut: float,
    cells: Cells | None,
) -> list[tuple[Episode, str]]:
    if not waiting or not standings:
        return []
    means = np.stack([standing.mean for standing in standings])
    pairs = list(near_pairs(vectors_of(waiting, vectors), means, cut, cells=cells))
    if not pairs:
        return []
    asking = np.concatenate([pair.queries for pair in pairs])
    lessons = np.concatenate([pair.targets for pair in pairs])
    closeness = np.concatenate([pair.cosines for pair in pairs])
    found: dict[int, str] = {}
    for place in np.lexsort((lessons, -closeness, asking)):
        query = int(asking[place])
        standing = standings[lessons[place]]
        if query not in found and _takes(standing, waiting[query]):
            found[query] = standing.now.id
    return [(waiting[query], unit) for query, unit in found.items()]


def _takes(standing: Standing, episode: Episode) -> bool:
    return _open_at(standing, episode.at) and not _against(standing, episode)


def _open_at(standing: Standing, at: datetime) -> bool:
    """Tell whether the lesson can have a source of that time.

    A closed lesson still takes what was said while it held, so that transcripts read late give the
    same history; what was absorbed by another lives on there.
    """
    lesson = standing.now
    if lesson.trust is Trust.REJECTED:
        return False
    if lesson.lifecycle is Lifecycle.SUPERSEDED:
        return lesson.valid_until is not None and at < lesson.valid_until
    return lesson.lifecycle is not Lifecycle.FORGOTTEN


def _against(standing: Standing, episode: Episode) -> bool:
    if episode.kind is EpisodeKind.ERROR:
        return False
    return retracts(episode.words) or opposed(stance(episode), stance(standing.now))
