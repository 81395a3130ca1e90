"""The tables of the store, and the migrations that lead to them.

DuckDB here is a projection of the ledger: every row came from an op that can be applied again.
All tables that hold memory carry the four scope keys; `UNSCOPED` lists the others and says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SCHEMA_VERSION: Final = 1

KEYS: Final = ("owner_id", "owner_type", "app_id", "project_id")
_SCOPE: Final = dict.fromkeys(KEYS, "VARCHAR")


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its columns in order with their types, and the columns of its primary key."""

    name: str
    columns: dict[str, str]
    key: tuple[str, ...]

    @property
    def ddl(self) -> str:
        """Return the statement that makes the table; keys and scopes are never null."""
        parts = [
            f'"{name}" {kind}' + (" NOT NULL" if name in KEYS or name in self.key else "")
            for name, kind in self.columns.items()
        ]
        key = ", ".join(f'"{name}"' for name in self.key)
        return f"CREATE TABLE {self.name} ({', '.join(parts)}, PRIMARY KEY ({key}))"


PROJECTS: Final = Table(
    "projects",
    {
        **_SCOPE,
        "name": "VARCHAR",
        "path": "VARCHAR",
        "first_seen": "TIMESTAMPTZ",
        "ignored": "BOOLEAN",
    },
    KEYS,
)
PROJECT_CWDS: Final = Table("project_cwds", {**_SCOPE, "cwd": "VARCHAR"}, (*KEYS[:3], "cwd"))
SESSIONS: Final = Table(
    "sessions",
    {
        "agent": "VARCHAR",
        "id": "VARCHAR",
        **_SCOPE,
        "path": "VARCHAR",
        "cwd": "VARCHAR",
        "started": "TIMESTAMPTZ",
        "ended": "TIMESTAMPTZ",
        "title": "VARCHAR",
        "turns": "BIGINT",
        "person_turns": "BIGINT",
        "offers": "VARCHAR[][]",
        "waits": "BIGINT",
        "refusals": "JSON",
        "topic": "VARCHAR[]",
        "by_person": "BOOLEAN",
        "evidence_bytes": "BIGINT",
    },
    ("agent", "id"),
)
TURNS: Final = Table(
    "turns",
    {"turn": "VARCHAR", **_SCOPE, "agent": "VARCHAR", "session_id": "VARCHAR"},
    ("turn",),
)
EPISODES: Final = Table(
    "episodes",
    {
        "id": "VARCHAR",
        **_SCOPE,
        "agent": "VARCHAR",
        "session_id": "VARCHAR",
        "kind": "VARCHAR",
        "anchor": "VARCHAR",
        "title": "VARCHAR",
        "gist": "VARCHAR",
        "words": "VARCHAR",
        "rule": "VARCHAR",
        "at": "TIMESTAMPTZ",
        "recorded_at": "TIMESTAMPTZ",
        "grounding": "VARCHAR",
        "lasting": "BOOLEAN",
        "standing": "BOOLEAN",
        "tool": "VARCHAR",
        "error_class": "VARCHAR",
        "command": "VARCHAR",
        "topic": "VARCHAR[]",
        "strength": "DOUBLE",
        "as_of": "TIMESTAMPTZ",
        "recalls": "BIGINT",
        "archived_at": "TIMESTAMPTZ",
    },
    ("id",),
)
LESSONS: Final = Table(
    "lesson_versions",
    {
        "lesson_id": "VARCHAR",
        "version": "BIGINT",
        **_SCOPE,
        "kind": "VARCHAR",
        "text": "VARCHAR",
        "quote": "VARCHAR",
        "trust": "VARCHAR",
        "lifecycle": "VARCHAR",
        "grounding": "VARCHAR",
        "pinned": "BOOLEAN",
        "origin": "VARCHAR",
        "hash": "VARCHAR",
        "valid_from": "TIMESTAMPTZ",
        "valid_until": "TIMESTAMPTZ",
        "recorded_at": "TIMESTAMPTZ",
        "withdrawn_at": "TIMESTAMPTZ",
        "tx": "BIGINT",
        "action": "VARCHAR",
    },
    ("lesson_id", "version"),
)
SOURCES: Final = Table(
    "lesson_sources",
    {
        "lesson_id": "VARCHAR",
        "episode_id": "VARCHAR",
        "session_id": "VARCHAR",
        **_SCOPE,
        "version": "BIGINT",
        "added_at": "TIMESTAMPTZ",
    },
    ("lesson_id", "episode_id"),
)
LESSON_STRENGTHS: Final = Table(
    "lesson_strengths",
    {
        "lesson_id": "VARCHAR",
        **_SCOPE,
        "strength": "DOUBLE",
        "as_of": "TIMESTAMPTZ",
        "recalls": "BIGINT",
    },
    ("lesson_id",),
)
ALIASES: Final = Table(
    "aliases",
    {
        "old_id": "VARCHAR",
        "new_id": "VARCHAR",
        **_SCOPE,
        "at": "TIMESTAMPTZ",
        "created": "TIMESTAMPTZ",
    },
    ("old_id",),
)
PREDICTIONS: Final = Table(
    "predictions",
    {
        "id": "VARCHAR",
        "lesson_id": "VARCHAR",
        **_SCOPE,
        "text": "VARCHAR",
        "made": "TIMESTAMPTZ",
        "outcome": "VARCHAR",
        "resolved": "TIMESTAMPTZ",
        "by_episode": "VARCHAR",
    },
    ("id",),
)
TOMBSTONES: Final = Table(
    "tombstones",
    {
        "id": "VARCHAR",
        **_SCOPE,
        "kind": "VARCHAR",
        "unit": "VARCHAR",
        "unit_id": "VARCHAR",
        "digests": "VARCHAR[][]",
        "sources": "VARCHAR[]",
        "reason": "VARCHAR",
        "actor": "VARCHAR",
        "at": "TIMESTAMPTZ",
    },
    ("id",),
)
DECISIONS: Final = Table(
    "decisions",
    {
        "id": "VARCHAR",
        **_SCOPE,
        "at": "TIMESTAMPTZ",
        "actor": "VARCHAR",
        "verb": "VARCHAR",
        "unit_id": "VARCHAR",
        "outcome": "VARCHAR",
    },
    ("id",),
)
EXPOSURES: Final = Table(
    "exposures",
    {
        "id": "VARCHAR",
        "lesson_id": "VARCHAR",
        **_SCOPE,
        "at": "TIMESTAMPTZ",
        "session_id": "VARCHAR",
        "channel": "VARCHAR",
        "disposition": "VARCHAR",
        "reason": "VARCHAR",
    },
    ("id", "lesson_id"),
)
REFUSALS: Final = Table(
    "refusals",
    {
        "id": "VARCHAR",
        **_SCOPE,
        "at": "TIMESTAMPTZ",
        "via": "VARCHAR",
        "reason": "VARCHAR",
        "tombstone_id": "VARCHAR",
    },
    ("id",),
)
EMBEDDINGS: Final = Table(
    "embeddings",
    {"unit_id": "VARCHAR", "space": "VARCHAR", **_SCOPE, "vector": "BLOB"},
    ("unit_id",),
)
AUDIT: Final = Table(
    "audit",
    {
        "seq": "BIGINT",
        "tx": "BIGINT",
        "at": "TIMESTAMPTZ",
        "actor": "VARCHAR",
        "via": "VARCHAR",
        "action": "VARCHAR",
        "unit": "VARCHAR",
        "unit_id": "VARCHAR",
        **_SCOPE,
        "before": "VARCHAR",
        "after": "VARCHAR",
        "reason": "VARCHAR",
        "prev": "VARCHAR",
        "hash": "VARCHAR",
    },
    ("seq",),
)
FILES: Final = Table("files", {"path": "VARCHAR", "state": "JSON"}, ("path",))
OFFSETS: Final = Table("journal_offsets", {"segment": "VARCHAR", "bytes": "BIGINT"}, ("segment",))
SCOPE_CHANGES: Final = Table("scope_changes", {**_SCOPE, "tx": "BIGINT"}, KEYS)
VECTOR_CHANGES: Final = Table("vector_changes", {**_SCOPE, "stamp": "VARCHAR"}, KEYS)
META: Final = Table("meta", {"name": "VARCHAR", "value": "VARCHAR"}, ("name",))

TABLES: Final = (
    PROJECTS,
    PROJECT_CWDS,
    SESSIONS,
    TURNS,
    EPISODES,
    LESSONS,
    SOURCES,
    LESSON_STRENGTHS,
    ALIASES,
    PREDICTIONS,
    TOMBSTONES,
    DECISIONS,
    EXPOSURES,
    REFUSALS,
    EMBEDDINGS,
    AUDIT,
    FILES,
    OFFSETS,
    SCOPE_CHANGES,
    VECTOR_CHANGES,
    META,
)

UNSCOPED: Final = {
    "files": "a transcript's reading state: one file may hold sessions of no known project yet",
    "journal_offsets": "how far each segment was folded; segments hold lines of every scope",
    "meta": "the schema's version, the last applied record, the digest's parts",
}

Migrations = tuple[tuple[str, ...], ...]
"""The statements that lead from each schema to the next; the first makes it."""

MIGRATIONS: Final[Migrations] = (tuple(table.ddl for table in TABLES),)
"""Entry n leads from schema n to n + 1; a new release appends an entry and never edits one."""
