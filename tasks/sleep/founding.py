"""Make a lesson of a cluster, or say why not.

Invariant: a lesson is made only of one lasting correction or of two independent sessions, and only
with a text the wording rules allow; everything else waits or is held, and is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from tasks.domain.canon import canon
from tasks.domain.ids import lesson_hash, lesson_id
from tasks.domain.strength import START, joined
from tasks.domain.trust import ENOUGH_SESSIONS, independent_sessions, start_trust
from tasks.domain.units import Episode, EpisodeKind, Grounding, Lesson, Lifecycle, Strength
from tasks.sleep.meaning import strongest
from tasks.sleep.standing import in_order
from tasks.wording import Held, Unworded, Word, Worded, word


@dataclass(frozen=True, slots=True)
class TooSmall:
    """The cluster waits for another independent session."""


Founding = Lesson | TooSmall | Held | Unworded


def found(
    kind: EpisodeKind,
    cluster: Sequence[Episode],
    *,
    taken: frozenset[str],
    at: datetime,
    word: Word = word,
) -> Founding:
    """Return the lesson that a cluster makes, or why it makes none.

    Args:
        kind: the kind of all its episodes.
        cluster: at least one episode, of one scope.
        taken: lesson ids already given.
        at: when the lesson is recorded; its validity begins with its earliest source.
        word: gives it its text.
    """
    sources = in_order(cluster)
    sessions = independent_sessions((source.session_id for source in sources), frozenset())
    if not suffices(sources):
        return TooSmall()
    match word(kind, sources):
        case Worded(text=text, quote=quote):
            return _lesson(kind, sources, sessions, text, quote, taken, at)
        case (Held() | Unworded()) as reason:
            return reason
        case never:
            assert_never(never)


def suffices(cluster: Iterable[Episode]) -> bool:
    """Tell whether the episodes are one lasting correction, or of two sessions, and may found."""
    sources = tuple(cluster)
    return any(map(lasts, sources)) or len({e.session_id for e in sources}) >= ENOUGH_SESSIONS


def lasts(episode: Episode) -> bool:
    """Tell whether the episode is a correction that alone suffices for a lesson."""
    return episode.kind is EpisodeKind.CORRECTION and episode.lasting


def said(episode: Episode) -> bool:
    """Tell whether the episode is a lasting rule in the person's own checked words."""
    return lasts(episode) and episode.grounding is Grounding.PERSON


def _lesson(  # noqa: PLR0913, PLR0917  the parts of one lesson
    kind: EpisodeKind,
    sources: Sequence[Episode],
    sessions: tuple[str, ...],
    text: str,
    quote: str,
    taken: frozenset[str],
    at: datetime,
) -> Lesson:
    earliest = sources[0]
    grounding = strongest(source.grounding for source in sources)
    strength = Strength(START, at)
    for _ in sessions[1:]:
        strength = joined(strength, at)
    return Lesson(
        id=lesson_id(earliest.scope, kind, earliest.id, taken=taken),
        version=1,
        scope=earliest.scope,
        kind=kind,
        text=text,
        quote=quote,
        trust=start_trust(grounding, lasting=any(map(said, sources)), sessions=len(sessions)),
        lifecycle=Lifecycle.LIVE,
        grounding=grounding,
        sources=tuple(sorted(source.id for source in sources)),
        sessions=sessions,
        valid_from=earliest.at,
        recorded_at=at,
        strength=strength,
        hash=lesson_hash(kind, canon(text)),
    )
