"""Write lessons: versions, sources, strengths, merges, and their fading."""

from __future__ import annotations

from dataclasses import replace

from tasks.domain.clock import iso
from tasks.domain.proposals import (
    Archive,
    Decision,
    Proposal,
    Stored,
)
from tasks.domain.units import (
    Lesson,
    Lifecycle,
    Outcome,
)
from tasks.store.draft import UNCHANGED, Draft
from tasks.store.rows import (
    lesson_row,
    scope_columns,
)
from tasks.store.units import put_prediction, strength_op


def put_lesson(draft: Draft, proposal: Proposal, lesson: Lesson) -> Decision:
    """Write the next version of a lesson, with the sources that are new."""
    before = draft.standing.lessons.get(lesson.id)
    if (
        before is not None
        and replace(lesson, version=before.version, recorded_at=before.recorded_at) == before
    ):
        return UNCHANGED
    lesson = replace(lesson, version=before.version + 1 if before else 1)
    row = lesson_row(lesson, tx=draft.tx, action=proposal.action.value)
    draft.put("lesson", row)
    _sources(draft, lesson, before)
    if before is None:
        _first_strength(draft, lesson)
    elif lesson.strength != before.strength:
        draft.ops.append(strength_op("lesson", lesson.id, lesson.strength, None, lesson.scope))
    old = lesson_row(before, tx=0, action="") if before else None
    draft.log(proposal, "lesson", lesson.id, old, row)
    draft.standing.lessons[lesson.id] = lesson
    return Stored(proposal.action)


def merge(
    draft: Draft, proposal: Proposal, theme: Lesson, absorbed: tuple[Lesson, ...]
) -> Decision:
    """Write a theme and let what it absorbs live on in it."""
    decision = put_lesson(draft, proposal, theme)
    for lesson in absorbed:
        first = draft.standing.created.get(lesson.id, lesson.recorded_at)
        put_lesson(draft, proposal, replace(lesson, lifecycle=Lifecycle.SUPERSEDED))
        void_predictions(draft, proposal, lesson.id)
        draft.put(
            "alias",
            {
                "old_id": lesson.id,
                "new_id": theme.id,
                **scope_columns(theme.scope),
                "at": iso(draft.at),
                "created": iso(first),
            },
        )
    return Stored(proposal.action) if absorbed else decision


def archive(draft: Draft, proposal: Proposal, change: Archive) -> Decision:
    """Take a faded unit out of reading."""
    if change.unit == "lesson":
        lesson = draft.standing.lessons.get(change.unit_id)
        if lesson is None or lesson.lifecycle is not Lifecycle.LIVE:
            return UNCHANGED
        faded = replace(lesson, lifecycle=Lifecycle.ARCHIVED, recorded_at=draft.at)
        return put_lesson(draft, proposal, faded)
    episode = draft.standing.episodes.get(change.unit_id)
    if episode is None or episode.archived_at is not None:
        return UNCHANGED
    keys = scope_columns(proposal.scope)
    draft.put("archive", {"unit": "episode", "id": episode.id, "at": iso(change.at), **keys})
    draft.log(proposal, "episode", episode.id, None, None)
    draft.standing.episodes[episode.id] = replace(episode, archived_at=change.at)
    return Stored(proposal.action)


def void_predictions(draft: Draft, proposal: Proposal, lesson_id: str) -> None:
    """End the open predictions of a lesson that goes out of use."""
    for prediction in list(draft.standing.predictions.values()):
        if prediction.lesson_id == lesson_id and prediction.outcome is Outcome.OPEN:
            ended = replace(prediction, outcome=Outcome.VOID, resolved=draft.at)
            put_prediction(draft, proposal, ended)


def _sources(draft: Draft, lesson: Lesson, before: Lesson | None) -> None:
    for source in sorted(set(lesson.sources) - set(before.sources if before else ())):
        draft.put(
            "source",
            {
                "lesson_id": lesson.id,
                "episode_id": source,
                "session_id": draft.standing.episodes[source].session_id,
                **scope_columns(lesson.scope),
                "version": lesson.version,
                "added_at": iso(draft.at),
            },
        )


def _first_strength(draft: Draft, lesson: Lesson) -> None:
    draft.put(
        "lesson_strength",
        {
            "lesson_id": lesson.id,
            **scope_columns(lesson.scope),
            "strength": lesson.strength.value,
            "as_of": iso(lesson.strength.as_of),
            "recalls": 0,
        },
    )
