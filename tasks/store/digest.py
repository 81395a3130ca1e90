"""The store's digest: one number that two stores share exactly when they hold the same memory.

Not in it: strength, recalls, embeddings, exposures, refusals, audit and our own timestamps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import orjson
import polars as pl

from tasks.domain.clock import iso
from tasks.domain.scope import Scope
from tasks.store import reads
from tasks.store.database import Database
from tasks.store.reads import Query, Subject


def store_digest(database: Database) -> str:
    """Return the SHA-256, in hex, over the sorted canonical JSON lines of what is remembered."""
    lines = sorted(orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in _items(database))
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line + b"\n")
    return digest.hexdigest()


def _items(database: Database) -> Iterator[list[Any]]:
    for scope in reads.scopes(database):
        keys = list(scope.keys())
        for subject, columns in _PLAIN.items():
            for row in reads.rows(database, Query(subject, scope)):
                yield [subject.table.name, keys, *(_plain(row[column]) for column in columns)]
        for episode in _episodes(database, scope).iter_rows():
            yield ["episodes", keys, *episode]
        for lesson in reads.lessons(database, scope):
            yield [
                "lessons",
                keys,
                lesson.id,
                lesson.text,
                lesson.kind.value,
                lesson.trust.value,
                lesson.lifecycle.value,
                lesson.grounding.value,
                list(lesson.sources),
                iso(lesson.valid_from),
                iso(lesson.valid_until) if lesson.valid_until else None,
            ]


def _episodes(database: Database, scope: Scope) -> pl.DataFrame:
    """Return the columns that count, spelled as the digest has them; the most rows by far."""
    return reads.episode_frame(database, scope).select(
        "id",
        "kind",
        "title",
        "gist",
        pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ"),
        pl.col("archived_at").is_not_null(),
    )


_PLAIN = {
    Subject.PROJECTS: ("name", "path", "ignored"),
    Subject.CWDS: ("cwd",),
    Subject.ALIASES: ("old_id", "new_id"),
    Subject.PREDICTIONS: ("lesson_id", "text", "outcome"),
    Subject.TOMBSTONES: ("kind", "unit", "unit_id", "digests", "sources", "reason"),
    Subject.DECISIONS: ("verb", "unit_id", "outcome"),
}


def _plain(value: Any) -> Any:
    return iso(value) if hasattr(value, "astimezone") else value
