"""The marks around our own text in files that others read, and how foreign text is made inert.

Invariant: what `defuse` returns holds no marker, fence, heading or tag that a reader of Markdown
could act on.
"""

from __future__ import annotations

import re
from typing import Final

SECTION_BEGIN: Final = "<!-- everest:begin -->"
SECTION_END: Final = "<!-- everest:end -->"
"""The lines around our section of a host's `MEMORY.md`."""

FILE_PREFIX: Final = "everest-"
"""How the name of every lesson file of ours begins; 16 hex of the lesson's id and `.md` follow."""

LESSON_FILE: Final = re.compile(r"everest-(?P<id>[0-9a-f]{16})\.md\Z")

FENCE_TAG: Final = "everest-memory"
FENCE_OPEN: Final = f"<{FENCE_TAG}>"
FENCE_CLOSE: Final = f"</{FENCE_TAG}>"
"""The fence around recalled text, wherever a model is shown it; readers leave it out again."""

MARKER: Final = "<!-- everest:"
"""How every marker comment of ours begins."""

GAP: Final = "\ufffc"
"""Stands in a span of the person's words where something pasted was cut out of it."""

HEADLESS: Final = "<!-- everest:headless -->"
"""Stands in the prompt of a session that we started ourselves: no person typed any of it."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
_TAG = re.compile(r"<(?=[A-Za-z/!?])([^<>\n]*)(>?)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_LEAD = re.compile(r"(?m)^(\s*)(#{1,6}(?=\s|$)|-{3,}|={3,}|>|[-*+](?=\s))")


def defuse(text: str) -> str:
    """Return `text` readable as before but inert as Markdown: no tag, fence, heading or link.

    Angle brackets of a tag become single guillemets, fences quotation marks; a leading heading,
    rule, bullet or quote mark is escaped; invisible characters go. Doing it twice changes nothing.
    """
    plain = _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    plain = _TAG.sub(lambda tag: f"‹{tag[1]}{'›' if tag[2] else ''}", plain)
    plain = _FENCE.sub(lambda fence: "'" * len(fence[0]), plain)
    return _LEAD.sub(r"\1\\\2", plain).replace("](", "] (")


def told_lesson(trust: str, kind: str, text: str, shown: str) -> str:
    """Return a lesson as one line of our fence puts it, behind its day.

    Only what came of a correction is quoted as the person's: of an error nobody said anything.

    Args:
        trust: how sure it is.
        kind: of the episodes that it came from.
        text: its words.
        shown: its id, as shown.
    """
    words = one_line(text)
    if kind == "correction":
        return f", {trust} lesson in the person's words: “{words}” [{shown}]"
    return f", {trust} lesson from what happened here: {words} [{shown}]"


def one_line(text: str) -> str:
    """Return `text` defused and on one line, runs of white space as one space."""
    visible = _INVISIBLE.sub("", text.replace("\r", "\n"))
    return defuse(" ".join(visible.split()))
