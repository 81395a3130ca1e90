"""What an agent is told at the start of its work here: the handoff, and the lessons that apply.

The same blocks that the proxy puts into a request, for an agent that reaches memory by a command.
"""

from __future__ import annotations

from typing import Any, Final

from serving.bound import Bound
from tasks.domain.units import USABLE
from tasks.embedding.space import WORDS
from tasks.handoff import Arrival, handoff
from tasks.handoff import block as handoff_block
from tasks.learned import standing
from tasks.memory import Memory
from tasks.prime import Moment, lessons_in, select
from tasks.prime import block as lessons_block
from tasks.ranking import Asked
from tasks.relays import Relays

RECENT: Final = 500
"""Events of the relay that are looked at."""
MOST: Final = 20
"""Lessons told when nothing was asked yet."""


def briefing(bound: Bound, *, model: str, prompt: str) -> str:
    """Return the fenced blocks, "" when there is nothing to tell.

    Args:
        bound: whose memory, of which project.
        model: who is to work now; recent work of the same model is not told to it again.
        prompt: what it is asked; without it the lessons of the whole project are told.
    """
    memory = bound.reader.memory()
    events = (
        Relays(memory.places.relay).of(bound.scope.app_id).tail(bound.scope.project_id, most=RECENT)
    )
    told = handoff(events, Arrival("", model, first=True, told=(), now=bound.clock()))
    lessons = _bearing_on(prompt, memory, bound) if prompt else _all(memory, bound)
    blocks = [
        handoff_block(told, bound.day) if told else "",
        lessons_block(lessons, bound.day) if lessons else "",
    ]
    return "\n".join(block for block in blocks if block)


def _all(memory: Memory, bound: Bound) -> list[dict[str, Any]]:
    rows = standing(memory, {bound.scope, bound.scope.everywhere()})
    return [row for row in rows if row["trust"] in USABLE][:MOST]


def _bearing_on(prompt: str, memory: Memory, bound: Bound) -> list[dict[str, Any]]:
    """Return what prime would show at this prompt in a session that is not held out."""
    asked = Asked(prompt, None, WORDS)
    found = (
        one
        for view in memory.scopes(bound.scope)
        for one in lessons_in(view).candidates(asked, Moment.PROMPT)
    )
    scopes = {bound.scope, bound.scope.everywhere()}
    words = {row["id"]: row["text"] for row in standing(memory, scopes)}
    chosen = select(
        [one for one in found if one.id in words],
        moment=Moment.PROMPT,
        session="",
        told=(),
        holdout=0.0,
    )
    return [{**row, "text": words[row["id"]]} for row in chosen.shown]
