"""Which texts must wait for a person before any agent is shown them.

Invariant: reading is by shape alone and errs towards holding back; a prohibition of a dangerous
thing is held like the thing, unless the text is nothing but a plain prohibition of plain harm.
`neutralised` leaves nothing that a reader of ours takes for markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from tasks.cues import Cue, compiled, cues, table
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
        _reason(row, lowered[: place.start()])
        for cue, row in zip(cues(__package__, "unsafe", "held"), reasons, strict=True)
        if (place := cue.find(lowered)) and not (row.get("harm") and _only_forbids(cue, lowered))
    )
    return next(found, None)


def _reason(row: Mapping[str, str], before: str) -> str:
    """Return why a text is held, by whether a negation stands before what was found in it."""
    if "forbidden" in row and _compiled("negation").search(before):
        return row["forbidden"]
    return row["reason"]


def _only_forbids(cue: Cue, lowered: str) -> bool:
    """Tell whether a text is the plain prohibition of one harm, and nothing else."""
    once = len(cue.pattern.findall(lowered)) == 1
    return once and bool(_compiled("whole").fullmatch(lowered))


@cache
def _compiled(part: str) -> re.Pattern[str]:
    forms = table(__package__, "unsafe")["prohibition"]
    return compiled(forms[part].replace("HARM", forms["harm"]))


def neutralised(text: str) -> str:
    """Return a text on one line, without fences, comment marks and invisible characters."""
    return _plain(text, " ")


def gapped(text: str) -> str:
    """Return a text like `neutralised`, with GAP where comment marks were taken out."""
    return _plain(text, f" {GAP} ")


def _plain(text: str, gap: str) -> str:
    visible = _INVISIBLE.sub("", text)
    return _BLANKS.sub(" ", _COMMENTS.sub(gap, _FENCES.sub("'", visible))).strip()
