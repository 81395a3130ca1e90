"""What a person takes along: plain rows out of the store, with nothing of ours that means nothing.

Invariant: every row that the store holds of a kind is in the list of that kind, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from tasks.domain.clock import iso
from tasks.domain.scope import Scope
from tasks.domain.units import EpisodeKind, Lesson, Lifecycle, Trust
from tasks.store import reads
from tasks.store.handle import Store
from tasks.store.reads import AllVersions, Query, Subject
from tasks.store.rows import scope_columns
from tasks.store.shelves import asked_of

Row = dict[str, Any]

_INTERNAL: Final = (
    "digests",
    "hash",
    "tx",
    "action",
    "anchor",
    "evidence_bytes",
    "offers",
    "waits",
)
"""Columns that are of use to Everest's own bookkeeping alone."""


@dataclass(frozen=True, slots=True)
class Taken:
    """All of it, by kind; what each file of an export holds.

    Attributes:
        lessons: as they stand, each with its sources and with every version that there was.
        episodes: what happened: sessions, corrections, errors, surprises; `notes` what was noted.
        questions: what waits for the person's word.
        decisions: what was rejected, forgotten or asked; `refused` what was kept out since.
        predictions: what the memory bet on, and how it ended.
        exposures: which lessons were put before a model, where, or held out.
    """

    projects: tuple[Row, ...]
    lessons: tuple[Row, ...]
    episodes: tuple[Row, ...]
    notes: tuple[Row, ...]
    sessions: tuple[Row, ...]
    questions: tuple[Row, ...]
    decisions: tuple[Row, ...]
    refused: tuple[Row, ...]
    predictions: tuple[Row, ...]
    exposures: tuple[Row, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Return how many rows there are of each kind."""
        return {field.name: len(getattr(self, field.name)) for field in fields(self)}


def gather(store: Store) -> Taken:
    """Return everything, of every project and app, by scope and in a fixed order."""
    database, scopes = store.database, reads.scopes(store.database)
    names = {
        scope: row["name"]
        for scope in scopes
        for row in reads.rows(database, Query(Subject.PROJECTS, scope))
    }

    def rows(subject: Subject) -> tuple[Row, ...]:
        return tuple(
            _plain(row, scope, names)
            for scope in scopes
            for row in reads.rows(database, Query(subject, scope))
        )

    episodes = rows(Subject.EPISODES)
    return Taken(
        projects=rows(Subject.PROJECTS),
        lessons=tuple(row for scope in scopes for row in _lessons(store, scope, names)),
        episodes=tuple(row for row in episodes if row["kind"] != EpisodeKind.NOTE),
        notes=tuple(row for row in episodes if row["kind"] == EpisodeKind.NOTE),
        sessions=rows(Subject.SESSIONS),
        questions=tuple(row for scope in scopes for row in _questions(store, scope, names)),
        decisions=(*rows(Subject.DECISIONS), *rows(Subject.TOMBSTONES)),
        refused=rows(Subject.REFUSALS),
        predictions=rows(Subject.PREDICTIONS),
        exposures=rows(Subject.EXPOSURES),
    )


def _lessons(store: Store, scope: Scope, names: dict[Scope, str]) -> Iterator[Row]:
    database = store.database
    versions: dict[str, list[Row]] = {}
    for row in reads.rows(database, Query(Subject.LESSONS, scope, (AllVersions(),))):
        versions.setdefault(row["lesson_id"], []).append(row)
    words = {one.id: one for one in reads.episodes(database, scope)}
    for all_of_it in versions.values():
        last = max(all_of_it, key=lambda row: row["version"])
        told = _plain(last, scope, names)
        told["sources"] = [
            {
                "id": one,
                "session": words[one].session_id,
                "at": iso(words[one].at),
                "words": words[one].words,
            }
            if one in words
            else {"id": one}
            for one in sorted(last["sources"] or ())
        ]
        told["sessions"] = sorted(last["sessions"] or ())
        told["history"] = [_version(row) for row in all_of_it]
        yield told


def _version(row: Row) -> Row:
    kept = ("version", "text", "trust", "lifecycle", "valid_from", "valid_until", "recorded_at")
    return {name: _value(row[name]) for name in (*kept, "withdrawn_at", "action")}


def _questions(store: Store, scope: Scope, names: dict[Scope, str]) -> Iterator[Row]:
    for one in asked_of(store, scope):
        yield _plain({"id": one.id, "unit": "episode", "text": one.words}, scope, names)
    for lesson in reads.lessons(store.database, scope):
        if _is_asked(lesson):
            yield _plain({"id": lesson.id, "unit": "lesson", "text": lesson.text}, scope, names)


def _is_asked(lesson: Lesson) -> bool:
    return lesson.trust is Trust.DISPUTED and lesson.lifecycle is Lifecycle.LIVE


def _plain(row: Row, scope: Scope, names: dict[Scope, str]) -> Row:
    kept = {name: _value(value) for name, value in row.items() if name not in _INTERNAL}
    project = names.get(scope, scope.project_id)
    return {"project": project, **kept, **scope_columns(scope)}


def _value(value: Any) -> Any:
    return iso(value) if isinstance(value, datetime) else value
