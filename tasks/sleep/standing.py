"""A lesson while a pass works on it: what it was, what it has become, where its meaning lies.

Invariant: `now` is the only thing that changes, and only through `became`; however often a lesson
changes within a pass, one new version of it is proposed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tasks.domain.strength import joined
from tasks.domain.trust import after_corroboration, after_discounting, independent_sessions
from tasks.domain.units import Episode, Lesson, Lifecycle
from tasks.sleep.material import Vectors
from tasks.sleep.meaning import mean_of, strongest
from tasks.sleep.neighbours import Matrix


@dataclass(frozen=True, slots=True)
class Standing:
    """One lesson of the kind at hand.

    Attributes:
        before: the version the pass began with; None for a lesson founded in it.
        sources: the episodes behind `now` that the material holds, by (at, id).
        mean: mean of its sources' vectors, shape (dim,).
    """

    before: Lesson | None
    now: Lesson
    sources: tuple[Episode, ...]
    mean: Matrix

    @property
    def changed(self) -> bool:
        """Tell whether the pass has something to propose for it."""
        return self.now != self.before

    def became(self, lesson: Lesson, *, at: datetime) -> Standing:
        """Return it as `lesson`, one version above the one the pass began with."""
        version = self.before.version + 1 if self.before else 1
        return replace(self, now=replace(lesson, version=version, recorded_at=at))


def opened(
    before: Lesson | None, now: Lesson, *, episodes: Iterable[Episode], vectors: Vectors
) -> Standing | None:
    """Return the standing of a lesson, or None when no source of it has a vector."""
    mean = mean_of(now.sources, vectors)
    return None if mean is None else Standing(before, now, in_order(episodes), mean)


def in_order(episodes: Iterable[Episode]) -> tuple[Episode, ...]:
    """Return the episodes as they happened; the id decides between two of one instant."""
    return tuple(sorted(episodes, key=lambda episode: (episode.at, episode.id)))


def corroborated(
    standing: Standing,
    joining: Sequence[Episode],
    *,
    shown: frozenset[str],
    vectors: Vectors,
    at: datetime,
) -> Standing:
    """Return the lesson with further sources.

    Only sessions that were not shown it count as witnesses: those raise strength, trust and
    grounding, and bring an archived lesson back. The others stay on record as sources, so that they
    found nothing of their own.
    """
    lesson = standing.now
    witnesses = independent_sessions((e.session_id for e in joining), shown)
    sessions = tuple(sorted({*lesson.sessions, *witnesses}))
    further = len(sessions) - len(lesson.sessions)
    strength = lesson.strength
    for _ in range(further):
        strength = joined(strength, at, pinned=lesson.pinned)
    heard = [e.grounding for e in joining if e.session_id in witnesses]
    grounding = strongest((lesson.grounding, *heard))
    returns = further and lesson.lifecycle is Lifecycle.ARCHIVED
    sources = in_order((*standing.sources, *joining))
    now = replace(
        lesson,
        trust=after_corroboration(lesson.trust, grounding, len(sessions)),
        lifecycle=Lifecycle.LIVE if returns else lesson.lifecycle,
        grounding=grounding,
        sources=tuple(sorted({*lesson.sources, *(e.id for e in joining)})),
        sessions=sessions,
        valid_from=min(lesson.valid_from, *(e.at for e in joining)),
        strength=strength,
    )
    mean = mean_of(now.sources, vectors)
    grown = replace(standing, sources=sources, mean=standing.mean if mean is None else mean)
    return grown.became(now, at=at)


def discounted(standing: Standing, *, lasting: bool, at: datetime) -> Standing:
    """Return the lesson without the trust that only sessions gave it which had been told it.

    Where a source is not at hand, nothing is concluded from the others.

    Args:
        standing: the lesson; its sessions are those that bear witness.
        lasting: one of its sources alone suffices.
        at: now.
    """
    lesson = standing.now
    if len(standing.sources) < len(lesson.sources):
        return standing
    met = {source.session_id for source in standing.sources}
    trust = after_discounting(
        lesson.trust, lasting=lasting, met=len(met), independent=len(lesson.sessions)
    )
    return (
        standing if trust is lesson.trust else standing.became(replace(lesson, trust=trust), at=at)
    )
