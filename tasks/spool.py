"""The spool: what hooks left for later, taken in once by whoever comes first.

A hook has no time to do more than append a line: that a conversation ended, or what was shown with
no warm process to note it. Invariants: a line is whole or passed over; a file is gone from the
spool only when all in it is on the disk elsewhere, and taking it twice adds nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson

from tasks.domain.clock import instant, iso
from tasks.domain.ids import digest_of
from tasks.domain.proposals import Actor
from tasks.domain.scope import Scope
from tasks.durable import FILE_MODE, after_a_cut, append_line, locked, make_folder, sync_folder
from tasks.errors import ScopeMissing, WriteFailed
from tasks.settings import Places
from tasks.store.journal import Line, is_readable, new_line, write_segment

LINES: Final = "hooks.jsonl"
"""The file that is appended to, under the lock `LOCK`."""
LOCK: Final = ".lock"
TAKEN: Final = "taken"
"""The folder of files that are being taken in; what a killed process left there is taken again."""
_RUNNING: Final = ".running"
ENDED: Final = "session_end"
EXPOSED: Final = "expose"
_TEXTS: Final = ("channel", "moment", "agent", "session")
_LISTS: Final = ("shown", "held_out", "near")


@dataclass(frozen=True, slots=True)
class Ended:
    """A conversation that is over, or is about to be summed up: what was said is to be read.

    Attributes:
        agent: as its wired command names it.
        transcript: where it is written down.
    """

    agent: str
    session: str
    transcript: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What a spool held.

    Attributes:
        exposures: how many decisions went into the journal.
        bad: lines that could not be used.
    """

    ended: tuple[Ended, ...] = ()
    exposures: int = 0
    bad: int = 0


def note_end(spool: Path, one: Ended, *, at: datetime) -> None:
    """Append that a conversation ended.

    Raises:
        WriteFailed: when the disk refuses.
    """
    told = {"agent": one.agent, "session": one.session, "transcript_path": one.transcript}
    line = {"v": 1, "kind": ENDED, **told, "at": iso(at)}
    with locked(make_folder(spool) / LOCK, fcntl.LOCK_EX):
        path = spool / LINES
        append_line(path, after_a_cut(path) + orjson.dumps(line) + b"\n")


def waits(spool: Path) -> bool:
    """Tell whether anything waits to be taken in."""
    return any(_files(spool)) or any(_files(spool / TAKEN))


def exposures(spool: Path) -> Iterator[Line]:
    """Yield what waits of what was shown, as the journal will have it; nothing is taken."""
    for path in (*_files(spool), *_files(spool / TAKEN)):
        with contextlib.suppress(FileNotFoundError):  # taken in meanwhile
            yield from _told(path)[1]


@contextlib.contextmanager
def alone(spool: Path) -> Iterator[bool]:
    """Tell whether nobody else works on the spool, and keep it so while the block runs.

    Raises:
        WriteFailed: when the lock file cannot be made.
    """
    path = make_folder(spool) / _RUNNING
    try:
        descriptor = _opened(path)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
    mine = _locked(descriptor)
    try:
        yield mine
    finally:
        if mine:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # of one that was handed on there are copies
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _opened(path: Path) -> int:
    """Return the lock file: the one that a hook locked and handed on as standard input, if any."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.fstat(0), path.stat()):
            return os.dup(0)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)


@contextlib.contextmanager
def taken(places: Places, *, at: datetime) -> Iterator[Taken]:
    """Take in what waits; it is gone from the spool when the block ends without an error.

    What was shown goes into the journal at once; the caller reads what ended.

    Raises:
        WriteFailed: when the disk refuses.
    """
    with locked(make_folder(places.spool) / LOCK, fcntl.LOCK_EX):
        files = _set_aside(places.spool)
        found = [_told(path) for path in files]
        for path, (_, exposed, _) in zip(files, found, strict=True):
            _journal(places.journal, path.stem, exposed, at)
    ended = {one: None for ends, _, _ in found for one in ends}
    exposures = sum(len(exposed) for _, exposed, _ in found)
    yield Taken(tuple(ended), exposures, sum(bad for *_, bad in found))
    for path in files:
        path.unlink(missing_ok=True)


def move_exposures(places: Places, *, at: datetime) -> None:
    """Put what was shown into the journal; what ended goes on waiting.

    Raises:
        WriteFailed: when the disk refuses.
    """
    if not waits(places.spool):
        return
    with locked(places.spool / LOCK, fcntl.LOCK_EX):
        for path in _set_aside(places.spool):
            ends, exposed, _ = _told(path)
            _journal(places.journal, path.stem, exposed, at)
            if not ends:
                path.unlink(missing_ok=True)


def _set_aside(spool: Path) -> list[Path]:
    """Move the spool's files out of the appenders' way; return all that are to be taken in."""
    aside = make_folder(spool / TAKEN)
    for path in _files(spool):
        path.rename(aside / f"{path.stem}-{secrets.token_hex(6)}.jsonl")
    sync_folder(aside)
    return sorted(_files(aside))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob("*.jsonl") if path.is_file() and not path.is_symlink())


def _told(path: Path) -> tuple[list[Ended], list[Line], int]:
    """Return what a file's lines tell, and how many tell nothing."""
    ended: list[Ended] = []
    exposed: list[Line] = []
    lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    for line in lines:
        match _understood(line):
            case Ended() as one:
                ended.append(one)
            case Line() as one:
                exposed.append(one)
    return ended, exposed, len(lines) - len(ended) - len(exposed)


def _understood(raw: bytes) -> Ended | Line | None:
    try:
        told = orjson.loads(raw)
        if told["v"] != 1:
            return None
        if told["kind"] == EXPOSED:
            return _exposure(told)
        if told["kind"] == ENDED:
            return Ended(*(_text(told[name]) for name in ("agent", "session", "transcript_path")))
    except (ValueError, KeyError, TypeError, AttributeError, ScopeMissing):
        return None
    return None


def _exposure(told: Mapping[str, Any]) -> Line | None:
    body: dict[str, Any] = {name: _text(told[name]) for name in _TEXTS}
    body |= {name: told[name] for name in _LISTS}
    line = new_line(
        EXPOSED, body, scope=Scope(*told["scope"]), actor=Actor.SYSTEM, at=instant(told["at"])
    )
    named = replace(line, id=digest_of("spool", _text(told["id"])))
    return named if is_readable(named) else None


def _journal(folder: Path, name: str, lines: list[Line], at: datetime) -> None:
    """Write lines as a segment of the journal; one that is there already was written before."""
    make_folder(folder)
    with locked(folder / ".lock", fcntl.LOCK_SH):
        if not lines or any(_places_of(folder, name)):
            return
        write_segment(folder, f"{iso(at)[:10]}-spool-{name}.jsonl", lines)


def _places_of(folder: Path, name: str) -> Iterator[Path]:
    yield from folder.glob(f"*-spool-{name}.jsonl")
    yield from (folder / "applied").glob(f"*-spool-{name}.jsonl")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
