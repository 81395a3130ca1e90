"""A copy of an answer as it came over the wire, read afterwards: its JSON objects, as far as any.

Pure. Whatever an answer was cut off at, the objects that came whole before it are returned.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, Final

import orjson

_ANY_ZLIB: Final = 47
"""Window bits by which zlib takes gzip's and its own head alike."""
_RAW_DEFLATE: Final = -15
_EVENT: Final = re.compile(rb"\r?\n\r?\n|\r\r")
_LINE: Final = re.compile(rb"\r?\n|\r")


def undone(data: bytes, coding: bytes) -> bytes:
    """Return an answer's bytes out of their content coding, as many as can be had."""
    coding = coding.strip().lower()
    if coding in (b"", b"identity"):
        return data
    if coding not in (b"gzip", b"x-gzip", b"deflate"):
        return b""
    for bits in (_ANY_ZLIB, _RAW_DEFLATE):
        try:
            return zlib.decompressobj(bits).decompress(data)
        except zlib.error:
            continue
    return b""


def objects(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of an answer: one, or those of a stream of events, lines or an array."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    start = data.lstrip(b" \t\r\n")[:1]
    if start == b"[":
        yield from _of_array(data)
    elif start == b"{":
        yield from _of_lines(data)
    else:
        for event in _EVENT.split(data):
            yield from _parsed(b"\n".join(_data(event)))


def _data(event: bytes) -> Iterator[bytes]:
    for line in _LINE.split(event):
        if line.startswith(b"data:"):
            yield line[5:].removeprefix(b" ")


def _of_lines(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the object that it all is, else one a line."""
    whole = list(_parsed(data))
    if whole:
        yield from whole
        return
    for line in data.split(b"\n"):
        yield from _parsed(line)


def _of_array(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of an array, which may have been cut off."""
    text = data.decode(errors="replace")
    decoder, at = json.JSONDecoder(), text.find("[") + 1
    while (at := _next(text, at)) < len(text) and text[at] == "{":
        try:
            found, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield found


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _parsed(data: bytes) -> Iterator[dict[str, Any]]:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    if isinstance(found, dict):
        yield found
