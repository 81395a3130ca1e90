"""Bytes of a transcript as records, one line at a time.

Invariant: lines end at byte 0x0A and nowhere else, and no line can make reading fail: it is
records, a record known by its first bytes to be no conversation, or bad.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

Record = dict[str, Any]

_TYPE: Final = b'"type":"'
_WITHIN: Final = 1024
_GLUE: Final = b'}{"'
_BLANK: Final = b" \t\r\n\x00"
_BOM: Final = b"\xef\xbb\xbf"
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
    whole = _GLUE not in line and line.rstrip(b"\r\n").endswith(b"}")
    return name.decode() if whole else None


def is_blank(line: bytes) -> bool:
    """Tell whether a line holds nothing but white space; NUL bytes are damage, not white space."""
    return not line.strip()


def records_of(line: bytes) -> list[Record] | None:
    """Return the records of a line, usually one; None when it is bad.

    A host that appends to a file whose last line had no newline glues two records together; both
    are returned.
    """
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return _patient(line.removeprefix(_BOM).strip(_BLANK))
    return [found] if isinstance(found, dict) else None


def record_at(path: Path, offset: int) -> list[Record]:
    """Return the records of the line that begins at a byte offset; none when it cannot be read."""
    try:
        with path.open("rb") as stream:
            stream.seek(offset)
            return records_of(stream.readline()) or []
    except OSError:
        return []


def _patient(line: bytes) -> list[Record] | None:
    """Parse what the strict parser refuses: control characters, lone surrogates, glued records."""
    text = line.decode("utf-8", "replace")
    decoder = json.JSONDecoder(strict=False)
    found: list[Record] = []
    at = 0
    try:
        while at < len(text):
            record, at = decoder.raw_decode(text, at)
            if not isinstance(record, dict):
                return None
            found.append(_encodable(record))
            at += len(text[at:]) - len(text[at:].lstrip())
    except (ValueError, RecursionError):
        return None
    return found or None


def _encodable(record: Record) -> Record:
    """Return the record with lone surrogates replaced, so that its text can be written again."""
    packed = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
    again: Record = json.loads(packed)
    return again
