"""The view's catalog: the lists that review, audit and `everest lessons` read, one file a list.

It is written again only when a list in it changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from tasks.domain.scope import Scope
from tasks.durable import make_folder, swap_file
from tasks.store import reads
from tasks.store.handle import Store
from tasks.store.reads import Query, Subject
from tasks.store.rows import scope_columns
from tasks.store.shelves import asked_of
from tasks.store.view import View
from tasks.waypoints import passing

_LISTS = {
    "projects": Subject.PROJECTS,
    "cwds": Subject.CWDS,
    "lessons": Subject.LESSONS,
    "aliases": Subject.ALIASES,
    "predictions": Subject.PREDICTIONS,
    "tombstones": Subject.TOMBSTONES,
    "decisions": Subject.DECISIONS,
    "sessions": Subject.SESSIONS,
}


def write(store: Store, view: Path, number: int, before: View | None) -> str:
    """Write the lists under a new name if one of them changed; return the folder's name."""
    lists = {name: _lines(store, subject) for name, subject in _LISTS.items()}
    lists["files"] = _files(store)
    lists["asked"] = _asked(store)
    stamp = hashlib.sha256(b"\0".join(lists.values())).hexdigest()[:16]
    name = f"catalog-{number}-{stamp}"
    if before is not None and before.manifest.catalog.endswith(stamp):
        return before.manifest.catalog
    folder = make_folder(view / name)
    for listed, data in lists.items():
        swap_file(folder / f"{listed}.jsonl", data)
        passing("publish.listed", listed)
    return name


def _files(store: Store) -> bytes:
    """Return what became of each transcript's lines; where it is read on from is ours alone."""
    rows = store.database.rows("SELECT path, state FROM files ORDER BY path")
    return b"".join(
        orjson.dumps({"path": path, **orjson.loads(state)["counts"]}) + b"\n"
        for path, state in rows
    )


def _asked(store: Store) -> bytes:
    """Return the episodes that wait for the person's word, as a decision about them needs them."""
    rows = (
        {"id": one.id, "unit": "episode", "text": one.words, "sources": [], **scope_columns(scope)}
        for scope in reads.scopes(store.database)
        for one in asked_of(store, scope)
    )
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def _lines(store: Store, subject: Subject) -> bytes:
    rows = (
        orjson.dumps({**row, **scope_columns(scope)}, option=orjson.OPT_UTC_Z)
        for scope in reads.scopes(store.database)
        for row in _rows(store, subject, scope)
    )
    return b"".join(row + b"\n" for row in rows)


def _rows(store: Store, subject: Subject, scope: Scope) -> Iterator[dict[str, Any]]:
    for row in reads.rows(store.database, Query(subject, scope)):
        if subject is Subject.LESSONS:
            row["sources"] = sorted(row["sources"] or ())
            row["sessions"] = sorted(row["sessions"] or ())
        yield row
