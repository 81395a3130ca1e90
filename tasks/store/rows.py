"""Units to rows and back: one spelling of each unit for the ledger's ops and the store's tables."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any

from tasks.domain.clock import instant, iso
from tasks.domain.proposals import Expose, SessionFacts
from tasks.domain.scope import Scope
from tasks.domain.units import (
    Episode,
    EpisodeKind,
    Grounding,
    Lesson,
    Lifecycle,
    Outcome,
    Prediction,
    Project,
    Strength,
    Tombstone,
    TombstoneKind,
    Trust,
)
from tasks.store.schema import KEYS
from tasks.store.told import FILE, HELD_OUT, NOTHING, SHOWN

Row = dict[str, Any]

ASKED = "asked"
"""The outcome of a decision that still waits for a person."""

PASSING = ("strength", "as_of", "recalls", "archived_at", "recorded_at")
"""Columns of an episode that a second reading of the same evidence must not reset."""


def scope_columns(scope: Scope) -> dict[str, str]:
    """Return the four key columns of a row."""
    return dict(zip(KEYS, scope.keys(), strict=True))


def scope_of(row: Row) -> Scope:
    """Return the scope that a row's key columns name."""
    return _scope(*(row[key] for key in KEYS))


@lru_cache(maxsize=1024)
def _scope(*keys: str) -> Scope:
    """Return the one scope of these keys: many rows share it, and it is checked once."""
    return Scope(*keys)


def project_row(project: Project, scope: Scope) -> Row:
    """Return a project's row; its folders are rows of their own."""
    return {
        **scope_columns(scope),
        "name": project.name,
        "path": project.path,
        "first_seen": iso(project.first_seen),
        "ignored": project.ignored,
    }


def session_row(session: SessionFacts) -> Row:
    """Return a session's row."""
    return {
        "agent": session.agent,
        "id": session.id,
        **scope_columns(session.scope),
        "path": session.path,
        "cwd": session.cwd,
        "started": iso(session.started),
        "ended": iso(session.ended),
        "title": session.title,
        "turns": session.turns,
        "person_turns": len(session.person_turns),
        "offers": [list(offer) for offer in session.offers],
        "waits": session.waits,
        "refusals": dict(session.refusals),
        "topic": list(session.topic),
        "by_person": session.by_person,
        "evidence_bytes": session.evidence_bytes,
    }


def session_from(row: Row) -> SessionFacts:
    """Return the session that a row holds; the ids of its turns are rows of another table."""
    refusals = row["refusals"] if isinstance(row["refusals"], dict) else _json(row["refusals"])
    return SessionFacts(
        id=row["id"],
        agent=row["agent"],
        scope=scope_of(row),
        path=row["path"],
        cwd=row["cwd"],
        started=_time(row["started"]),
        ended=_time(row["ended"]),
        title=row["title"],
        turns=row["turns"],
        person_turns=(),
        offers=tuple((kind, answer) for kind, answer in row["offers"]),
        waits=row["waits"],
        refusals=tuple(sorted(refusals.items())),
        topic=tuple(row["topic"]),
        by_person=row["by_person"],
        evidence_bytes=row["evidence_bytes"],
    )


def episode_row(episode: Episode) -> Row:
    """Return an episode's row."""
    return {
        "id": episode.id,
        **scope_columns(episode.scope),
        "agent": episode.agent,
        "session_id": episode.session_id,
        "kind": episode.kind.value,
        "anchor": episode.anchor,
        "title": episode.title,
        "gist": episode.gist,
        "words": episode.words,
        "rule": episode.rule,
        "at": iso(episode.at),
        "recorded_at": iso(episode.recorded_at),
        "grounding": episode.grounding.value,
        "lasting": episode.lasting,
        "standing": episode.standing,
        "tool": episode.tool,
        "error_class": episode.error_class,
        "command": episode.command,
        "topic": list(episode.topic),
        "strength": episode.strength.value,
        "as_of": iso(episode.strength.as_of),
        "recalls": episode.recalls,
        "archived_at": _iso(episode.archived_at),
    }


def episode_from(row: Row) -> Episode:
    """Return the episode that a row holds."""
    return Episode(
        id=row["id"],
        scope=scope_of(row),
        agent=row["agent"],
        session_id=row["session_id"],
        kind=EpisodeKind(row["kind"]),
        anchor=row["anchor"],
        title=row["title"],
        gist=row["gist"],
        words=row["words"],
        at=_time(row["at"]),
        recorded_at=_time(row["recorded_at"]),
        grounding=Grounding(row["grounding"]),
        strength=Strength(row["strength"], _time(row["as_of"])),
        rule=row["rule"],
        lasting=row["lasting"],
        standing=row["standing"],
        tool=row["tool"],
        error_class=row["error_class"],
        command=row["command"],
        topic=tuple(row["topic"]),
        recalls=row["recalls"],
        archived_at=_maybe(row["archived_at"]),
    )


def lesson_row(lesson: Lesson, *, tx: int, action: str) -> Row:
    """Return the row of a lesson's version; sources and strength are rows of other tables."""
    return {
        "lesson_id": lesson.id,
        "version": lesson.version,
        **scope_columns(lesson.scope),
        "kind": lesson.kind.value,
        "text": lesson.text,
        "quote": lesson.quote,
        "trust": lesson.trust.value,
        "lifecycle": lesson.lifecycle.value,
        "grounding": lesson.grounding.value,
        "pinned": lesson.pinned,
        "origin": lesson.origin,
        "hash": lesson.hash,
        "valid_from": iso(lesson.valid_from),
        "valid_until": _iso(lesson.valid_until),
        "recorded_at": iso(lesson.recorded_at),
        "withdrawn_at": None,
        "tx": tx,
        "action": action,
    }


def lesson_from(row: Row) -> Lesson:
    """Return the lesson that a joined row of version, strength and sources holds."""
    return Lesson(
        id=row["lesson_id"],
        version=row["version"],
        scope=scope_of(row),
        kind=EpisodeKind(row["kind"]),
        text=row["text"],
        quote=row["quote"],
        trust=Trust(row["trust"]),
        lifecycle=Lifecycle(row["lifecycle"]),
        grounding=Grounding(row["grounding"]),
        sources=tuple(sorted(row["sources"] or ())),
        sessions=tuple(sorted(row["sessions"] or ())),
        valid_from=_time(row["valid_from"]),
        recorded_at=_time(row["recorded_at"]),
        strength=Strength(row["strength"], _time(row["as_of"])),
        hash=row["hash"],
        valid_until=_maybe(row["valid_until"]),
        pinned=row["pinned"],
        origin=row["origin"],
    )


def prediction_row(prediction: Prediction) -> Row:
    """Return a prediction's row."""
    return {
        "id": prediction.id,
        "lesson_id": prediction.lesson_id,
        **scope_columns(prediction.scope),
        "text": prediction.text,
        "made": iso(prediction.made),
        "outcome": prediction.outcome.value,
        "resolved": _iso(prediction.resolved),
        "by_episode": prediction.by_episode,
    }


def prediction_from(row: Row) -> Prediction:
    """Return the prediction that a row holds."""
    return Prediction(
        id=row["id"],
        lesson_id=row["lesson_id"],
        scope=scope_of(row),
        text=row["text"],
        made=_time(row["made"]),
        outcome=Outcome(row["outcome"]),
        resolved=_maybe(row["resolved"]),
        by_episode=row["by_episode"],
    )


def tombstone_row(stone: Tombstone) -> Row:
    """Return a tombstone's row; it holds digests and never text."""
    return {
        "id": stone.id,
        **scope_columns(stone.scope),
        "kind": stone.kind.value,
        "unit": stone.unit,
        "unit_id": stone.unit_id,
        "digests": [list(pair) for pair in stone.digests],
        "sources": list(stone.sources),
        "reason": stone.reason,
        "actor": stone.actor,
        "at": iso(stone.at),
    }


def tombstone_from(row: Row) -> Tombstone:
    """Return the tombstone that a row holds."""
    return Tombstone(
        id=row["id"],
        kind=TombstoneKind(row["kind"]),
        scope=scope_of(row),
        unit=row["unit"],
        unit_id=row["unit_id"],
        digests=tuple((version, digest) for version, digest in row["digests"]),
        sources=tuple(row["sources"]),
        reason=row["reason"],
        actor=row["actor"],
        at=_time(row["at"]),
    )


def exposure_rows(exposure: Expose, scope: Scope) -> list[Row]:
    """Return a row for each lesson of a decision point.

    A render that leaves no line of ours has one row, of no lesson: the lines of the one before it
    are gone for whoever begins from then on.
    """
    same = {
        "id": exposure.id,
        **scope_columns(scope),
        "at": iso(exposure.at),
        "session_id": exposure.session_id,
        "channel": exposure.channel,
        "reason": "",
    }
    rows = [
        {**same, "lesson_id": lesson, "disposition": disposition}
        for disposition, lessons in ((SHOWN, exposure.shown), (HELD_OUT, exposure.held_out))
        for lesson in lessons
    ]
    if exposure.channel == FILE and not rows:
        return [{**same, "lesson_id": "", "disposition": NOTHING}]
    return rows


def _json(text: str) -> dict[str, int]:
    import orjson  # noqa: PLC0415  only rows read from DuckDB come as text

    parsed: dict[str, int] = orjson.loads(text)
    return parsed


def _iso(at: datetime | None) -> str | None:
    return None if at is None else iso(at)


def _time(value: datetime | str) -> datetime:
    return instant(value) if isinstance(value, str) else value


def _maybe(value: datetime | str | None) -> datetime | None:
    return None if value is None else _time(value)
