"""Bytes of a transcript as records, one line at a time.

Invariant: lines end at byte 0x0A and nowhere else, and no line can make reading fail: it is
records, a record known by its first bytes to be no conversation, or bad.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

Record = dict[str, Any]

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


def open_transcript(path: Path) -> BinaryIO | gzip.GzipFile:
    """Open a transcript for reading bytes, unpacking it where it is compressed."""
    if is_compressed(path):
        return gzip.open(path, "rb")
    return path.open("rb")


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
            return _record_of(stream.readline())[0] or {}
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
