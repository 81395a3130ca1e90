"""Write tombstones and what they take out, and what an agent asked to have taken out."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tasks.domain.clock import iso
from tasks.domain.ids import digest_of
from tasks.domain.proposals import (
    Ask,
    Decision,
    Proposal,
    Stored,
)
from tasks.domain.units import (
    Tombstone,
    TombstoneKind,
    Trust,
)
from tasks.store.draft import UNCHANGED, Draft
from tasks.store.lessons import put_lesson, void_predictions
from tasks.store.rows import (
    ASKED,
    Row,
    scope_columns,
    tombstone_row,
)


def bury(draft: Draft, proposal: Proposal, stone: Tombstone) -> Decision:
    """Write a tombstone, and erase or withdraw what it names."""
    if any(known.id == stone.id for known in draft.standing.stones):
        return UNCHANGED
    draft.put("tombstone", tombstone_row(stone))
    draft.put("decision", _decision_row(proposal, stone.id, stone.unit_id, "stored", stone.at))
    draft.standing.stones.append(stone)
    draft.log(proposal, stone.unit, stone.unit_id, None, None)
    if stone.kind is TombstoneKind.FORGOTTEN:
        _erase(draft, proposal, stone)
    else:
        _withdraw(draft, proposal, stone)
    return Stored(proposal.action)


def ask(draft: Draft, proposal: Proposal, change: Ask) -> Decision:
    """Keep what an agent asked for, until a person decides."""
    asked = digest_of("ask", change.verb, change.unit_id)
    row = _decision_row(proposal, asked, change.unit_id, ASKED, draft.at)
    draft.put("decision", {**row, "verb": change.verb})
    draft.log(proposal, "decision", asked, None, None)
    return Stored(proposal.action)


def _withdraw(draft: Draft, proposal: Proposal, stone: Tombstone) -> None:
    """Reject the lesson; what was merged into it was superseded before and stays so."""
    lesson = draft.standing.lessons.get(stone.unit_id)
    if lesson is None or stone.kind is TombstoneKind.SUPERSEDED:
        return
    put_lesson(draft, proposal, replace(lesson, trust=Trust.REJECTED, recorded_at=draft.at))
    void_predictions(draft, proposal, lesson.id)


def _erase(draft: Draft, proposal: Proposal, stone: Tombstone) -> None:
    """Drop the unit, what it rests on, and every lesson that rests on any of that."""
    episodes = {stone.unit_id, *stone.sources} & draft.standing.episodes.keys()
    lessons = {
        lesson.id
        for lesson in draft.standing.lessons.values()
        if lesson.id == stone.unit_id or episodes & set(lesson.sources)
    }
    keys = scope_columns(proposal.scope)
    for unit, ids in (("episode", episodes), ("lesson", lessons)):
        for unit_id in sorted(ids):
            draft.put("erase", {"unit": unit, "id": unit_id, **keys})
    for lesson_id in lessons:
        del draft.standing.lessons[lesson_id]
    for episode_id in episodes:
        del draft.standing.episodes[episode_id]


def _decision_row(
    proposal: Proposal, decision_id: str, unit_id: str, outcome: str, at: datetime
) -> Row:
    return {
        "id": decision_id,
        **scope_columns(proposal.scope),
        "at": iso(at),
        "actor": proposal.actor.value,
        "verb": proposal.action.value,
        "unit_id": unit_id,
        "outcome": outcome,
    }
