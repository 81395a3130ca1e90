"""The canonical form of a text, so that a refused value is known again in other clothes.

Canon is versioned: a digest made once stands for ever, so a candidate is hashed under every
version still kept, and a version's result for a text never changes. Tables are written out here
rather than read from the interpreter, whose Unicode version moves.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

CANON_VERSION: Final = 1

_INVISIBLE: Final = re.compile(
    "["
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # controls that are no white space
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]+"
)
_TRAILING: Final = ".!?;,: "


def canon(text: str, version: int = CANON_VERSION) -> str:
    """Return the canonical form of `text`; "" when nothing of it is left, which callers keep out.

    Raises:
        KeyError: when no such version is kept.
    """
    return VERSIONS[version](text)


def digests(key: bytes, text: str) -> tuple[tuple[str, str], ...]:
    """Return (version, HMAC-SHA256 hex) of the text's canon under every kept version, oldest first.

    A text whose canon is empty has no digest: it would match nothing or everything.
    """
    found = ((version, canon(text, version)) for version in sorted(VERSIONS))
    return tuple((str(version), _keyed(key, version, form)) for version, form in found if form)


def _keyed(key: bytes, version: int, form: str) -> str:
    message = f"{version}\x1f{form}".encode("utf-8", "surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def _first(text: str) -> str:
    """Return version 1: NFKC, nothing invisible, casefold, single spaces, no trailing marks."""
    before, form = None, text
    while form != before:
        before, form = form, _first_once(form)
    return form


def _first_once(text: str) -> str:
    folded = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return " ".join(folded.split()).rstrip(_TRAILING)


VERSIONS: Final[Mapping[int, Callable[[str], str]]] = {1: _first}
"""Every version still kept. A version is added, never changed and never removed."""
