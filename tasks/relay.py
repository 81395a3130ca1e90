"""The relay: what was said and done in a project lately, by whichever model, one file a project.

Each line is an event (`tasks.domain.events`), so a person can read it and any program write it.
Invariants: a line is whole and on the disk when `append` returns; two processes that append at once
lose nothing; no name of a project leads out of the folder; secrets are struck out first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

import orjson

from tasks.domain.clock import iso
from tasks.domain.events import Event, event
from tasks.domain.redaction import redact
from tasks.durable import after_a_cut, append_line, locked, swap_file, sync_folder
from tasks.errors import EventInvalid, RelayNameInvalid
from tasks.segments import is_there, opened, segments

ROTATE: Final = 8 * 1024 * 1024
"""Bytes after which a project's file is put away under a dated name and a new one begun."""
_RECENT: Final = 256 * 1024
"""Bytes at the end of a file in which an event told twice is recognised."""
_MOST_KEYS: Final = 10_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}\Z")
_BLOCK: Final = 64 * 1024


class Relay:
    """The relay's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._met: dict[Path, _Met] = {}

    def append(self, events: Sequence[Event]) -> list[Event]:
        """Append the events that their project's file does not hold yet; return those, redacted.

        Raises:
            RelayNameInvalid: when a project is no project's id; nothing is written then.
            WriteFailed: when the disk refuses.
        """
        paths = {one.project: self._path(one.project) for one in events}
        written: list[Event] = []
        with locked(self._folder / ".lock", fcntl.LOCK_EX):
            for project, path in paths.items():
                known = self._met.setdefault(path, _Met()).events_of(path)
                new: dict[tuple[str, str, str], Event] = {}
                for one in events:
                    if one.project == project and _key(one) not in known:
                        new.setdefault(_key(one), _redacted(one))
                if new:
                    append_line(path, after_a_cut(path) + b"".join(map(_line, new.values())))
                    known.update(new)
                    written += new.values()
                self._rotate(path, events[-1].at)
        return written

    def tail(self, project_id: str, *, most: int) -> list[Event]:
        """Return a project's last events, at most `most`, oldest first.

        Raises:
            RelayNameInvalid: when that is no project's id.
            HomeUnreadable: when a file of its cannot be read.
        """
        found: list[Event] = []
        for path in reversed(self._files(project_id)):
            for one in _backwards(path):
                if len(found) == most:
                    break
                found.append(one)
        return found[::-1]

    def projects(self) -> list[str]:
        """Return the ids of the projects that anything was said in.

        Raises:
            HomeUnreadable: when the folder cannot be listed.
        """
        return sorted({path.name.partition(".")[0] for path in segments(self._folder)})

    def forget(self, project_id: str, unwanted: Callable[[Event], bool]) -> int:
        """Remove the events that are not wanted, for good; return how many.

        Raises:
            RelayNameInvalid: when that is no project's id.
            HomeUnreadable: when a file of the project's cannot be read.
            WriteFailed: when the disk refuses; a file is rewritten whole or left as it is.
        """
        removed = 0
        with locked(self._folder / ".lock", fcntl.LOCK_EX):
            for path in self._files(project_id):
                with opened(path) as file:
                    lines = file.readlines()
                kept = [line for line in lines if not _is(line, unwanted)]
                if len(kept) < len(lines):
                    swap_file(path, b"".join(kept))
                    removed += len(lines) - len(kept)
        return removed

    def _path(self, project_id: str) -> Path:
        if not _NAME.match(project_id):
            raise RelayNameInvalid(project_id)
        return self._folder / f"{project_id}.jsonl"

    def _files(self, project_id: str) -> list[Path]:
        """Return a project's files, oldest first; the one that is written to comes last."""
        path = self._path(project_id)
        put_away = [one for one in segments(self._folder) if one.name.startswith(f"{project_id}.")]
        return [*(one for one in put_away if one != path), *([path] if is_there(path) else [])]

    def _rotate(self, path: Path, at: datetime) -> None:
        if path.stat().st_size >= ROTATE:
            stamp = re.sub(r"\W", "", iso(at))
            path.rename(path.with_name(f"{path.stem}.{stamp}.jsonl"))
            sync_folder(self._folder)


class _Met:
    """The keys of a file's last events, read on as it grows; used under the folder's lock alone.

    Reading them anew at each append took thirty times as long as appending.
    """

    def __init__(self) -> None:
        self._file = -1
        self._end = 0
        self._keys: set[tuple[str, str, str]] = set()

    def events_of(self, path: Path) -> set[tuple[str, str, str]]:
        """Return the keys in the file's last bytes, and of what was met before in the same file."""
        try:
            with opened(path) as file:
                now = os.fstat(file.fileno())
                if (
                    now.st_ino != self._file
                    or now.st_size < self._end
                    or len(self._keys) > _MOST_KEYS
                ):
                    self._file, self._end = now.st_ino, max(0, now.st_size - _RECENT)
                    self._keys.clear()
                file.seek(self._end)
                data = file.read()
        except FileNotFoundError:
            self._keys.clear()
            return self._keys
        self._end += data.rfind(b"\n") + 1
        self._keys.update(_keys_in(data))
        return self._keys


def _keys_in(data: bytes) -> Iterator[tuple[str, str, str]]:
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            told = orjson.loads(line)
            yield told["agent"], told["session"], told["id"]


class Followed:
    """A project's last events, followed as its file grows: only new bytes are read."""

    def __init__(self, relay: Relay, project_id: str, *, most: int) -> None:
        self._relay, self._project, self._most = relay, project_id, most
        self._seen: tuple[int, int] | None = None
        self._events: deque[Event] = deque(maxlen=most)

    def newest(self) -> list[Event]:
        """Return them as they are now, oldest first.

        Raises:
            RelayNameInvalid: when the project's name is no project's id.
            HomeUnreadable: when a file of its cannot be read.
        """
        path = self._relay._path(self._project)  # noqa: SLF001  two halves of one module
        try:
            with opened(path) as file:
                now = os.fstat(file.fileno())
                if self._seen is None or self._seen[0] != now.st_ino or self._seen[1] > now.st_size:
                    self._again(now)
                else:
                    file.seek(self._seen[1])
                    self._grow(file.read(now.st_size - self._seen[1]), now)
        except FileNotFoundError:
            self._seen = None
            return self._relay.tail(self._project, most=self._most)
        return list(self._events)

    def _again(self, now: os.stat_result) -> None:
        self._events.clear()
        self._events.extend(self._relay.tail(self._project, most=self._most))
        self._seen = now.st_ino, now.st_size

    def _grow(self, data: bytes, now: os.stat_result) -> None:
        whole, end, _ = data.rpartition(b"\n")
        known = {one.id for one in self._events}
        found = filter(None, map(_event, whole.split(b"\n")))
        self._events.extend(one for one in found if one.id not in known)
        self._seen = now.st_ino, now.st_size - len(data) + len(whole) + len(end)


def _key(one: Event) -> tuple[str, str, str]:
    """Return what makes an event the same one: its id, within the conversation that it is of."""
    return one.agent, one.session, one.id


def _line(one: Event) -> bytes:
    return orjson.dumps(one.record()) + b"\n"


def _redacted(one: Event) -> Event:
    return replace(
        one,
        text=redact(one.text),
        agent=redact(one.agent),
        model=redact(one.model),
        session=redact(one.session),
        id=redact(one.id),
    )


def _is(line: bytes, wanted: Callable[[Event], bool]) -> bool:
    found = _event(line)
    return found is not None and wanted(found)


def _event(line: bytes) -> Event | None:
    """Return the event of a line; a line that somebody damaged is passed over."""
    try:
        record = orjson.loads(line)
        return event(record, now=_NEVER) if isinstance(record, dict) else None
    except (ValueError, EventInvalid):
        return None


_NEVER: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def _backwards(path: Path, most: int | None = None) -> Iterable[Event]:
    """Yield a file's events from its end on, within its last `most` bytes."""
    for line in _lines_backwards(path, most):
        found = _event(line)
        if found is not None:
            yield found


def _lines_backwards(path: Path, most: int | None) -> Iterator[bytes]:
    with contextlib.suppress(FileNotFoundError), opened(path) as file:
        end = file.seek(0, os.SEEK_END)
        start, rest = end, b""
        while start > 0 and (most is None or end - start < most):
            block = min(_BLOCK, start)
            start -= block
            file.seek(start)
            rest, *lines = (file.read(block) + rest).split(b"\n")
            yield from reversed(lines)
        if start == 0:
            yield rest
