"""When two rules of the person's say opposite things, the one said last holds.

A lesson closes at the time of the first lasting statement of the opposite made after it was last
said itself: the time of the message, never of the reading, so transcripts read in any order give
the same intervals. It is closed and not disputed, because the person has already answered; what was
true until then stays answerable. Disputing is kept for what has no answer: the person took the rule
back, or corrected against it in two sessions that were shown it, so that it is known to misfire.
Two statements of one instant decide nothing. Invariant: nothing here moves a rejected lesson.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from tasks.domain.polarity import clash, opposed, stance_of
from tasks.domain.trust import after_objection
from tasks.domain.units import Episode, Grounding, Lifecycle, Trust
from tasks.sleep.founding import said
from tasks.sleep.material import Vectors
from tasks.sleep.meaning import stance, vectors_of
from tasks.sleep.neighbours import near_pairs
from tasks.sleep.speech import retracts
from tasks.sleep.standing import Standing

_WITHHELD = (Trust.REJECTED, Trust.DISPUTED)


def closed(standings: Mapping[str, Standing], *, at: datetime, cut: float) -> dict[str, Standing]:
    """Return the lessons that a later lasting statement of the opposite closes.

    Only pairs in which one changed in this pass are looked at: the others were settled before.
    """
    ends: dict[str, datetime] = {}
    asked = [standing for standing in standings.values() if _may_clash(standing)]
    told = [_told(standing) for standing in asked]
    for one, other in _opposites(asked, cut):
        for older, newer in ((one, other), (other, one)):
            end = _ended(told[older], told[newer])
            if end is not None:
                unit = asked[older].now.id
                ends[unit] = min(end, ends.get(unit, end))
    return {
        unit: _close(standings[unit], end, at)
        for unit, end in sorted(ends.items())
        if standings[unit].now.valid_until is None or end < standings[unit].now.valid_until  # type: ignore[operator]  # not None here
    }


def disputed(  # noqa: PLR0913  a pure step: everything it reads is named
    standings: Mapping[str, Standing],
    corrections: Sequence[Episode],
    *,
    vectors: Vectors,
    shown: Mapping[str, frozenset[str]],
    at: datetime,
    cut: float,
) -> dict[str, Standing]:
    """Return the live lessons that the person took back, or corrected in two sessions shown them.

    `corrections` is every correction of the scope that has a vector, whatever became of it.
    """
    in_use = [
        standing
        for standing in standings.values()
        if standing.now.lifecycle is Lifecycle.LIVE and standing.now.trust not in _WITHHELD
    ]
    found: dict[str, Standing] = {}
    for standing, objections in _objections(in_use, corrections, vectors, shown, cut):
        exposed = shown.get(standing.now.id, frozenset())
        trust = after_objection(
            standing.now.trust,
            retracted=any(retracts(e.words) and e.at > last_said(standing) for e in objections),
            against=len({e.session_id for e in objections if e.session_id in exposed}),
        )
        if trust is not standing.now.trust:
            found[standing.now.id] = standing.became(replace(standing.now, trust=trust), at=at)
    return found


def last_said(standing: Standing) -> datetime:
    """Return when the rule was last stated: by its lasting sources, else by any."""
    lasting = [source.at for source in standing.sources if said(source)]
    return max(lasting or [source.at for source in standing.sources])


def _may_clash(standing: Standing) -> bool:
    """Tell whether the lesson is in force, faded, or closed at a known time."""
    lesson = standing.now
    if not standing.sources or lesson.trust in _WITHHELD:
        return False
    if lesson.lifecycle is Lifecycle.SUPERSEDED:
        return lesson.valid_until is not None
    return lesson.lifecycle is not Lifecycle.FORGOTTEN


def _opposites(standings: Sequence[Standing], cut: float) -> Iterable[tuple[int, int]]:
    """Yield the places of the opposed pairs in which one changed, each pair once."""
    changed = [place for place, standing in enumerate(standings) if standing.changed]
    if not changed:
        return
    means = np.stack([standing.mean for standing in standings])
    stances = [stance_of(stance(standing.now)) for standing in standings]
    for pairs in near_pairs(means[changed], means, cut):
        for query, target in zip(pairs.queries, pairs.targets, strict=True):
            place = changed[query]
            twice = standings[target].changed and target <= place
            if not twice and clash(stances[place], stances[target]):
                yield place, int(target)


@dataclass(frozen=True, slots=True)
class _Told:
    """When a lesson's rule was stated: last, by whatever source, and each time as a lasting one."""

    last: datetime
    lasting: tuple[datetime, ...]


def _told(standing: Standing) -> _Told:
    lasting = sorted(source.at for source in standing.sources if said(source))
    return _Told(last_said(standing), tuple(lasting))


def _ended(older: _Told, newer: _Told) -> datetime | None:
    """Return when `newer` was first stated after `older` was last said, or None if it never was."""
    return next((when for when in newer.lasting if when > older.last), None)


def _close(standing: Standing, end: datetime, at: datetime) -> Standing:
    lesson = replace(standing.now, lifecycle=Lifecycle.SUPERSEDED, valid_until=end)
    return standing.became(lesson, at=at)


def _objections(
    standings: Sequence[Standing],
    corrections: Sequence[Episode],
    vectors: Vectors,
    shown: Mapping[str, frozenset[str]],
    cut: float,
) -> Iterable[tuple[Standing, list[Episode]]]:
    """Yield each lesson with the person's objections to it, at least one of them news to it."""
    exposed = frozenset().union(*(shown.get(s.now.id, frozenset()) for s in standings))
    heard = [
        episode
        for episode in corrections
        if episode.grounding is Grounding.PERSON
        and (retracts(episode.words) or episode.session_id in exposed)
    ]
    if not heard or not standings:
        return
    means = np.stack([standing.mean for standing in standings])
    found: dict[int, list[Episode]] = {}
    for pairs in near_pairs(vectors_of(heard, vectors), means, cut):
        for query, target in zip(pairs.queries, pairs.targets, strict=True):
            if _objects(heard[query], standings[target]):
                found.setdefault(int(target), []).append(heard[query])
    for target in sorted(found):
        if any(_is_news(episode, standings[target]) for episode in found[target]):
            yield standings[target], found[target]


def _objects(episode: Episode, standing: Standing) -> bool:
    lesson = standing.now
    if episode.id in lesson.sources:
        return False
    return retracts(episode.words) or opposed(stance(episode), stance(lesson))


def _is_news(episode: Episode, standing: Standing) -> bool:
    """Tell whether it is later than the lesson's version: a person may have settled the rest."""
    return standing.before is None or episode.recorded_at > standing.before.recorded_at
