"""What of the relay tells a lesson: it must not reach a conversation that gets no lessons.

Pure. Were a correction handed on there in the person's own words, the conversation would know the
lesson all the same, and what lessons do could not be told from their absence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tasks.bearing import CUT
from tasks.domain.canon import canon
from tasks.domain.events import Event, EventKind, Role
from tasks.domain.units import USABLE
from tasks.embedding.space import WORDS
from tasks.prime import Lessons, Moment
from tasks.ranking import Asked

_END: Final = re.compile(r"[.!?;:]+(?:\s+|$)|\n+")
_SHORT: Final = 12
"""Characters under which a sentence says too little to be known again."""


def untaught(events: Iterable[Event], lessons: Sequence[Lessons]) -> list[Event]:
    """Return the events that tell none of the lessons which could be shown.

    A correction tells those that it bears on, by its words; other words of the person's tell a
    lesson only where they hold a sentence that it was learned from.
    """
    learned = {
        sentence
        for one in lessons
        for row in one.rows
        if row["trust"] in USABLE
        for sentence in _sentences(f"{row['text']}\n{row['gist']}")
    }
    return [one for one in events if not (_tells(one, learned) or _bears(one, lessons))]


def _tells(one: Event, learned: set[str]) -> bool:
    return one.role is Role.USER and not learned.isdisjoint(_sentences(one.text))


def _bears(one: Event, lessons: Sequence[Lessons]) -> bool:
    if one.kind is not EventKind.CORRECTION:
        return False
    asked = Asked(one.text, None, WORDS)
    found = (candidate for each in lessons for candidate in each.candidates(asked, Moment.PROMPT))
    return any(each.relevance >= CUT and each.row["trust"] in USABLE for each in found)


def _sentences(text: str) -> set[str]:
    return {said for part in _END.split(text) if len(said := canon(part)) >= _SHORT}
