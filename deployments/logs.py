"""What the services of `everest up` wrote, in the order in which it was written, or as it is.

Invariant: it only reads. Lines hold no memory text: those who write them see to that.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Final

from tasks.prefect_home import PrefectHome
from tasks.settings import Places

_PAUSE: Final = 0.5
_CHUNK: Final = 1 << 20
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_SECONDS: Final = re.compile(r"1\d{9}", re.ASCII)


class Part(Enum):
    """Whose log is shown: `up` is what `everest up` itself told, `hooks` what failed in them."""

    UP = "up"
    SERVER = "server"
    SCHEDULES = "schedules"
    PROXY = "proxy"
    HOOKS = "hooks"


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """One line: when it was written, ISO 8601, or "" where that is not known; whose; its words."""

    at: str
    part: str
    text: str


def log_of(places: Places, part: Part) -> Path:
    """Return the file that a part writes to."""
    if part is Part.HOOKS:
        return places.home / "spool" / "failures"
    return PrefectHome(places.prefect).log(part.value)


def last(places: Places, parts: tuple[Part, ...], many: int) -> list[Line]:
    """Return the last lines of some parts, all in one order; what is not there has none."""
    return _merged([_Tail(log_of(places, part), part) for part in parts], many)


def follow(
    places: Places,
    parts: tuple[Part, ...],
    many: int,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[Line]:
    """Yield the last lines, and then every line that is written from now on."""
    tails = [_Tail(log_of(places, part), part) for part in parts]
    yield from _merged(tails, many)
    while True:
        fresh = sorted((line for tail in tails for line in tail.fresh()), key=lambda one: one.at)
        yield from fresh
        if not fresh:
            wait(_PAUSE)


def _merged(tails: list[_Tail], many: int) -> list[Line]:
    kept = [deque(tail.past(), maxlen=many) for tail in tails]
    return list(deque(heapq.merge(*kept, key=lambda line: line.at), maxlen=many))


@dataclass(slots=True)
class _Tail:
    """Where the reading of one log is: a file that took another's place is read from its start."""

    path: Path
    part: Part
    known: int = 0
    offset: int = 0
    cut: bytes = field(default=b"", repr=False)
    before: str = ""

    def past(self) -> Iterator[Line]:
        """Yield all that was written so far, the older part that is kept beside it first."""
        with contextlib.suppress(OSError):
            yield from self._taken(self.path.with_name(f"{self.path.name}.1").read_bytes())
        self.cut = b""
        while lines := self.fresh():
            yield from lines

    def fresh(self) -> list[Line]:
        """Return what was written since this was last asked."""
        try:
            with self.path.open("rb") as file:
                told = os.fstat(file.fileno())
                if told.st_ino != self.known or told.st_size < self.offset:
                    self.known, self.offset, self.cut = told.st_ino, 0, b""
                file.seek(self.offset)
                data = file.read(_CHUNK)
        except OSError:
            return []
        self.offset += len(data)
        return self._taken(data)

    def _taken(self, data: bytes) -> list[Line]:
        *whole, self.cut = (self.cut + data).split(b"\n")
        lines = list(_lines(whole, self.part, self.before))
        self.before = lines[-1].at if lines else self.before
        return lines


def _lines(raw: list[bytes], part: Part, before: str) -> Iterator[Line]:
    """Yield lines; one that says no time of its own has the one before it."""
    at = before
    for one in raw:
        text = one.decode("utf-8", "replace")
        said, _, rest = text.partition(" ")
        if (when := _time_in(said)) is not None:
            at, text = when, rest
        yield Line(at, part.value, text)


def _time_in(word: str) -> str | None:
    """Return the time that a line's first word is: our own, or seconds since the epoch."""
    if _STAMP.fullmatch(word):
        return word
    if _SECONDS.fullmatch(word):
        return f"{datetime.fromtimestamp(int(word), UTC):%Y-%m-%dT%H:%M:%SZ}"
    return None


__all__ = ["Line", "Part", "follow", "last", "log_of"]
