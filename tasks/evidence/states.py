"""Tell whether a file is as it was left, has grown, or was written anew.

Only sizes, times and two digests are kept. A touched file is known unchanged by its digests; an
edit in the middle that keeps length, first and last 4 KB is the one change this does not see.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final

from tasks.evidence.lines import is_compressed

_SPAN: Final = 4096


class FileChange(StrEnum):
    """What became of a file since its state was taken."""

    UNCHANGED = "unchanged"
    APPENDED = "appended"
    REWRITTEN = "rewritten"


@dataclass(frozen=True, slots=True)
class FileState:
    """How a file was when it was read up to `offset` bytes, `line` newlines in.

    Attributes:
        head: digest of the first bytes before `offset`, 4096 at most; `tail`: of the last.
    """

    size: int
    mtime_ns: int
    inode: int
    offset: int
    line: int
    head: str
    tail: str

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain JSON data; `from_json` is its inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FileState:
        """Return the state that `to_json` wrote."""
        return cls(**data)


def state_of(path: Path, offset: int, line: int) -> FileState:
    """Return the state of a file that was read up to `offset`.

    A file that became shorter than that while it was read gets a size no file has, so that the
    next reading takes it for rewritten.

    Raises:
        OSError: when the file cannot be read.
    """
    with path.open("rb") as stream:
        found = os.fstat(stream.fileno())
        head, tail = _ends(stream, offset)
    size = found.st_size if found.st_size >= offset else -1
    return FileState(size, found.st_mtime_ns, found.st_ino, offset, line, head, tail)


def how_changed(path: Path, state: FileState) -> FileChange:
    """Return what became of a file since `state` was taken; a compressed one never just grows.

    Raises:
        OSError: when the file cannot be read.
    """
    found = path.stat()
    before = (state.size, state.mtime_ns, state.inode)
    if (found.st_size, found.st_mtime_ns, found.st_ino) == before:
        return FileChange.UNCHANGED
    if found.st_size < state.offset:
        return FileChange.REWRITTEN
    with path.open("rb") as stream:
        if _ends(stream, state.offset) != (state.head, state.tail):
            return FileChange.REWRITTEN
    if found.st_size == state.size:
        return FileChange.UNCHANGED
    return FileChange.REWRITTEN if is_compressed(path) else FileChange.APPENDED


def _ends(stream: BinaryIO, offset: int) -> tuple[str, str]:
    span = min(offset, _SPAN)
    stream.seek(0)
    head = stream.read(span)
    stream.seek(offset - span)
    return _digest(head), _digest(stream.read(span))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
