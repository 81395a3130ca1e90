"""Secrets taken out of text before its bytes are written anywhere.

Every appender calls `redact`. It is idempotent and never raises. A text with none of the literals
that secrets come with costs a few scans at memory speed; a pattern is tried only where a literal
stands. E-mail addresses and names are kept: they are what lessons are about, and no credentials.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tasks.domain.secret_names import NAMED
from tasks.domain.secret_shapes import SHAPES, tokens

REDACTION_VERSION: Final = 1

_MARK: Final = b"[redacted:"
_WHOLE_MARK: Final = re.compile(rb"\[redacted:[a-z-]+\]")
_LEAST: Final = 8
"""Characters below which no text holds a secret together with what gives it away."""
_LOWER: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", b"abcdefghijklmnopqrstuvwxyz000000000"
)
"""Lower-cases ASCII and makes every digit a 0: one literal finds any case and any number."""
_FINDERS: Final = (*SHAPES, *NAMED)


class Found(NamedTuple):
    """A secret's bytes, from `start` up to `end`, and what kind it is."""

    start: int
    end: int
    kind: str


def redact(text: str) -> str:
    """Return `text` with every secret of a known shape replaced by `[redacted:<kind>]`."""
    if len(text) < _LEAST:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    # until nothing is found: so it is idempotent by construction, and marks are never found
    while found := _united(_found(raw)):
        raw = _replaced(raw, found)
    return raw.decode("utf-8", "surrogatepass")


def _found(raw: bytes) -> list[Found]:
    """Return the secrets in `raw`, those of a shape of their own first; a mark is none."""
    found = [Found(*span) for span in tokens(raw)]
    low = raw.translate(_LOWER)
    for literal, finder in [each for each in _FINDERS if each[0] in low]:
        at = low.find(literal)
        while at >= 0:
            found += [Found(*span) for span in finder(raw, low, at)]
            at = low.find(literal, at + 1)
    return _unmarked(raw, found) if found and _MARK in raw else found


def _unmarked(raw: bytes, found: list[Found]) -> list[Found]:
    marks = [m.span() for m in _WHOLE_MARK.finditer(raw)]
    return [f for f in found if not any(f.start < end and start < f.end for start, end in marks)]


def _united(found: list[Found]) -> list[Found]:
    """Return the finds in order, overlapping ones as one under the name of the first."""
    united: list[Found] = []
    for one in sorted(found, key=lambda each: each.start):
        if united and one.start < united[-1].end:
            united[-1] = united[-1]._replace(end=max(one.end, united[-1].end))
        else:
            united.append(one)
    return united


def _replaced(raw: bytes, found: list[Found]) -> bytes:
    parts, at = [], 0
    for start, end, kind in found:
        parts += [raw[at:start], _MARK, kind.encode(), b"]"]
        at = end
    return b"".join((*parts, raw[at:]))
