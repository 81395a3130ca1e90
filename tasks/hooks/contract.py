"""What agents' hooks tell us and what they take for an answer, each agent in its own form. Pure.

Invariants: a field that is missing or of another shape is empty, never an error; an answer is one
JSON object of the agent's schema and nothing beside it, or no byte at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, assert_never

import orjson

LONGEST: Final = 9_900
"""UTF-16 units of text in one answer; of more than 10,000 only a preview reaches the model."""

LONGEST_NAME: Final = 256
"""Characters of a conversation's or a model's name; a longer one is none, or it fills the logs."""


class Agent(StrEnum):
    """An agent whose hooks we know, by the name that its wired commands give."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"

    @property
    def provenance(self) -> str:
        """Return the agent's name as transcripts and the relay give it."""
        return _PROVENANCE[self]


class Event(StrEnum):
    """What happened, by Claude Code's names; `event_of` knows the others'."""

    BEGIN = "SessionStart"
    PROMPT = "UserPromptSubmit"
    TOOL = "PreToolUse"
    STOP = "Stop"
    COMPACT = "PreCompact"
    END = "SessionEnd"


_PROVENANCE: Final = {
    Agent.CLAUDE_CODE: "claude_code",
    Agent.CODEX: "codex",
    Agent.GEMINI: "gemini_cli",
}
_COMMON: Final = {event.value: event for event in Event}
_NAMED: Final[Mapping[Agent, Mapping[str, Event]]] = {
    Agent.CLAUDE_CODE: _COMMON,
    Agent.CODEX: _COMMON,
    Agent.GEMINI: {
        "SessionStart": Event.BEGIN,
        "BeforeAgent": Event.PROMPT,
        "BeforeTool": Event.TOOL,
        "AfterTool": Event.TOOL,
        "AfterAgent": Event.STOP,
        "PreCompress": Event.COMPACT,
        "SessionEnd": Event.END,
    },
}
_MUTE: Final = frozenset({(Agent.GEMINI, "BeforeTool")})
"""Hooks of a moment that take no text for the model; what is due then waits for the next."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A conversation begins, or goes on after a pause; `source` says which."""

    source: str


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt was handed in, by the person as a rule."""

    prompt: str


@dataclass(frozen=True, slots=True)
class Calling:
    """A tool is about to be called, or was just; `given` is its input."""

    tool: str
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stopping:
    """The agent hands back. `again`: a hook made it go on already."""

    said: str
    again: bool


@dataclass(frozen=True, slots=True)
class Compacting:
    """What was said is about to be summed up."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The conversation is over."""

    reason: str


What = Begun | Prompted | Calling | Stopping | Compacting | Ended


@dataclass(frozen=True, slots=True)
class Happening:
    """One call of a hook.

    Attributes:
        name: the event as the agent calls it.
        session: the agent's name of the conversation, "" when it gives none.
        cwd: where the agent works now.
        turn: names what is asked about, so that a hook wired twice is answered once; "" for none.
        subagent: it happened inside an agent that the main one started.
    """

    agent: Agent
    name: str
    session: str
    cwd: str
    transcript: str
    model: str
    turn: str
    subagent: bool
    what: What


def event_of(agent: Agent, name: str) -> Event | None:
    """Return which event an agent means by a name, None for one that we do nothing at."""
    return _NAMED[agent].get(name)


def happening(agent: str, name: str, data: bytes) -> Happening | None:
    """Return what a hook's standard input tells; None for an agent or event we do not know.

    Args:
        agent: as the wired command names it.
        name: the event, as the wired command names it; what the input says counts no more.
        data: the bytes; those that are no JSON object tell nothing but that it happened.
    """
    whose = next((one for one in Agent if one == agent), None)
    event = None if whose is None else event_of(whose, name)
    if whose is None or event is None:
        return None
    told = _object(data)
    return Happening(
        whose,
        name,
        _name(told, "session_id"),
        _text(told, "cwd"),
        _text(told, "transcript_path"),
        _name(told, "model"),
        _text(told, "tool_use_id") or _text(told, "prompt_id") or _text(told, "turn_id"),
        bool(_text(told, "agent_id")),
        _what(event, told),
    )


def answer(to: Happening, text: str) -> bytes:
    """Return what to print so that the model reads `text`; nothing when there is none or no way.

    At the end of a turn that makes the agent go on. Claude Code would call a blocked end a problem
    before the person and quote our whole command to the model; the others know no other way.
    """
    if not text or not takes_text(to):
        return b""
    if isinstance(to.what, Stopping) and to.agent is not Agent.CLAUDE_CODE:
        word = "deny" if to.agent is Agent.GEMINI else "block"
        return orjson.dumps({"decision": word, "reason": text})
    told = {"hookEventName": to.name, "additionalContext": text}
    return orjson.dumps({"hookSpecificOutput": told})


def takes_text(to: Happening) -> bool:
    """Tell whether an answer can put text before the model."""
    silent = isinstance(to.what, Compacting | Ended)
    return not silent and (to.agent, to.name) not in _MUTE


def fits(text: str) -> bool:
    """Tell whether a text is short enough for one answer."""
    return len(text.encode("utf-16-le", "replace")) // 2 <= LONGEST


def _what(event: Event, told: Mapping[str, Any]) -> What:
    match event:
        case Event.BEGIN:
            return Begun(_text(told, "source"))
        case Event.PROMPT:
            return Prompted(_text(told, "prompt"))
        case Event.TOOL:
            given = told.get("tool_input")
            return Calling(_text(told, "tool_name"), given if isinstance(given, dict) else {})
        case Event.STOP:
            said = _text(told, "last_assistant_message") or _text(told, "prompt_response")
            return Stopping(said, told.get("stop_hook_active") is True)
        case Event.COMPACT:
            return Compacting()
        case Event.END:
            return Ended(_text(told, "reason"))
        case _:
            assert_never(event)


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        told = orjson.loads(data)
    except orjson.JSONDecodeError:
        told = _leniently(data)
    return told if isinstance(told, dict) else {}


def _leniently(data: bytes) -> object:
    """Return what the stricter reader refuses: half of a pair of surrogates, as hosts write it."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def _name(told: Mapping[str, Any], name: str) -> str:
    text = _text(told, name)
    return text if len(text) <= LONGEST_NAME else ""
