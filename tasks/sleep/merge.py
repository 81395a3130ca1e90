"""The merge pass: lessons of one kind whose sources mean the same thing live on as one theme.

Invariant: opposites never meet; errors, and what is rejected, disputed, archived or already
absorbed, take no part; and merging is repeated until nothing more merges, so the pass run again
changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from tasks.domain.proposals import Action, Actor, MergeLessons, Proposal
from tasks.domain.strength import joined
from tasks.domain.trust import after_corroboration, independent_sessions
from tasks.domain.units import CONSOLIDATED, RECALLABLE, EpisodeKind, Lesson, Lifecycle, Trust
from tasks.sleep.clustering import clusters
from tasks.sleep.material import Cuts, Material, PassReport, PassResult
from tasks.sleep.meaning import placed, stance, strongest
from tasks.sleep.opposites import parted

_BY_MEANING = tuple(kind for kind in CONSOLIDATED if kind is not EpisodeKind.ERROR)
"""Errors are told apart by their key when they found and join: near words are no same cause."""
_RANK = (Trust.VERIFIED, Trust.CORROBORATED, Trust.CANDIDATE)


@dataclass(frozen=True, slots=True)
class _Theme:
    """A lesson after absorbing others; `original` is the version the pass began with."""

    original: Lesson
    now: Lesson
    absorbed: tuple[Lesson, ...] = ()


def merge(material: Material, *, at: datetime, cuts: Cuts) -> PassResult:
    """Propose one theme for each group of lessons that mean the same thing, by average linkage."""
    open_to = [
        lesson for lesson in material.lessons if lesson.kind in _BY_MEANING and _may_merge(lesson)
    ]
    themes = [t for kind in _BY_MEANING for t in _themes(kind, open_to, material, at, cuts)]
    proposals = tuple(_proposal(theme, at) for theme in themes if theme.absorbed)
    counts = {
        "lessons": len(open_to),
        "kept": sum(not theme.absorbed for theme in themes),
        "themes": len(proposals),
        "absorbed": sum(len(theme.absorbed) for theme in themes),
    }
    return PassResult(proposals, PassReport("merge", counts))


def _may_merge(lesson: Lesson) -> bool:
    return lesson.lifecycle is Lifecycle.LIVE and lesson.trust in RECALLABLE


def _themes(
    kind: EpisodeKind, lessons: Sequence[Lesson], material: Material, at: datetime, cuts: Cuts
) -> list[_Theme]:
    themes = {lesson.id: _Theme(lesson, lesson) for lesson in lessons if lesson.kind is kind}
    while True:
        groups = _groups([theme.now for _, theme in sorted(themes.items())], material, cuts)
        for group in groups:
            merged = _merged([themes.pop(lesson.id) for lesson in group], material, at)
            themes[merged.now.id] = merged
        if not groups:
            return [theme for _, theme in sorted(themes.items())]


def _groups(lessons: Sequence[Lesson], material: Material, cuts: Cuts) -> list[list[Lesson]]:
    """Return the groups of two and more; a lesson with no source that has a vector stays apart."""
    known, means = placed(lessons, material.vectors)
    rows = clusters(means, cuts.join)
    rows = parted(rows, means, [stance(lesson) for lesson in known], cuts.join)
    return [[known[row] for row in group] for group in rows if len(group) > 1]


def _merged(group: Sequence[_Theme], material: Material, at: datetime) -> _Theme:
    """Return the theme: the pinned, most trusted, most witnessed, oldest of the group lives on."""
    first, *others = sorted(group, key=_precedence)
    shown = frozenset().union(*(material.shown.get(t.now.id, frozenset()) for t in group))
    now = reduce(lambda theme, other: _absorb(theme, other.now, shown, at), others, first.now)
    gone = [lesson for other in others for lesson in (other.original, *other.absorbed)]
    absorbed = tuple(sorted((*first.absorbed, *gone), key=lambda lesson: lesson.id))
    return _Theme(first.original, now, absorbed)


def _precedence(theme: _Theme) -> tuple[bool, int, int, datetime, str]:
    lesson = theme.now
    rank = _RANK.index(lesson.trust)
    return not lesson.pinned, rank, -lesson.seen, lesson.valid_from, lesson.id


def _absorb(theme: Lesson, other: Lesson, shown: frozenset[str], at: datetime) -> Lesson:
    """Return the theme with what another brings; `shown` are sessions told any of the group.

    Those raise neither strength nor trust, though they may have spoken before they were told: the
    store, which knows when, says in the end which of them bear witness.
    """
    further = set(independent_sessions(other.sessions, shown)) - set(theme.sessions)
    sessions = {*theme.sessions, *further}
    strength = theme.strength
    for _ in further:
        strength = joined(strength, at, pinned=theme.pinned)
    grounding = strongest((theme.grounding, other.grounding))
    return replace(
        theme,
        sources=tuple(sorted({*theme.sources, *other.sources})),
        sessions=tuple(sorted(sessions)),
        valid_from=min(theme.valid_from, other.valid_from),
        grounding=grounding,
        trust=after_corroboration(
            theme.trust, grounding, len(independent_sessions(sessions, shown))
        ),
        strength=strength,
    )


def _proposal(theme: _Theme, at: datetime) -> Proposal:
    lesson = replace(theme.now, version=theme.original.version + 1, recorded_at=at)
    absorbed = tuple(
        replace(gone, version=gone.version + 1, lifecycle=Lifecycle.SUPERSEDED, recorded_at=at)
        for gone in theme.absorbed
    )
    return Proposal(
        MergeLessons(lesson, absorbed),
        Action.MERGE,
        lesson.scope,
        Actor.SLEEP,
        "sleep.merge",
        f"{len(absorbed)} of the same meaning",
    )
