"""The one function that compiles every read: parameters only, the four keys always, any owner type.

Leaving the keys out would let a query bleed from one project into another, so no other place in the
code base assembles a WHERE clause over memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, assert_never

import polars as pl

from tasks.domain.frames import EPISODES as EPISODE_FRAME
from tasks.domain.proposals import SessionFacts
from tasks.domain.scope import Scope
from tasks.domain.units import Episode, Lesson, Prediction, Tombstone
from tasks.store.database import Database
from tasks.store.rows import (
    episode_from,
    lesson_from,
    prediction_from,
    session_from,
    tombstone_from,
)
from tasks.store.schema import (
    ALIASES,
    DECISIONS,
    EMBEDDINGS,
    EPISODES,
    EXPOSURES,
    KEYS,
    LESSONS,
    PREDICTIONS,
    PROJECT_CWDS,
    PROJECTS,
    REFUSALS,
    SESSIONS,
    TOMBSTONES,
    TURNS,
    Table,
)
from tasks.store.told import SHOWN, TOLD, WITNESSES

_LESSONS_FROM = f"""
lesson_versions t JOIN lesson_strengths s USING (lesson_id)
LEFT JOIN {WITNESSES} USING (lesson_id, version)
"""


class Subject(Enum):
    """What can be read: the table, and the column that names a unit in it."""

    PROJECTS = (PROJECTS, "project_id")
    CWDS = (PROJECT_CWDS, "cwd")
    SESSIONS = (SESSIONS, "id")
    TURNS = (TURNS, "turn")
    EPISODES = (EPISODES, "id")
    LESSONS = (LESSONS, "lesson_id")
    ALIASES = (ALIASES, "old_id")
    PREDICTIONS = (PREDICTIONS, "id")
    TOMBSTONES = (TOMBSTONES, "id")
    DECISIONS = (DECISIONS, "id")
    EXPOSURES = (EXPOSURES, "lesson_id")
    TOLD = (Table(TOLD, {}, ("lesson_id", "session_id", "channel")), "lesson_id")
    REFUSALS = (REFUSALS, "id")
    VECTORS = (EMBEDDINGS, "unit_id")

    @property
    def table(self) -> Table:
        """Return the table that holds the subject."""
        return self.value[0]

    @property
    def name_column(self) -> str:
        """Return the column that names a unit."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Ids:
    """Only the units of these ids."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unarchived:
    """Only episodes that have not faded."""


@dataclass(frozen=True, slots=True)
class ValidAt:
    """Only lessons that were true in the world at an instant."""

    at: datetime


@dataclass(frozen=True, slots=True)
class BelievedAt:
    """Lessons as the store believed them at an instant, with the trust of then."""

    at: datetime


@dataclass(frozen=True, slots=True)
class AllVersions:
    """Every version of a lesson, not the current one alone."""


@dataclass(frozen=True, slots=True)
class InSpace:
    """Only vectors of one embedding space: those of two are never compared."""

    space: str


Filter = InSpace | Ids | Unarchived | ValidAt | BelievedAt | AllVersions


@dataclass(frozen=True, slots=True)
class Query:
    """One read of one scope."""

    subject: Subject
    scope: Scope
    filters: tuple[Filter, ...] = ()


def compile(query: Query) -> tuple[str, dict[str, Any]]:  # noqa: A001  the word the design uses
    """Return the SQL and parameters of a read; the four keys and belief are always in it."""
    params = keys_of(query.scope)
    clauses = [f"t.{key} = ${key}" for key in KEYS]
    for filter_ in query.filters:
        clause, more = _clause(filter_, query.subject)
        clauses.append(clause)
        params |= more
    if query.subject is Subject.LESSONS and not _about_history(query.filters):
        clauses.append("t.withdrawn_at IS NULL")
    return f"{_select(query.subject)} WHERE {' AND '.join(clauses)} {_order(query.subject)}", params


def rows(database: Database, query: Query) -> list[dict[str, Any]]:
    """Return a read's rows by column name, in a fixed order."""
    if any(isinstance(filter_, Ids) for filter_ in query.filters):
        return database.records(*compile(query))
    return database.frame(*compile(query)).to_dicts()


def episodes(database: Database, scope: Scope, *filters: Filter) -> list[Episode]:
    """Return the scope's episodes by (at, id)."""
    return [episode_from(row) for row in rows(database, Query(Subject.EPISODES, scope, filters))]


def episode_frame(database: Database, scope: Scope, *filters: Filter) -> pl.DataFrame:
    """Return the scope's episodes as a frame of schema `sleep.material.EPISODES`."""
    frame = database.frame(*compile(Query(Subject.EPISODES, scope, filters)))
    return frame.select(list(EPISODE_FRAME)).cast(EPISODE_FRAME)


def lessons(database: Database, scope: Scope, *filters: Filter) -> list[Lesson]:
    """Return the scope's lessons by id: the current versions, unless a filter asks for history."""
    return [lesson_from(row) for row in rows(database, Query(Subject.LESSONS, scope, filters))]


def predictions(database: Database, scope: Scope, *filters: Filter) -> list[Prediction]:
    """Return the scope's predictions by id."""
    return [
        prediction_from(row) for row in rows(database, Query(Subject.PREDICTIONS, scope, filters))
    ]


def sessions(database: Database, scope: Scope, *filters: Filter) -> list[SessionFacts]:
    """Return the scope's sessions by id."""
    return [session_from(row) for row in rows(database, Query(Subject.SESSIONS, scope, filters))]


def tombstones(database: Database, scope: Scope, *filters: Filter) -> list[Tombstone]:
    """Return the scope's own tombstones by id."""
    return [
        tombstone_from(row) for row in rows(database, Query(Subject.TOMBSTONES, scope, filters))
    ]


def shown(database: Database, scope: Scope) -> dict[str, frozenset[str]]:
    """Return, for each lesson of the scope, the sessions in which it was in some channel.

    A session's exposure by files is the last render before it began; what was told of a lesson
    was told of the one that it lives on in.
    """
    sql, params = compile(Query(Subject.TOLD, scope))
    found = database.frame(
        f"SELECT lesson_id, list(session_id) FROM (SELECT DISTINCT lesson_id, session_id "  # noqa: S608
        f"FROM ({sql}) WHERE disposition = '{SHOWN}') GROUP BY lesson_id",
        params,
    )
    return {lesson: frozenset(sessions) for lesson, sessions in found.iter_rows()}


def person_turns(database: Database, scope: Scope, *, since: datetime) -> int:
    """Return how many turns the person had in the sessions that ended at `since` or later."""
    sql, params = compile(Query(Subject.SESSIONS, scope))
    total = database.rows(
        f"SELECT coalesce(sum(person_turns), 0) FROM ({sql}) WHERE ended >= $since",  # noqa: S608
        params | {"since": since},
    )
    return int(total[0][0])


def vector_spaces(database: Database, scope: Scope) -> dict[str, str]:
    """Return, for each unit of the scope that has a vector, the space it is in."""
    sql, params = compile(Query(Subject.VECTORS, scope))
    return dict(database.rows(f"SELECT unit_id, space FROM ({sql})", params))  # noqa: S608


def vectors(database: Database, scope: Scope, space: str) -> dict[str, bytes]:
    """Return the scope's vectors in one space, by unit, as packed float32; by id."""
    sql, params = compile(Query(Subject.VECTORS, scope, (InSpace(space),)))
    return dict(database.rows(f"SELECT unit_id, vector FROM ({sql})", params))  # noqa: S608


def keys_of(scope: Scope) -> dict[str, Any]:
    """Return a scope's keys as the parameters of a statement."""
    return dict(zip(KEYS, scope.keys(), strict=True))


def scopes(database: Database) -> list[Scope]:
    """Return every scope that something was ever written in, sorted."""
    keys = ", ".join(KEYS)
    return sorted(Scope(*row) for row in database.rows(f"SELECT {keys} FROM scope_changes"))  # noqa: S608


def _select(subject: Subject) -> str:
    if subject is Subject.LESSONS:
        return f"SELECT t.*, s.strength, s.as_of, s.recalls, sources, sessions FROM {_LESSONS_FROM}"  # noqa: S608
    return f"SELECT t.* FROM {subject.table.name} t"  # noqa: S608


def _order(subject: Subject) -> str:
    if subject is Subject.EPISODES:
        return 'ORDER BY t."at", t.id'
    return f"ORDER BY {', '.join(f't.{column}' for column in subject.table.key)}"


def _clause(filter_: Filter, subject: Subject) -> tuple[str, dict[str, Any]]:
    match filter_:
        case Ids(ids):
            return f"t.{subject.name_column} IN (SELECT unnest($ids::VARCHAR[]))", {
                "ids": list(ids)
            }
        case InSpace(space):
            return "t.space = $space", {"space": space}
        case Unarchived():
            return "t.archived_at IS NULL", {}
        case ValidAt(at):
            clause = "t.valid_from <= $valid AND (t.valid_until IS NULL OR t.valid_until > $valid)"
            return clause, {"valid": at}
        case BelievedAt(at):
            clause = (
                "t.recorded_at <= $believed "
                "AND (t.withdrawn_at IS NULL OR t.withdrawn_at > $believed)"
            )
            return clause, {"believed": at}
        case AllVersions():
            return "TRUE", {}
        case _:
            assert_never(filter_)


def _about_history(filters: tuple[Filter, ...]) -> bool:
    return any(isinstance(filter_, BelievedAt | AllVersions) for filter_ in filters)
