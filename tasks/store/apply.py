"""Apply one ledger record to DuckDB: one function for a commit, for catching up and for a rebuild.

Ops of one record are applied table by table in a fixed order, in bulk, so that replaying gives the
very rows that committing gave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from tasks.domain.ids import lesson_vector_id
from tasks.store.database import Database
from tasks.store.ledger import Op, Record
from tasks.store.schema import (
    ALIASES,
    AUDIT,
    DECISIONS,
    EPISODES,
    EXPOSURES,
    FILES,
    KEYS,
    LESSON_STRENGTHS,
    LESSONS,
    META,
    OFFSETS,
    PREDICTIONS,
    PROJECT_CWDS,
    PROJECTS,
    REFUSALS,
    SCOPE_CHANGES,
    SESSIONS,
    SOURCES,
    TOMBSTONES,
    TURNS,
    Table,
)

UPSERTS: Final[dict[str, Table]] = {
    "project": PROJECTS,
    "cwd": PROJECT_CWDS,
    "session": SESSIONS,
    "turn": TURNS,
    "episode": EPISODES,
    "lesson": LESSONS,
    "source": SOURCES,
    "lesson_strength": LESSON_STRENGTHS,
    "alias": ALIASES,
    "prediction": PREDICTIONS,
    "tombstone": TOMBSTONES,
    "decision": DECISIONS,
    "exposure": EXPOSURES,
    "refusal": REFUSALS,
}
"""Ops that write a whole row, in the order in which they are applied."""

_UNSEEN_BY_READERS: Final = frozenset({"turn", "exposure", "refusal"})
"""Ops that change nothing a view holds, so that they cause no new one; but see `_unmade`."""


def apply(database: Database, record: Record, digest: str) -> None:
    """Write a record's rows inside the caller's transaction, and the mark that it is applied."""
    groups: dict[str, list[Op]] = {}
    for op in record.ops:
        groups.setdefault(op["op"], []).append(op)
    for name, table in UPSERTS.items():
        replaced = put_rows(database, table, groups.get(name, ()))
        if table is EPISODES and replaced:
            _drop_vectors(database, groups[name])
    if "lesson" in groups:
        _close_versions(database, record.tx)
    for name, special in _SPECIALS.items():
        if name in groups:
            special(database, groups[name])
    _insert(database, AUDIT, [{"tx": record.tx, **row} for row in record.audit])
    put_rows(database, FILES, [{"path": p, "state": s} for p, s in record.ingest.items()])
    put_rows(database, OFFSETS, [{"segment": s, "bytes": b} for s, b in record.journal.items()])
    _note_changes(database, record)
    _mark(database, {"tx": str(record.tx), "last": digest, "at": record.at})


def put_rows(database: Database, table: Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert or replace rows of a table; return how many were replaced.

    Of rows with one key the last counts; unknown keys of a row are passed over. Deleting what has
    the keys and inserting costs a third of what DuckDB's INSERT OR REPLACE does.
    """
    last = {tuple(row[column] for column in table.key): row for row in rows}
    if not last:
        return 0
    replaced = _delete(database, table, list(last))
    _insert(database, table, list(last.values()))
    return replaced


def _delete(database: Database, table: Table, keys: list[tuple[Any, ...]]) -> int:
    """Delete the rows that have some keys; one alone is found by the table's index."""
    if len(keys) == 1:
        tail = " AND ".join(f'"{column}" = ?' for column in table.key)
        found = database.rows(f"DELETE FROM {table.name} WHERE {tail}", list(keys[0]))  # noqa: S608
    else:
        names = ", ".join(f'"{column}"' for column in table.key)
        arrays = ", ".join(f"unnest(?::{table.columns[column]}[])" for column in table.key)
        found = database.rows(
            f"DELETE FROM {table.name} WHERE ({names}) IN (SELECT {arrays})",  # noqa: S608
            [list(column) for column in zip(*keys, strict=True)],
        )
    return int(found[0][0])


def _insert(database: Database, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows whose keys are new, in one statement: an array a column."""
    if not rows:
        return
    names = ", ".join(f'"{name}"' for name in table.columns)
    arrays = ", ".join(f"unnest(?::{kind}[])" for kind in table.columns.values())
    database.run(
        f"INSERT INTO {table.name} ({names}) SELECT {arrays}",
        [[_value(row.get(name), kind) for row in rows] for name, kind in table.columns.items()],
    )


def _mark(database: Database, marks: dict[str, str]) -> None:
    """Note how far the store is; in place, once there is something to change."""
    changed = database.rows(
        "UPDATE meta SET value = mark.value "
        "FROM (SELECT unnest(?::VARCHAR[]) AS name, unnest(?::VARCHAR[]) AS value) AS mark "
        "WHERE meta.name = mark.name",
        [list(marks), list(marks.values())],
    )
    if changed[0][0] < len(marks):
        put_rows(database, META, [{"name": name, "value": mark} for name, mark in marks.items()])


def _value(value: Any, kind: str) -> Any:
    return orjson.dumps(value).decode() if kind == "JSON" and value is not None else value


def _close_versions(database: Database, tx: int) -> None:
    database.run(
        "UPDATE lesson_versions AS old SET withdrawn_at = new.recorded_at "
        "FROM lesson_versions AS new WHERE new.tx = ? AND new.lesson_id = old.lesson_id "
        "AND new.version = old.version + 1",
        [tx],
    )


def _drop_vectors(database: Database, ops: list[Op]) -> None:
    """A vector stands for the words it was made of; the next night embeds the new ones."""
    database.run(
        "DELETE FROM embeddings WHERE unit_id IN (SELECT unnest(?::VARCHAR[]))",
        [[op["id"] for op in ops]],
    )


def _strengthen(database: Database, ops: list[Op]) -> None:
    for unit, table, key in (
        ("episode", "episodes", "id"),
        ("lesson", "lesson_strengths", "lesson_id"),
    ):
        chosen = {op["id"]: op for op in ops if op["unit"] == unit}
        database.run(
            f"UPDATE {table} SET strength = (o ->> 'strength')::DOUBLE, "  # noqa: S608
            "as_of = (o ->> 'as_of')::TIMESTAMPTZ, "
            f"recalls = coalesce((o ->> 'recalls')::BIGINT, {table}.recalls) "
            f"FROM (SELECT unnest(?::JSON[]) AS o) WHERE {table}.{key} = (o ->> 'id')",
            [[orjson.dumps(op).decode() for op in chosen.values()]],
        )


def _archive(database: Database, ops: list[Op]) -> None:
    database.run(
        "UPDATE episodes SET archived_at = (o ->> 'at')::TIMESTAMPTZ "
        "FROM (SELECT unnest(?::JSON[]) AS o) WHERE episodes.id = (o ->> 'id')",
        [[orjson.dumps(op).decode() for op in ops]],
    )


def _erase(database: Database, ops: list[Op]) -> None:
    episodes = [op["id"] for op in ops if op["unit"] == "episode"]
    lessons = [op["id"] for op in ops if op["unit"] == "lesson"]
    wordings = database.rows(
        "SELECT lesson_id, hash FROM lesson_versions "
        "WHERE lesson_id IN (SELECT unnest(?::VARCHAR[]))",
        [lessons],
    )
    vectors = [lesson_vector_id(lesson, hashed) for lesson, hashed in wordings]
    for table, key, ids in (
        ("episodes", "id", episodes),
        ("lesson_sources", "episode_id", episodes),
        ("embeddings", "unit_id", episodes + vectors),
        ("lesson_versions", "lesson_id", lessons),
        ("lesson_sources", "lesson_id", lessons),
        ("lesson_strengths", "lesson_id", lessons),
        ("predictions", "lesson_id", lessons),
        ("aliases", "old_id", lessons),
        ("aliases", "new_id", lessons),
    ):
        database.run(
            f"DELETE FROM {table} WHERE {key} IN (SELECT unnest(?::VARCHAR[]))",  # noqa: S608
            [ids],
        )


def _note_changes(database: Database, record: Record) -> None:
    """Note of each scope in which readers will see a change that it is of this record."""
    scopes = {
        tuple(op[key] for key in KEYS) for op in record.ops if op["op"] not in _UNSEEN_BY_READERS
    } | _unmade(database, record)
    same = " AND ".join(f"{key} = ?" for key in KEYS)
    for keys in sorted(scopes):
        sql = f"UPDATE scope_changes SET tx = ? WHERE {same}"  # noqa: S608  the schema's names
        if database.rows(sql, [record.tx, *keys]) == [(0,)]:
            row = {**dict(zip(KEYS, keys, strict=True)), "tx": record.tx}
            _insert(database, SCOPE_CHANGES, [row])


def _unmade(database: Database, record: Record) -> set[tuple[Any, ...]]:
    """Return the scopes in which a session may bear witness no more, being told of sooner."""
    told = sorted({op["session_id"] for op in record.ops if op["op"] == "exposure"} - {""})
    if not told:
        return set()
    names = ", ".join(KEYS)
    sql = f"SELECT DISTINCT {names} FROM lesson_sources WHERE session_id IN (SELECT unnest(?))"  # noqa: S608
    return set(database.rows(sql, [told]))


_SPECIALS: Final[dict[str, Callable[[Database, list[Op]], None]]] = {
    "strength": _strengthen,
    "archive": _archive,
    "erase": _erase,
}
"""Ops that change or remove rows; after the whole rows, in this order."""
