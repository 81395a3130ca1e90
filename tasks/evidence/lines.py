"""Bytes of a transcript as records, one line at a time.

Invariant: lines end at byte 0x0A and nowhere else, and no line can make reading fail or fill the
memory: it is records, a record known by its first bytes to be no conversation, too long, or bad.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

Record = dict[str, Any]

UNREADABLE: Final = (OSError, EOFError, zlib.error)
"""What reading a transcript may raise: the disk's errors, and those of a damaged compressed one."""

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of the longest line that is read; a longer one is passed over, however long it is."""

_TYPE: Final = b'"type":"'
_WITHIN: Final = 1024
_GLUE: Final = b'}{"'
_BLANK: Final = " \t\r\n\x00"
_BOM: Final = "\ufeff"
_MOST_GLUED: Final = 64
_NEVER_CONVERSATION: Final = frozenset(
    {
        b"progress",
        b"file-history-snapshot",
        b"file-history-delta",
        b"last-prompt",
        b"permission-mode",
        b"mode",
    }
)


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
        stream = os.fdopen(descriptor, "rb")
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


def aside_type(line: bytes) -> str | None:
    """Return the type of a line that is certainly no conversation, without parsing it; else None.

    The first `"type":"` of a line stands at the top level if no brace opens before it: inside a
    string its quotation marks would be escaped. A line with two records glued together is left to
    the parser, and so is one that does not end where a record ends.
    """
    at = line.find(_TYPE, 0, _WITHIN)
    if at < 0:
        return None
    begin = at + len(_TYPE)
    name = line[begin : line.find(b'"', begin, begin + 64)]
    if name not in _NEVER_CONVERSATION or line.rfind(b"{", 0, at) != 0:
        return None
    whole = _GLUE not in line and line.endswith((b"}\n", b"}\r\n"))
    return name.decode() if whole else None


def parsed(line: bytes) -> Record | None:
    """Return the record that a line is, where it is just that: the usual case, told fast."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def records_of(line: bytes) -> Iterator[tuple[int, Record | None]]:
    """Yield each record of a line and the byte at which it begins; None once for what is none.

    One line holds one record, but a host that appends to a file whose last line had no newline
    glues two together. A blank line holds none.
    """
    if not line.strip():  # NUL bytes are damage, not white space
        return
    at = 0
    for _ in range(_MOST_GLUED):
        record, end = _record_of(line[at:])
        yield at, record
        at += end
        if record is None or at >= len(line):
            return
    yield at, None


def whole_part(line: bytes) -> bytes:
    """Return the whole records that an unfinished line begins with: no part of one is one."""
    for at, record in records_of(line):
        if record is None:
            return line[:at]
    return line


def record_at(path: Path, offset: int) -> Record:
    """Return the record that begins at a byte offset; an empty one when it cannot be read."""
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            return _record_of(stream.readline(LONGEST))[0] or {}
    except OSError:
        return {}


def _record_of(line: bytes) -> tuple[Record | None, int]:
    """Return the record that a line begins with, and how many bytes it and blanks after it take."""
    record = parsed(line)
    return (record, len(line)) if record is not None else _patient(line)


def _patient(line: bytes) -> tuple[Record | None, int]:
    """Parse what the strict parser refuses: control characters, lone surrogates, glued records."""
    text = line.decode("utf-8", "surrogateescape")
    begin = _after_blanks(text, 1 if text.startswith(_BOM) else 0)
    try:
        record, end = json.JSONDecoder(strict=False).raw_decode(text, begin)
        if not isinstance(record, dict):
            return None, 0
        again = _encodable(record)
    except (ValueError, RecursionError):
        return None, 0
    return again, len(text[: _after_blanks(text, end)].encode("utf-8", "surrogateescape"))


def _after_blanks(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip(_BLANK))


def _encodable(record: Record) -> Record:
    """Return the record with lone surrogates replaced, so that its text can be written again."""
    packed = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
    again: Record = json.loads(packed)
    return again
