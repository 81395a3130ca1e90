"""Bytes of a transcript, one line at a time.

Invariant: lines end at byte 0x0A and nowhere else, and no file or line can make reading wait or
fill the memory.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

UNREADABLE: Final = (OSError, EOFError, zlib.error)
"""What reading a transcript may raise: the disk's errors, and those of a damaged compressed one."""

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of the longest line that is read; a longer one is passed over, however long it is."""

_AT_ONCE: Final = 256 * 1024
"""Bytes read at once: with the usual 8 KB reading took a third of all parsing."""


def is_compressed(path: Path) -> bool:
    """Tell by its name whether a transcript is compressed with gzip."""
    return path.suffix == ".gz"


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line of more than `LONGEST` bytes, of which only the length is kept."""

    length: int


def open_transcript(path: Path) -> BinaryIO | gzip.GzipFile:
    """Open a transcript for reading bytes, unpacking it where it is compressed.

    Never waits for a writer: a pipe is an error, and a file of no size (some under /proc block when
    they are read) is empty.

    Raises:
        OSError: when there is no file to read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        size = _size_of(descriptor)
        stream = os.fdopen(descriptor, "rb", _AT_ONCE)
    except OSError:
        os.close(descriptor)
        raise
    if not size:
        stream.close()
        return io.BytesIO()
    return _Unpacked(stream) if is_compressed(path) else stream


def _size_of(descriptor: int) -> int:
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a file")
    return found.st_size


class _Unpacked(gzip.GzipFile):
    """A compressed transcript that closes the file below it."""

    def __init__(self, below: BinaryIO) -> None:
        super().__init__(fileobj=below, mode="rb")
        self._below = below

    def close(self) -> None:
        super().close()
        self._below.close()


def lines_of(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes | TooLong]:
    """Yield the lines of a stream with their ends; a last one without may be a part of a line.

    A line that is too long and has no end yet is not yielded.
    """
    while line := stream.readline(LONGEST):
        if len(line) < LONGEST or line.endswith(b"\n"):
            yield line
            continue
        length = len(line)
        while line and not line.endswith(b"\n"):
            line = stream.readline(LONGEST)
            length += len(line)
        if line:
            yield TooLong(length)
