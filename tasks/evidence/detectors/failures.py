"""Failed calls and their classes, stated surprises, and what got in the way from outside.

Invariant: a call is in at most one list. What the environment did (limits, network, disk) is never
an error of the work. A call that the person refused, or that fell with a sibling, is no error.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from tasks.domain.session import AgentTurn, ResultState, Session, ToolCall
from tasks.evidence.detectors.cues import Cue, cues, first_in, table
from tasks.evidence.detectors.findings import Environment, Error, Surprise

_FAILED: Final = (ResultState.ERROR, ResultState.HARNESS, ResultState.DENIED)
_SHELLS: Final = frozenset({"Bash", "PowerShell", "shell", "exec_command", "run_shell_command"})
_UNCLASSED: Final = "other"
_ANNOUNCED: Final = 400
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|\n")
_ASSIGNED: Final = re.compile(r"^\w+=")
_STEP: Final = re.compile(r"&&|\|\|?|;")
_NAME_ROOM: Final = 40


def errors_in(session: Session) -> tuple[Error, ...]:
    """Return the session's failed calls that are the work's own, in order."""
    return tuple(
        Error(
            call=call,
            error_class=error_class(call),
            command=command_of(call),
            text=call.result.text,
            at=call.result.at,
        )
        for turn in _agent_turns(session)
        for call in turn.calls
        if call.result and call.result.state in _FAILED and not _cause(call.result.text)
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


def command_of(call: ToolCall) -> str:
    """Return the first word of what a shell call ran, "" for other tools.

    Of several steps it is the first that does work; assignments, wrappers (`env`, `sudo`) and steps
    that only move or print are passed over, and file utilities count only when nothing else ran.
    """
    if call.name not in _SHELLS:
        return ""
    passed_over, plumbing = _steps("passed_over"), _steps("plumbing")
    firsts = (_first_word(step) for step in _STEP.split(call.line))
    ran = [first for first in firsts if first and first not in passed_over]
    return next((first for first in ran if first not in plumbing), ran[0] if ran else "")


def _first_word(step: str) -> str:
    prefixes = _steps("prefixes")
    for word in _words(step):
        if not (_ASSIGNED.match(word) or word.startswith("-") or word in prefixes):
            return word.rsplit("/", 1)[-1][:_NAME_ROOM]
    return ""


@cache
def _steps(name: str) -> frozenset[str]:
    return frozenset(table("errors")["steps"][name])


def _words(step: str) -> list[str]:
    try:
        return shlex.split(step)
    except ValueError:  # a quote left open: the line was the first of several
        return step.split()


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
            for cue in cues("statements", "surprise")
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
