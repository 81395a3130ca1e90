"""What each tool does: plain functions from what is bound and asked to what is given.

Invariants: whatever comes in here was said by an agent; recalled words come out fenced, as data.
"""

from __future__ import annotations

from typing import Any, Final

from serving import shapes
from serving.bound import Bound
from tasks.domain.clock import instant, iso
from tasks.domain.proposals import Actor
from tasks.embedding.index import build_lexical
from tasks.errors import UsageError
from tasks.handoff import block as events_block
from tasks.learned import standing
from tasks.memory import Memory
from tasks.prime import block as lessons_block
from tasks.recall import Recalled, fenced, label, recall, touch
from tasks.relays import Relays
from tasks.said import remember
from tasks.tell import Door, tell

LONGEST_BLOCK: Final = 40_000
"""Characters of recalled words in one answer; agents cut off what is much longer."""


def search(bound: Bound, asked: shapes.RecallAsked) -> shapes.Recalled:
    """Recall, and note that it was asked for: +0.1 strength for what it returns."""
    memory, now = bound.reader.memory(), bound.clock()
    found = _fitting(
        recall(memory, asked.query, scope=bound.scope, space=bound.reader.space, k=asked.k, now=now)
    )
    touch(memory, found, actor=Actor.AGENT, at=now)
    records = [
        shapes.Record(
            id="" if one.row["unit"] == "passage" else one.row["id"],
            what=label(one.row),
            day=bound.day(instant(one.row["at"])),
            project=one.scope.project_id,
            relevance=round(one.hit.relevance, 3),
        )
        for one in found
    ]
    words = fenced(found, bound.day) if found else ""
    note = "" if found else _silence(memory, bound, "Nothing here bears on that.")
    return shapes.Recalled(memory=words, found=records, note=note)


def lessons(bound: Bound, asked: shapes.LessonsAsked) -> shapes.Lessons:
    """Return the lessons that stand, in this project and everywhere."""
    memory = bound.reader.memory()
    rows = standing(memory, {bound.scope, bound.scope.everywhere()})
    if asked.about:
        rows = _about(asked.about, rows)
    rows = rows[: asked.most]
    learned = [
        shapes.LearnedLesson(
            id=row["id"],
            trust=row["trust"],
            kind=row["kind"],
            day=bound.day(instant(row["at"])),
            project=row["project_id"],
            sessions=len(row["sessions"]),
        )
        for row in rows
    ]
    words = lessons_block(rows, bound.day) if rows else ""
    note = "" if rows else _silence(memory, bound, "No lesson stands that fits.")
    return shapes.Lessons(memory=words, lessons=learned, note=note)


def relay(bound: Bound, asked: shapes.RelayAsked) -> shapes.Relayed:
    """Return the last events of the project's relay."""
    lately = Relays(bound.reader.memory().places.relay).of(bound.scope.app_id)
    events = lately.tail(bound.scope.project_id, most=asked.most)
    told = [
        shapes.RelayEvent(
            id=one.id,
            kind=one.kind,
            at=iso(one.at),
            role=one.role,
            agent=one.agent,
            model=one.model,
        )
        for one in events
    ]
    words = events_block(events, bound.day) if events else ""
    note = "" if events else f"No agent has said anything in {bound.scope.project_id} yet."
    return shapes.Relayed(memory=words, events=told, note=note)


def keep(bound: Bound, asked: shapes.RememberAsked) -> shapes.Remembered:
    """Keep a note, or tell of a deploy.

    Raises:
        UsageError: when the text cannot be used.
        Refused: when a person decided against this value before.
    """
    match asked.kind:
        case "note":
            return _note(bound, asked.text)
        case "deploy":
            return _deploy(bound, asked.text)


def _note(bound: Bound, text: str) -> shapes.Remembered:
    accepted = remember(
        bound.reader.memory(),
        text,
        scope=bound.scope,
        project=bound.project,
        actor=Actor.AGENT,
        at=bound.clock(),
    )
    return shapes.Remembered(accepted=True, id=accepted.unit_id, now=accepted.now)


def _deploy(bound: Bound, text: str) -> shapes.Remembered:
    """Tell the relay of a deploy: the next agent that works here is told of it."""
    memory, now = bound.reader.memory(), bound.clock()
    door = Door(
        memory,
        Relays(memory.places.relay).of(bound.scope.app_id),
        project=lambda _: bound.project,
        scope=lambda _: bound.scope,
        default=bound.project,
        actor=Actor.AGENT,
        at=now,
    )
    told = tell([(1, {"kind": "deploy", "text": text, "at": iso(now)})], door)
    if told.unusable:
        raise UsageError(told.unusable[0][1])
    return shapes.Remembered(
        accepted=True, id="", now="it stands in the relay, and whoever works here next is told"
    )


def _fitting(found: list[Recalled]) -> list[Recalled]:
    """Return the first of what was found, as much as one answer may hold."""
    left = LONGEST_BLOCK
    kept: list[Recalled] = []
    for one in found:
        left -= len(one.row["text"]) + len(one.row.get("gist", ""))
        if left < 0 and kept:
            break
        kept.append(one)
    return kept


def _about(words: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that share words with `words`, best first."""
    found = build_lexical([row["text"] for row in rows]).scores(words)
    ranked = sorted(zip(-found.scores, found.rows, strict=True))
    return [rows[i] for _, i in ranked]


def _silence(memory: Memory, bound: Bound, otherwise: str) -> str:
    """Say why there is nothing: an empty memory, or one with nothing on this."""
    notes = any(note.scope.project_id == bound.scope.project_id for note in memory.overlay.notes)
    if notes or memory.scopes(bound.scope):
        return otherwise
    return f"The memory of {bound.scope.project_id} is empty: nothing was learned or noted yet."
