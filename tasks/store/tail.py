"""The journal beyond a view, followed as it grows: only new bytes are read.

Invariant: what it holds is what a reading from the offsets on would give; when a segment is
replaced or taken away, all of it is read again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.segments import found_at, segments
from tasks.store.journal import Line, read_segment
from tasks.store.overlay import LAID, Overlay, laid


@dataclass(frozen=True, slots=True)
class _Seen:
    """A segment as far as it was read: its file, its size then, the end of its last whole line."""

    device: int
    inode: int
    size: int
    end: int


class Tail:
    """What was appended since a view."""

    def __init__(self, folder: Path, offsets: Mapping[str, int]) -> None:
        self._folder, self._offsets = folder, offsets
        self._laid: Overlay | None = None
        self._begin()

    def overlay(self, key: bytes | None) -> Overlay:
        """Return what it holds as an overlay; `key` is the key of digests, always the same.

        Lines that lay nothing, as of every recall, cost nothing: the notes are not gone over again.
        """
        lines, bad = len(self._met), self._bad
        if self._laid is None:
            self._laid = laid(self._lines, key=key, lines=lines, bad=bad)
        return replace(self._laid, lines=lines, bad=bad)

    def grow(self) -> bool:
        """Read what is new; tell whether anything was.

        Raises:
            HomeUnreadable: when the folder or a segment cannot be read; begin anew then.
        """
        found = self._sizes()
        for name, seen in self._seen.items():
            now = found.get(name)
            if now is None or (now.st_dev, now.st_ino) != (seen.device, seen.inode):
                return self._again()
            if now.st_size < seen.size:
                return self._again()
        grown = [
            n for n, at in found.items() if n not in self._seen or at.st_size > self._seen[n].size
        ]
        for name in sorted(grown):
            self._read(name, found[name])
        return bool(grown)

    def _begin(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._met: set[str] = set()
        self._lines: list[Line] = []
        self._bad = 0
        self._laid = None

    def _again(self) -> bool:
        self._begin()
        for name, now in sorted(self._sizes().items()):
            self._read(name, now)
        return True

    def _sizes(self) -> dict[str, os.stat_result]:
        found = ((path.name, found_at(path)) for path in segments(self._folder))
        return {name: now for name, now in found if now is not None}

    def _read(self, name: str, now: os.stat_result) -> None:
        seen = self._seen.get(name)
        start = seen.end if seen else self._offsets.get(name, 0)
        read = read_segment(self._folder / name, start)
        for line in read.lines:
            if line.id not in self._met:
                self._met.add(line.id)
                if line.op in LAID:
                    self._lines.append(line)
                    self._laid = None
        self._bad += read.bad
        self._seen[name] = _Seen(now.st_dev, now.st_ino, read.end + read.cut, read.end)
