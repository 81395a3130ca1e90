"""What of a message the person typed, and its clauses.

Invariant: every line and clause returned stands verbatim in the message. What was pasted (fenced
code, quoted lines, markup, logs, traces, tables, others' findings) is left out: it is full of
the language of correction without being one.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tasks.domain.markers import GAP
from tasks.evidence.detectors.cues import table

_HEAD: Final = 6000  # what lies between head and tail of a longer message was pasted
_TAIL: Final = 2000
_LONG_PARAGRAPH: Final = 280
_DOCUMENT: Final = 700
_LONG_MESSAGE: Final = 2500
_MARKED_UP: Final = 3  # marks for each personal word, from which on a long paragraph was pasted

_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_TURNING: Final = (
    r"but|though|however|please|so let|and (?:please|don't|dont|do not|make sure|never)"
)
_CLAUSE_END: Final = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?;]+[)\"”]*(?=\s|$)|\n+|\s[-–—]{1,2}\s"
    rf"|,\s(?=(?:{_TURNING})\b)",
    re.IGNORECASE,
)


def own_words(text: str) -> str:
    """Return what of a message the person seems to have typed, its paragraphs apart."""
    return _typed_of(text, "")


def gapped(span: str, text: str) -> str:
    """Return a span of a message's own words with GAP where something was cut out of the message.

    Nothing is marked before the span; behind it, what was cut out of the same line is.
    """
    places = rf"[\s{GAP}]+".join(map(re.escape, span.split()))
    found = re.search(rf"{places}(?:[^\S\n]*{GAP})?", _typed_of(text.replace(GAP, " "), GAP))
    return found.group() if span and found else span


def _typed_of(text: str, gap: str) -> str:
    """Return what was typed, with `gap` for what is cut out of a line."""
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
    for row in table("pasted")["stretch"]:
        text = _compiled(row["pattern"]).sub(" " if row.get("edge") else f" {gap}", text)
    kept = [typed for block in _PARAGRAPH.split(text) if (typed := _typed(block))]
    if sum(map(len, kept)) > _LONG_MESSAGE:
        kept = [block for block in (kept[0], kept[-1]) if len(block) < _LONG_PARAGRAPH]
    return "\n\n".join(dict.fromkeys(kept))


def clauses(words: str) -> tuple[str, ...]:
    """Return the clauses of a text, each verbatim with its closing mark, in their order."""
    found: list[str] = []
    start = 0
    for end in _CLAUSE_END.finditer(words):
        mark = end.group().strip()
        stop = end.end() if mark and mark[0] in ".!?;" else end.start()
        found.append(words[start:stop].strip())
        start = end.end()
    found.append(words[start:].strip())
    return tuple(clause for clause in found if any(letter.isalnum() for letter in clause))


def _typed(block: str) -> str:
    machine = _patterns("line")
    lines = [line for line in block.splitlines() if not any(kind.match(line) for kind in machine)]
    kept = "\n".join(stripped for line in lines if (stripped := line.strip()))
    return "" if _pasted(kept) else kept


def _pasted(block: str) -> bool:
    """Tell whether a long paragraph reads like a finding or a document rather than like typing."""
    if len(block) < _LONG_PARAGRAPH:
        return False
    personal, reviewed = (
        len(_compiled(table("pasted")[section]["pattern"]).findall(block))
        for section in ("personal", "reviewed")
    )
    impersonal = personal == 0 and (reviewed > 0 or len(block) > _DOCUMENT)
    return impersonal or reviewed > _MARKED_UP * max(personal, 1)


@cache
def _patterns(section: str) -> tuple[re.Pattern[str], ...]:
    return tuple(_compiled(row["pattern"]) for row in table("pasted")[section])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)
