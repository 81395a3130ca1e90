"""Secrets taken out of text before its bytes are written anywhere.

Every appender calls `redact`. It is idempotent and never raises. A text with none of the literals
that secrets come with costs a few scans at memory speed; a pattern is tried only where a literal
stands. E-mail addresses and names are kept: they are what lessons are about, and no credentials.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tasks.domain.secret_names import assigned
from tasks.domain.secret_shapes import shaped

REDACTION_VERSION: Final = 1

_MARK: Final = b"[redacted:"
_WHOLE_MARK: Final = re.compile(rb"\[redacted:[a-z-]+\]")
_LEAST: Final = 8
"""Characters below which no text holds a secret together with what gives it away."""
_LOWER: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", b"abcdefghijklmnopqrstuvwxyz000000000"
)
"""Lower-cases ASCII and makes every digit a 0: one literal finds any case and any number."""


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
    while found := _united(_found(raw)):
        raw = _replaced(raw, found)
    return raw.decode("utf-8", "surrogatepass")


def _found(raw: bytes) -> list[Found]:
    """Return the secrets in `raw`, those of a shape of their own first; a mark is none."""
    low = raw.translate(_LOWER)
    found = [Found(*span) for finder in (shaped, assigned) for span in finder(raw, low)]
    if not found or _MARK not in raw:
        return found
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
