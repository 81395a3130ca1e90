"""What each conversation was shown and where: so that it is told once, and sent again as it was.

One small file a conversation, a line a decision, appended to. It holds words of the memory and can
be deleted at any time: then a conversation may be told a thing twice. Invariant: what was put
behind a turn never changes, or the provider's prompt cache would be lost.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Final

import orjson

from tasks.domain.clock import instant, iso
from tasks.domain.ids import digest_of
from tasks.durable import after_a_cut, append_line, make_folder

_IN_MEMORY: Final = 2_000
_ON_DISK: Final = 5_000
_SWEPT_EVERY: Final = 500
_NAME: Final = 32


@dataclass(frozen=True, slots=True)
class Put:
    """What was decided at one turn.

    Attributes:
        turn: its key; "" when it never comes back.
        text: what was put behind it, "" for nothing.
        lessons: ids of lessons in the text.
        settled: ids of lessons shown or held out at this turn: neither is due again.
        events: ids of events of the relay in the text.
    """

    turn: str
    text: str
    lessons: tuple[str, ...]
    settled: tuple[str, ...]
    events: tuple[str, ...]
    model: str
    at: datetime

    def record(self) -> dict[str, Any]:
        """Return it as the JSON object of its line."""
        return {
            "v": 1,
            "turn": self.turn,
            "text": self.text,
            "lessons": self.lessons,
            "settled": self.settled,
            "events": self.events,
            "model": self.model,
            "at": iso(self.at),
        }


@dataclass(slots=True)
class Told:
    """One conversation: what was decided at each of its turns, and all that it was told.

    Attributes:
        begins: it has begun, and what is told at a beginning was not told in time.
        kept: it lies on the disk too; when it was removed from there it is gone from here as well.
        end: how much of its file was read, in bytes; others may append to that.
    """

    begins: bool = False
    kept: bool = False
    end: int = 0
    puts: dict[str, Put] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    events: set[str] = field(default_factory=set)

    def take(self, put: Put) -> None:
        """Add a decision."""
        if put.turn:
            self.puts[put.turn] = put
        self.settled.update(put.settled)
        self.events.update(put.events)


class Shown:
    """The conversations of a home, as far back as they are kept; safe between threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._alone = Lock()
        self._kept: OrderedDict[Path, Told] = OrderedDict()
        self._written = 0

    def told(self, project_id: str, conversation: str) -> Told:
        """Return what a conversation was told; it grows by `take`, and is kept by `write`."""
        path = self._path(project_id, conversation)
        with self._alone:
            found, size = self._kept.get(path), _size(path)
            if found is None or (found.kept and size < found.end):
                found = self._kept[path] = Told()
            if size > found.end:
                _read_on(path, found)
            self._kept.move_to_end(path)
            if len(self._kept) > _IN_MEMORY:
                self._kept.popitem(last=False)
            return found

    def begin_again(self, project_id: str, conversation: str) -> Told:
        """Forget what a conversation was told that began in the same words; return the new one."""
        path = self._path(project_id, conversation)
        with self._alone:
            path.unlink(missing_ok=True)
            found = self._kept[path] = Told()
            return found

    def write(self, project_id: str, conversation: str, put: Put) -> None:
        """Keep a decision beyond this process.

        Raises:
            WriteFailed: when the disk refuses.
        """
        path = self._path(project_id, conversation)
        make_folder(self._folder)
        append_line(path, after_a_cut(path) + orjson.dumps(put.record()) + b"\n")
        with self._alone:
            if path in self._kept:
                self._kept[path].kept = True
        if self._written % _SWEPT_EVERY == 0:
            _sweep(self._folder)
        self._written += 1

    def _path(self, project_id: str, conversation: str) -> Path:
        return self._folder / f"{digest_of('shown', project_id, conversation)[:_NAME]}.jsonl"


def clear(folder: Path) -> None:
    """Remove all of it from the disk: words that are to be forgotten may stand there."""
    _remove(folder.glob("*.jsonl"))


def _size(path: Path) -> int:
    """Return a file's length in bytes, -1 when it is not there."""
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return -1


def _read_on(path: Path, told: Told) -> None:
    """Take what a conversation's file gained, of this process or another; whole lines alone."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(told.end)
        whole, end, _ = file.read().rpartition(b"\n")
        told.end += len(whole) + len(end)
        told.kept = True
        for line in whole.split(b"\n"):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                told.take(_put(orjson.loads(line)))


def _put(record: dict[str, Any]) -> Put:
    return Put(
        str(record["turn"]),
        str(record["text"]),
        tuple(record["lessons"]),
        tuple(record["settled"]),
        tuple(record["events"]),
        str(record["model"]),
        instant(record["at"]),
    )


def _sweep(folder: Path) -> None:
    """Remove the files of the conversations that went on longest ago."""
    found = sorted(folder.glob("*.jsonl"), key=_written_at, reverse=True)
    _remove(found[_ON_DISK:])


def _written_at(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
