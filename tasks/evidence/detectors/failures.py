"""Failed calls and their classes, stated surprises, and what got in the way from outside.

Invariant: a call is in at most one list. What the environment did (limits, network, disk) is never
an error of the work. A call that the person refused, or that fell with a sibling, is no error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tasks.domain.session import AgentTurn, ResultState, Session, ToolCall
from tasks.evidence.detectors.commands import command_of, ways_of
from tasks.evidence.detectors.cues import Cue, compiled, cues, first_in, table
from tasks.evidence.detectors.findings import Environment, Error, Surprise
from tasks.evidence.detectors.instead import worked_instead

_FAILED: Final = (ResultState.ERROR, ResultState.HARNESS, ResultState.DENIED)
_UNCLASSED: Final = "other"
_ANNOUNCED: Final = 400
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|\n")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EXIT: Final = re.compile(r"(?i)exit code \d+")
_TELLING_LINES: Final = 4


def errors_in(session: Session) -> tuple[Error, ...]:
    """Return the session's failed calls that are the work's own, in order."""
    instead = worked_instead(session)
    unmet: frozenset[str] = frozenset(table("errors")["steps"]["another_way_helps"])
    return tuple(
        Error(
            call=call,
            error_class=name,
            command=_command(call, name),
            text=call.result.text,
            at=call.result.at,
            ways=ways_of(call),
            instead=instead.get(call.id) if name in unmet else None,
        )
        for turn in _agent_turns(session)
        for call in turn.calls
        if call.result and call.result.state in _FAILED and not _cause(call.result.text)
        for name in (error_class(call),)
    )


def environment_in(session: Session) -> tuple[Environment, ...]:
    """Return what got in the way from outside, in order."""
    return tuple(met for turn in _agent_turns(session) for met in _met(turn))


def surprises_in(session: Session) -> tuple[Surprise, ...]:
    """Return the first sentence of each reply in which the agent says it was mistaken."""
    found = ((turn, _stated(turn.text)) for turn in _agent_turns(session))
    return tuple(Surprise(turn, sentence) for turn, sentence in found if sentence)


def error_class(call: ToolCall) -> str:
    """Return the class of a failed call by its tool and its text."""
    text = call.result.text.lower() if call.result else ""
    narrowed: Sequence[dict[str, Any]] = table("errors")["class"]
    for cue, row in zip(cues("errors", "class"), narrowed, strict=True):
        if (not row.get("tools") or call.name in row["tools"]) and cue.find(text):
            return cue.name
    return _UNCLASSED


def telling(text: str, name: str) -> str:
    """Return the lines of a failed call's text that show its class, verbatim, colours left out."""
    plain = _COLOUR.sub("", text).strip()
    lowered = plain.lower()
    row = _row(name)
    shows = compiled(row.get("telling") or row["pattern"]) if row else None
    hit = shows.search(lowered) if shows and len(lowered) == len(plain) else None
    lines = plain[plain.rfind("\n", 0, hit.start()) + 1 if hit else 0 :].splitlines()
    said = [line for line in lines if line.strip() and not _EXIT.fullmatch(line.strip())]
    return "\n".join(said[:_TELLING_LINES]) or plain


def _row(name: str) -> Mapping[str, Any]:
    return next((row for row in table("errors")["class"] if row["name"] == name), {})


def _command(call: ToolCall, name: str) -> str:
    """Return the program that failed: the one the shell names, else the call's own."""
    row = _row(name)
    if call.result and "(?P<" in row.get("pattern", ""):
        hit = compiled(row["pattern"]).search(call.result.text.lower())
        named = hit and next((word for word in hit.groupdict().values() if word), "")
        if named:
            return str(named)
    return command_of(call)


def _agent_turns(session: Session) -> Iterator[AgentTurn]:
    return (turn for turn in session.turns if isinstance(turn, AgentTurn))


def _met(turn: AgentTurn) -> Iterator[Environment]:
    for call in turn.calls:
        if call.result and call.result.state in _FAILED and (cause := _cause(call.result.text)):
            yield Environment(call.id, call.result.at, cause, call.result.text)
    for line in turn.text.splitlines():
        if len(line) < _ANNOUNCED and (cause := _announced(line)):
            yield Environment(turn.uuid, turn.at, cause, line.strip())
            return


def _cause(text: str) -> str:
    return first_in(text.lower(), cues("statements", "environment"))


def _announced(line: str) -> str:
    """Return the cause that a notice of the host's names at the start of a line."""
    lowered = line.strip().lower()
    if not lowered.startswith(
        ("api error", "you've hit", "you’ve hit", "prompt is", "claude usage")
    ):
        return ""
    return first_in(lowered, cues("statements", "environment"))


def _stated(text: str) -> str:
    lowered = text.lower()
    if len(lowered) != len(
        text
    ):  # lower-casing moved the letters: find nothing rather than cut wrong
        return ""
    return next(
        (
            found
            for cue in cues("statements", "surprise").standing(lowered)
            if (found := _sentence(cue, text, lowered))
        ),
        "",
    )


def _sentence(cue: Cue, text: str, lowered: str) -> str:
    hit = cue.find(lowered)
    if hit is None:
        return ""
    start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, hit.start())), default=0)
    stop = _SENTENCE_END.search(text, hit.start())
    return text[start : stop.start() if stop else len(text)].strip()
