"""Puts texts into a JSON body without writing it anew: bytes go in, every other byte stays.

Invariant: a body with the pieces that were put in taken out again is the body as it came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import orjson


@dataclass(frozen=True, slots=True)
class Form:
    """How a text is put behind a value of JSON.

    Attributes:
        before: goes in front of the value.
        head: goes in front of the text, which is written as the inside of a JSON string.
        tail: goes behind the text.
        back: bytes at the value's end that stay behind the text: its quote or its bracket.
    """

    before: bytes
    head: bytes
    tail: bytes
    back: int


IN_STRING: Final = Form(b"", b"\\n\\n", b"", 1)
"""Two line feeds and the text, at the end of a string."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place behind a value, which is a slice of the body it was decoded from."""

    value: msgspec.Raw
    form: Form


NOWHERE: Final = Spot(msgspec.Raw(), IN_STRING)
"""In place of a spot that is needed no longer: a slice keeps the whole of its body."""


class NotOfThisBody(ValueError):
    """A value is no slice of the body that a text was to be put into."""


def in_list(head: bytes, tail: bytes) -> Form:
    """Return the form of a further element of a list that has some; the text stands between."""
    return Form(b"", b"," + head, tail, 1)


def as_list(head: bytes, tail: bytes) -> Form:
    """Return the form of a string that becomes the first of two elements alike."""
    return Form(b"[" + head[:-1], tail[1:] + b"," + head, tail + b"]", 0)


def spliced(body: bytes, additions: Iterable[tuple[Spot, str]]) -> bytes:
    """Return a body with each text put in at its spot, in the body's order.

    Raises:
        NotOfThisBody: when a spot was found in another body.
    """
    parts, done = [], 0
    for spot, text in additions:
        start = _offset(body, spot.value)
        end = start + len(memoryview(spot.value)) - spot.form.back
        if start < done:
            raise NotOfThisBody
        inside = orjson.dumps(text)[1:-1]
        parts += [body[done:start], spot.form.before, body[start:end]]
        parts += [spot.form.head, inside, spot.form.tail]
        done = end
    return b"".join([*parts, body[done:]])


def _offset(body: bytes, value: msgspec.Raw) -> int:
    """Return where a slice lies: by its address, since its bytes may stand elsewhere too."""
    start = _address(value) - _address(body)
    if start < 0 or body[start : start + len(memoryview(value))] != bytes(value):
        raise NotOfThisBody
    return start


def _address(data: bytes | msgspec.Raw) -> int:
    return int(np.frombuffer(data, np.uint8).ctypes.data)
