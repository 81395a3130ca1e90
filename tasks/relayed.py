"""Read the relay at night: conversations of clients whose transcripts nobody keeps become sessions.

Incremental as with transcripts: a file's new lines are one record, and a file read twice changes
nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from tasks.domain.events import Event, event
from tasks.domain.project import by_id
from tasks.domain.proposals import Action, Actor, Change, Proposal, PutProject, PutSession
from tasks.domain.scope import Scope
from tasks.domain.session import ReadCounts
from tasks.domain.units import Project
from tasks.errors import EventInvalid, HomeUnreadable
from tasks.happened import Happened
from tasks.ingested import Ingested, plain
from tasks.projects import leaves_out
from tasks.relays import Relays
from tasks.segments import opened, segments
from tasks.settings import Settings
from tasks.store import gateway
from tasks.store.handle import Store
from tasks.store.standing import projects


@dataclass(frozen=True, slots=True)
class _New:
    """What a file of the relay gained.

    Attributes:
        state: how far it is read with this, to be kept with the record.
    """

    events: tuple[Event, ...]
    state: dict[str, Any]
    counts: ReadCounts


def read_relay(store: Store, *, settings: Settings, at: datetime, report: Ingested) -> None:
    """Take in what every project's relay gained since it was last read.

    Args:
        store: the open store.
        settings: for the owner.
        at: now.
        report: what it came to is added here.

    Raises:
        StoreError, WriteFailed: when the store or the disk gives out; what is committed stays.
    """
    rows = store.database.rows("SELECT path, state FROM files")
    known = {path: orjson.loads(state) for path, state in rows}
    happened = Happened(store, at)
    for app, path in _files(store.places.relay, report):
        try:
            new = _new(path, known.get(str(path), {}), at)
        except HomeUnreadable as error:
            report.problems.append(str(error))
            continue
        scope = replace(settings.scope(path.name.partition(".")[0]), app_id=app)
        project = _project(store, scope, at)
        if new is None or leaves_out(project):
            continue
        changes = (PutProject(project), *happened.changes(new.events, scope))
        proposals = [_proposal(change, scope) for change in changes]
        state = {str(path): {**new.state, "counts": plain(new.counts)}}
        receipt = gateway.commit(store, proposals, at=at, ingest=state)
        report.decided(proposals, receipt.decisions)
        report.sessions += sum(isinstance(change, PutSession) for change in changes)


def _files(relay: Path, report: Ingested) -> Iterator[tuple[str, Path]]:
    """Yield every file of every app's relay, with the app_id; what cannot be listed is reported."""
    for app, folder in Relays(relay).places():
        try:
            found = segments(folder)
        except HomeUnreadable as error:
            report.problems.append(str(error))
            continue
        yield from ((app, path) for path in found)


def _new(path: Path, known: dict[str, Any], at: datetime) -> _New | None:
    """Return what lies beyond where a file was left, None when there is nothing."""
    with opened(path) as file:
        now = os.fstat(file.fileno())
        inode = now.st_ino
        is_same = known.get("inode") == inode and known["end"] <= now.st_size
        start = known["end"] if is_same else 0
        file.seek(start)
        whole, newline, _ = file.read().rpartition(b"\n")
    if not newline:
        return None
    before = known["lines"] if is_same else 0
    lines = whole.split(b"\n")
    read = list(_numbered(lines, before, at))
    events = tuple(one for _, one in read if one is not None)
    failed = [number for number, one in read if one is None]
    counts = ReadCounts(read=len(read), used=len(events), failed=failed)
    state = {"inode": inode, "end": start + len(whole) + 1, "lines": before + len(lines)}
    return _New(events, state, counts)


def _numbered(lines: list[bytes], before: int, at: datetime) -> Iterator[tuple[int, Event | None]]:
    for number, line in enumerate(lines, before + 1):
        if line.strip():
            yield number, _event(line, at)


def _event(line: bytes, at: datetime) -> Event | None:
    try:
        return event(orjson.loads(line), now=at)
    except (ValueError, AttributeError, EventInvalid):
        return None


def _project(store: Store, scope: Scope, at: datetime) -> Project:
    known = projects(store, scope)
    if known:
        return known[0]
    found = by_id(scope.project_id)
    return Project(found.project_id, found.name, found.path, (), at)


def _proposal(change: Change, scope: Scope) -> Proposal:
    return Proposal(change, Action.CREATE, scope, Actor.TRANSCRIPT, "relay")
