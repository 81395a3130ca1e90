"""Which texts must wait for a person before any agent is shown them.

Invariant: reading is by shape alone and errs towards holding back; a prohibition of a dangerous
thing is held like the thing. `neutralised` leaves nothing that a reader of ours takes for markup.
"""

from __future__ import annotations

import re
from typing import Final

from tasks.cues import cues, table
from tasks.domain.markers import GAP

_FENCES: Final = re.compile(r"`{3,}|~{3,}")
_COMMENTS: Final = re.compile(r"<!-*|-*->")
_BLANKS: Final = re.compile(r"\s+")
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def unsafe(text: str) -> str | None:
    """Return why a text must wait for a person, None when nothing speaks against it."""
    lowered = _INVISIBLE.sub("", text).lower()
    reasons = table(__package__, "unsafe")["held"]
    found = (
        row["reason"]
        for cue, row in zip(cues(__package__, "unsafe", "held"), reasons, strict=True)
        if cue.find(lowered)
    )
    return next(found, None)


def neutralised(text: str) -> str:
    """Return a text on one line, without fences, comment marks and invisible characters."""
    return _plain(text, " ")


def gapped(text: str) -> str:
    """Return a text like `neutralised`, with GAP where comment marks were taken out."""
    return _plain(text, f" {GAP} ")


def _plain(text: str, gap: str) -> str:
    visible = _INVISIBLE.sub("", text)
    return _BLANKS.sub(" ", _COMMENTS.sub(gap, _FENCES.sub("'", visible))).strip()
