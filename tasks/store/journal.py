"""The journal: what was said to us by anyone, appended at once and folded into the store later.

Invariants: a line is on the disk before it is acknowledged; a segment's offsets never move while it
can be read; appending never waits for a night.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

import orjson

from tasks.domain.clock import instant, iso
from tasks.domain.proposals import Actor
from tasks.domain.redaction import redact
from tasks.domain.scope import Scope
from tasks.durable import (
    after_a_cut,
    append_line,
    locked,
    make_folder,
    swap_file,
    sync_folder,
)
from tasks.errors import ScopeMissing
from tasks.segments import is_there, opened, segments
from tasks.waypoints import passing

VERSION: Final = 1
OPS: Final = {
    "remember": ("text",),
    "touch": ("units",),
    "decide": ("verb", "unit", "unit_id"),
    "expose": ("channel",),
    "edit_file": ("lesson_id", "text"),
    "event": ("event", "project"),
}
"""Every op with the fields that a line of it must have; what lacks them is no journal line."""
DECIDERS: Final = (Actor.PERSON, Actor.FILE)
"""Who may reject and forget: the person, also by deleting a file. Anyone else only asks."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing said: `op` names what, `body` holds its fields, the rest who, when and where."""

    id: str
    op: str
    at: str
    actor: Actor
    scope: Scope
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """What a reading of one segment gave.

    Attributes:
        end: offset after the last complete line.
        bad: lines in it that are no journal line; they are passed over and counted.
        cut: bytes of a last line without a newline.
    """

    segment: str
    lines: tuple[Line, ...]
    end: int
    bad: int
    cut: int


class Append(Protocol):
    """How a process appends: to the shared segment, or to one of its own."""

    def __call__(
        self, op: str, body: Mapping[str, Any], *, scope: Scope, actor: Actor, at: datetime
    ) -> Line:
        """Append one line; return it once durable."""
        ...


def append(  # noqa: PLR0913  a line says what, whose, by whom and when
    folder: Path, op: str, body: Mapping[str, Any], *, scope: Scope, actor: Actor, at: datetime
) -> Line:
    """Append one line to the shared segment of short-lived processes; return it once durable.

    Every string in `body` is redacted first.

    Raises:
        HomeUnreadable, WriteFailed: when the disk refuses; nothing is acknowledged then.
    """
    line = new_line(op, body, scope=scope, actor=actor, at=at)
    make_folder(folder)
    with locked(folder / ".lock", fcntl.LOCK_SH):
        passing("journal.locked")
        segment = folder / _shared_segment(folder, at)
        is_new = not segment.exists()
        append_line(segment, after_a_cut(segment) + encoded(line))
        passing("journal.appended")
        if is_new:
            sync_folder(folder)
    passing("journal.acknowledged", op)
    return line


def new_line(op: str, body: Mapping[str, Any], *, scope: Scope, actor: Actor, at: datetime) -> Line:
    """Return a line with an id of its own; every string in `body` is redacted."""
    name = f"{iso(at)}-{secrets.token_hex(6)}"
    return Line(name, op, iso(at), actor, scope, _redacted(body))


def write_segment(folder: Path, name: str, lines: Iterable[Line]) -> None:
    """Write a whole segment of lines that were acknowledged elsewhere, durably.

    Raises:
        WriteFailed: when the disk refuses.
    """
    swap_file(folder / name, b"".join(encoded(line) for line in lines))


def is_decision(line: Line) -> bool:
    """Tell whether a line is a person's word that something goes, which must hold for good."""
    verbs = ("reject", "forget", "veto")
    return line.op == "decide" and line.body["verb"] in verbs and line.actor in DECIDERS


def read_segment(path: Path, start: int) -> Read:
    """Return the lines of a segment from a byte offset on; an absent segment has none.

    Raises:
        HomeUnreadable: when it cannot be read, or is no plain file.
    """
    try:
        with opened(path) as file:
            file.seek(start)
            data = file.read()
    except FileNotFoundError:
        return Read(path.name, (), start, 0, 0)
    whole, _, rest = data.rpartition(b"\n")
    parsed = [_decode(line) for line in whole.split(b"\n") if line.strip()] if whole else []
    lines = tuple(line for line in parsed if line is not None)
    end = start + (len(whole) + 1 if whole or data.startswith(b"\n") else 0)
    return Read(path.name, lines, end, len(parsed) - len(lines), len(rest))


def unfolded(folder: Path, offsets: Mapping[str, int]) -> Iterator[Read]:
    """Yield what each segment holds beyond `offsets`, each line once, oldest segment first.

    Raises:
        HomeUnreadable: when the folder or a segment cannot be read.
    """
    met: set[str] = set()
    for path in segments(folder):
        read = read_segment(path, offsets.get(path.name, 0))
        if read.lines or read.bad or read.cut:
            yield replace(read, lines=tuple(_not_met(read.lines, met)))


def _not_met(lines: Iterable[Line], met: set[str]) -> Iterator[Line]:
    """Yield each line once, however often an appender that was not answered repeated it."""
    for line in lines:
        if line.id not in met:
            met.add(line.id)
            yield line


def retire(folder: Path, covered: Mapping[str, int], *, today: str) -> list[str]:
    """Move the segments that every kept view covers to `applied/`; return their names.

    A segment of today or later stays, since a short-lived process may still append to it; so does
    one that a living process holds.

    Args:
        folder: the journal.
        covered: segment -> bytes that both kept views hold.
        today: the present UTC date, `YYYY-MM-DD`.
    """
    moved = []
    with locked(folder / ".lock", fcntl.LOCK_EX):
        for path in segments(folder):
            done = covered.get(path.name, 0) == path.stat().st_size
            if done and path.name[:10] < today and not _held(path):
                path.rename(make_folder(folder / "applied") / path.name)
                moved.append(path.name)
                passing("journal.retired")
    return moved


def _shared_segment(folder: Path, at: datetime) -> str:
    day = iso(at)[:10]
    name, number = f"{day}-cli.jsonl", 1
    while is_there(folder / "applied" / name):
        number += 1
        name = f"{day}-cli-{number}.jsonl"
    return name


def _held(path: Path) -> bool:
    """Tell whether the long-lived process that owns a segment still lives: it keeps an flock."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe blocks
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold back every appender, for as long as the journal must be one thing."""
    with locked(folder / ".lock", fcntl.LOCK_EX):
        yield


def encoded(line: Line) -> bytes:
    """Return a line as it stands in a segment."""
    record = {
        "v": VERSION,
        "id": line.id,
        "op": line.op,
        "at": line.at,
        "actor": line.actor.value,
        "scope": list(line.scope.keys()),
        **line.body,
    }
    return orjson.dumps(record) + b"\n"


def is_readable(line: Line) -> bool:
    """Tell whether a line, once it is written, will be understood by whoever reads the journal."""
    return _decode(encoded(line)) is not None


def _decode(raw: bytes) -> Line | None:
    try:
        record = orjson.loads(raw)
        taken = {name: record.pop(name) for name in ("v", "id", "op", "at", "actor", "scope")}
        if taken["v"] != VERSION or not _is_body(record, OPS[taken["op"]]):
            return None
        at = iso(instant(taken["at"]))
        actor, scope = Actor(taken["actor"]), Scope(*taken["scope"])
        return Line(str(taken["id"]), taken["op"], at, actor, scope, record)
    except (ValueError, KeyError, TypeError, AttributeError, ScopeMissing):
        return None


def _is_body(body: Mapping[str, Any], needed: tuple[str, ...]) -> bool:
    """Tell whether the needed fields are there and every field that readers open has its shape."""
    return all(name in body for name in needed) and all(
        _SHAPES.get(name, _is_anything)(value) for name, value in body.items()
    )


def _is_anything(_: object) -> bool:
    return True


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_pairs(value: object) -> bool:
    return isinstance(value, list) and all(_is_texts(pair) and len(pair) == 2 for pair in value)


def _is_event(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in _EVENT)


def _is_project(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(name), str) for name in ("project_id", "name", "path")
    )


_EVENT: Final = ("kind", "text", "role", "project", "agent", "model", "session", "at", "id")
_TEXTS: Final = [
    "text",
    "verb",
    "unit",
    "unit_id",
    "channel",
    "lesson_id",
    "reason",
    "name",
    "path",
    "old_name",
    "agent",
    "session",
]
_SHAPES: Final[dict[str, Callable[[object], bool]]] = {
    **dict.fromkeys(_TEXTS, _is_text),
    **dict.fromkeys(("sources", "shown", "held_out"), _is_texts),
    **dict.fromkeys(("units", "digests"), _is_pairs),
    "project": _is_project,
    "event": _is_event,
}


def _redacted(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _clean(item) for name, item in value.items()}


def _clean(value: Any) -> Any:
    match value:
        case str():
            return redact(value.encode(errors="replace").decode())  # a lone surrogate has no bytes
        case list() | tuple():
            return [_clean(item) for item in value]
        case dict():
            return _redacted(value)
        case _:
            return value
