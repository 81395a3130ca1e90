"""What the gateway asks of a proposal, each a pure function: a refusal, or None to let it pass.

Every check sees only the proposal and what stands (`Standing`), so each can be tested alone; the
gateway decides their order and does the writing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from tasks.domain import canon, tombstones
from tasks.domain.proposals import (
    Archive,
    Ask,
    Bury,
    Change,
    Expose,
    MergeLessons,
    Proposal,
    PutEpisode,
    PutLesson,
    PutPrediction,
    PutProject,
    PutSession,
    Refusal,
    SetStrength,
)
from tasks.domain.redaction import redact
from tasks.domain.scope import Scope
from tasks.domain.tombstones import EXACT
from tasks.domain.trust import STARTS, may_move
from tasks.domain.units import (
    Episode,
    EpisodeKind,
    Lesson,
    Lifecycle,
    Tombstone,
    TombstoneKind,
    Trust,
)
from tasks.store.standing import Standing

Check = Callable[[Proposal, Standing], Refusal | None]


def scope_agrees(proposal: Proposal, _: Standing) -> Refusal | None:
    """Refuse a unit whose own scope is not the one it is written to."""
    match proposal.change:
        case PutProject(project):
            agrees = project.project_id == proposal.scope.project_id
        case change:
            agrees = all(scope == proposal.scope for scope in _scopes(change))
    if not agrees:
        return Refusal("scope: the unit belongs to another project than it is written to")
    return None


def sources_agree(proposal: Proposal, standing: Standing) -> Refusal | None:
    """Refuse a lesson that rests on nothing, on what is not there, or on another scope."""
    for lesson in _lessons(proposal.change):
        if not lesson.sources and not lesson.origin:
            return Refusal("sources: a lesson must rest on something")
        for source in lesson.sources:
            episode = standing.episodes.get(source)
            if episode is None:
                return Refusal("sources: a source is not in the store")
            if episode.scope != proposal.scope:
                return Refusal("scope: a source belongs to another project")
    return None


def trust_allowed(proposal: Proposal, standing: Standing) -> Refusal | None:
    """Refuse a move of trust that this actor may not make."""
    for lesson in _lessons(proposal.change):
        before = standing.lessons.get(lesson.id)
        if before is None and lesson.trust not in STARTS:
            return Refusal(f"trust: a lesson does not start as {lesson.trust}")
        if before and not may_move(before.trust, lesson.trust, proposal.actor):
            return Refusal(f"trust: {proposal.actor} may not move {before.trust} to {lesson.trust}")
    return None


def says_something(proposal: Proposal, _: Standing) -> Refusal | None:
    """Refuse a unit whose canonical text is empty: it would match nothing, or everything."""
    if any(not canon.canon(text) for text in _texts(proposal.change)):
        return Refusal("empty: nothing is left of the text")
    return None


def not_buried(proposal: Proposal, standing: Standing) -> Refusal | None:
    """Refuse what a tombstone stands against: the exact rung, then the lineage rung."""
    match proposal.change:
        case PutEpisode(episode):
            return _episode_buried(episode, standing)
        case PutLesson(lesson) | MergeLessons(lesson, _):
            return _lesson_buried(lesson, standing)
        case PutPrediction(prediction):
            return _value_buried(prediction.text, proposal.scope, standing.stones, standing.key)
        case _:
            return None


BEFORE_REDACTION: tuple[Check, ...] = (scope_agrees, sources_agree, trust_allowed)
AFTER_REDACTION: tuple[Check, ...] = (says_something, not_buried)
"""The gateway's order: scope, then redaction, then canon and tombstones on the redacted text."""


def redacted(proposal: Proposal) -> Proposal:
    """Return the proposal with every text redacted; equal to it when the appender did its work."""
    match proposal.change:
        case PutEpisode(episode):
            return replace(proposal, change=PutEpisode(_redact_episode(episode)))
        case PutLesson(lesson):
            return replace(proposal, change=PutLesson(_redact_lesson(lesson)))
        case MergeLessons(theme, absorbed):
            return replace(proposal, change=MergeLessons(_redact_lesson(theme), absorbed))
        case PutSession(session):
            clean = replace(session, title=redact(session.title))
            return replace(proposal, change=PutSession(clean))
        case _:
            return proposal


def _episode_buried(episode: Episode, standing: Standing) -> Refusal | None:
    """An episode is evidence: only what was forgotten keeps it out, or any refusal of a note."""
    for stone in standing.stones:
        forgotten = stone.kind is TombstoneKind.FORGOTTEN
        if forgotten and episode.id in (stone.unit_id, *stone.sources):
            return Refusal(EXACT, stone.id)
    binding = [
        stone
        for stone in standing.stones
        if stone.kind is TombstoneKind.FORGOTTEN or episode.kind is EpisodeKind.NOTE
    ]
    return _value_buried(episode.words, episode.scope, binding, standing.key)


def _lesson_buried(lesson: Lesson, standing: Standing) -> Refusal | None:
    leaving = lesson.trust is Trust.REJECTED or lesson.lifecycle is not Lifecycle.LIVE
    if leaving:
        return None
    shown = standing.shown.get(lesson.id, frozenset())
    return tombstones.refused(
        canon.digests(standing.key, lesson.text),
        lesson.sources,
        lesson.scope,
        standing.stones,
        new_sessions={
            session: standing.began[session]
            for session in lesson.sessions
            if session in standing.began and session not in shown
        },
        unit_id=lesson.id,
    )


def _value_buried(
    text: str, scope: Scope, stones: Sequence[Tombstone], key: bytes
) -> Refusal | None:
    stone = tombstones.exact(canon.digests(key, text), scope, stones) if canon.canon(text) else None
    return Refusal(EXACT, stone.id) if stone else None


def _scopes(change: Change) -> list[Scope]:  # noqa: PLR0911  one arm a kind of change
    match change:
        case PutEpisode(unit):
            return [unit.scope]
        case PutLesson(lesson):
            return [lesson.scope]
        case MergeLessons(theme, absorbed):
            return [theme.scope, *(lesson.scope for lesson in absorbed)]
        case PutPrediction(prediction):
            return [prediction.scope]
        case PutSession(session):
            return [session.scope]
        case Bury(tombstone):
            return [tombstone.scope]
        case PutProject() | SetStrength() | Archive() | Ask() | Expose():
            return []
        case _:
            assert_never(change)


def _lessons(change: Change) -> list[Lesson]:
    match change:
        case PutLesson(lesson):
            return [lesson]
        case MergeLessons(theme, absorbed):
            return [theme, *absorbed]
        case _:
            return []


def _texts(change: Change) -> list[str]:
    match change:
        case PutEpisode(episode):
            return [episode.words or episode.title]
        case PutLesson(lesson) | MergeLessons(lesson, _):
            return [lesson.text]
        case PutPrediction(prediction):
            return [prediction.text]
        case _:
            return []


def _redact_episode(episode: Episode) -> Episode:
    return replace(
        episode,
        title=redact(episode.title),
        gist=redact(episode.gist),
        words=redact(episode.words),
        rule=redact(episode.rule),
    )


def _redact_lesson(lesson: Lesson) -> Lesson:
    return replace(lesson, text=redact(lesson.text), quote=redact(lesson.quote))
