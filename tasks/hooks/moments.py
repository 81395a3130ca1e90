"""What a hook asks to be decided: which lessons bear on it, what to hand over, or nothing. Pure.

Invariant: only the main agent's conversation is spoken into, only on words that somebody meant,
and at the end of a turn only once, so that no agent is kept going round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from tasks.evidence.blocks import line_of
from tasks.evidence.wrappers import Typed, queued_words, strip_blocks
from tasks.hooks.contract import (
    Begun,
    Calling,
    Compacting,
    Ended,
    Happening,
    Prompted,
    Stopping,
    What,
    takes_text,
)
from tasks.prime import Moment


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing is to be decided; `why` in a few words of ours."""

    why: str


@dataclass(frozen=True, slots=True)
class Point:
    """A moment at which lessons may be shown, and the words that they must bear on."""

    moment: Moment
    words: str


@dataclass(frozen=True, slots=True)
class Arriving:
    """A conversation begins or goes on: what was done here since may be handed over."""


Due = Point | Arriving | Silence


def due(one: Happening) -> Due:
    """Return what a happening asks to be decided."""
    if one.subagent:
        return Silence("subagent")
    if not one.session or not one.cwd:
        return Silence("nameless")
    if not takes_text(one):
        return Silence("mute")
    return _due(one.what)


def _due(what: What) -> Due:
    match what:
        case Begun():
            return Arriving()
        case Prompted(prompt):
            return _prompted(prompt)
        case Calling(tool, given):
            return _calling(tool, given)
        case Stopping(said, again):
            return Silence("went on before") if again else _said(said)
        case Compacting() | Ended():
            return Silence("mute")
        case _:
            assert_never(what)


def _prompted(prompt: str) -> Point | Silence:
    """Return what the person typed; a host's own prompt and a bare command say nothing."""
    words = queued_words(prompt)
    return Point(Moment.PROMPT, words.text) if isinstance(words, Typed) else Silence("not typed")


def _said(said: str) -> Point | Silence:
    words = strip_blocks(said)
    return Point(Moment.END, words) if words else Silence("nothing said")


def _calling(tool: str, given: Mapping[str, Any]) -> Point | Silence:
    command = given.get("command")
    told = command if isinstance(command, str) else line_of(tool, given)
    words = f"{tool} {told}".strip()
    return Point(Moment.TOOL, words) if words else Silence("nothing called")
