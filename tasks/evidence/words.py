"""The evidence file: the redacted words behind each episode, one JSON line a turn.

Invariant: appended to only; a later line with the uuid of an earlier one replaces it in its place.
What detectors see is always this form, so reading a transcript in pieces changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from tasks.domain.clock import instant, iso
from tasks.domain.session import (
    AgentTurn,
    Channel,
    PersonTurn,
    ResultState,
    Session,
    ToolCall,
    ToolResult,
    Turn,
)
from tasks.durable import append_line, make_folder, swap_file, sync, sync_folder
from tasks.errors import WriteFailed
from tasks.waypoints import passing

RESULT_BYTES: Final = 2 * 1024
AGENT_BYTES: Final = 8 * 1024
PERSON_BYTES: Final = 32 * 1024
TITLE_CHARACTERS: Final = 120
LINE_CHARACTERS: Final = 300
_VERSION: Final = 1
_CUT: Final = "\n[… cut …]\n"

Redact = Callable[[str], str]


def evidence_form(
    session: Session, redact: Redact, *, fresh: Iterable[Turn] | None = None
) -> Session:
    """Return the session as evidence keeps it: redacted, and long texts cut in the middle.

    Doing it twice changes nothing, if that holds for `redact`.

    Args:
        session: as it was read.
        redact: takes the secrets out of a text.
        fresh: the turns that are not in this form yet; None for all of them.
    """
    formed = {turn.uuid: turn_form(turn, redact) for turn in fresh or ()}
    if fresh is None:
        turns = tuple(turn_form(turn, redact) for turn in session.turns)
    else:
        turns = tuple(formed.get(turn.uuid, turn) for turn in session.turns)
    title = redact(session.title)[:TITLE_CHARACTERS].strip()
    return replace(session, title=title, turns=turns)


def turn_form(turn: Turn, redact: Redact) -> Turn:
    """Return one turn as evidence keeps it."""
    match turn:
        case PersonTurn():
            refused = _call_form(turn.refused, redact) if turn.refused is not None else None
            return replace(turn, text=middle_cut(redact(turn.text), PERSON_BYTES), refused=refused)
        case AgentTurn():
            calls = tuple([_call_form(call, redact) for call in turn.calls])
            return replace(turn, text=middle_cut(redact(turn.text), AGENT_BYTES), calls=calls)


def middle_cut(text: str, limit: int) -> str:
    """Return head and tail of a text that is longer than `limit` bytes of UTF-8, else the text."""
    if len(text) * 4 <= limit:
        return text
    data = text.encode()
    if len(data) <= limit:
        return text
    half = (limit - len(_CUT.encode())) // 2
    return data[:half].decode(errors="ignore") + _CUT + data[-half:].decode(errors="ignore")


def evidence_path(folder: Path, agent: str, session_id: str) -> Path:
    """Return where a session's evidence lies under the evidence folder."""
    return folder / agent / f"{session_id}.jsonl"


def append_evidence(path: Path, turns: Iterable[Turn]) -> int:
    """Append turns in evidence form, durably; return how long the file is now, in bytes.

    Raises:
        WriteFailed: when the disk refuses.
    """
    data = _packed(turns)
    try:
        if data:
            is_new = not path.exists()
            make_folder(path.parent)
            append_line(path, data)
            if is_new:
                sync_folder(path.parent)
        return path.stat().st_size if path.exists() else 0
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error


def replace_evidence(path: Path, turns: Iterable[Turn]) -> int:
    """Write a session's evidence anew, for a transcript that was rewritten; return its length."""
    data = _packed(turns)
    swap_file(path, data)
    return len(data)


def load_evidence(path: Path, length: int) -> tuple[Turn, ...]:
    """Return the turns in the first `length` bytes; what a crash left behind them is cut off.

    Raises:
        WriteFailed: when the rest cannot be cut off.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    if len(data) > length:
        _cut_back(path, length)
    turns: dict[str, Turn] = {}
    for line in data[:length].split(b"\n"):
        turn = _unpacked(line)
        if turn is not None:
            turns[turn.uuid] = turn
    return tuple(turns.values())


def _cut_back(path: Path, length: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.ftruncate(descriptor, length)
            passing("ingest.cut")
            sync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error


def _call_form(call: ToolCall, redact: Redact) -> ToolCall:
    line = redact(call.line)[:LINE_CHARACTERS].rstrip()  # cut after: half a secret is not known
    return ToolCall(call.id, call.name, line, _result_form(call.result, redact))


def _result_form(result: ToolResult | None, redact: Redact) -> ToolResult | None:
    if result is None or not result.text:
        return result
    kept = "" if result.state is ResultState.OK else result.text
    return ToolResult(result.state, middle_cut(redact(kept), RESULT_BYTES), result.at)


def _packed(turns: Iterable[Turn]) -> bytes:
    return b"".join(orjson.dumps(_turn_json(turn)) + b"\n" for turn in turns)


def _turn_json(turn: Turn) -> dict[str, Any]:
    common = {"v": _VERSION, "uuid": turn.uuid, "at": iso(turn.at), "text": turn.text}
    match turn:
        case PersonTurn():
            refused = {} if turn.refused is None else {"refused": _call_json(turn.refused)}
            escaped = {"after_interrupt": True} if turn.after_interrupt else {}
            return {**common, "role": "person", "channel": turn.channel, **escaped, **refused}
        case AgentTurn():
            calls = [_call_json(call) for call in turn.calls]
            return {**common, "role": "agent", "model": turn.model, "calls": calls}


def _call_json(call: ToolCall) -> dict[str, Any]:
    made = {"id": call.id, "tool": call.name, "line": call.line}
    if call.result is None:
        return made
    result = call.result
    text = {"result": result.text} if result.text else {}
    return {**made, "state": result.state, "at": iso(result.at), **text}


def _unpacked(line: bytes) -> Turn | None:
    """Return the turn of a line; None for a blank or damaged one, which is then read anew."""
    try:
        data = orjson.loads(line)
        if data["role"] == "person":
            return _person(data)
        return _agent(data)
    except (ValueError, KeyError, TypeError):
        return None


def _person(data: dict[str, Any]) -> PersonTurn:
    refused = data.get("refused")
    return PersonTurn(
        data["uuid"],
        instant(data["at"]),
        data["text"],
        Channel(data["channel"]),
        data.get("after_interrupt", False),
        None if refused is None else _call(refused),
    )


def _agent(data: dict[str, Any]) -> AgentTurn:
    calls = tuple(_call(call) for call in data["calls"])
    return AgentTurn(data["uuid"], instant(data["at"]), data["text"], calls, data["model"])


def _call(data: dict[str, Any]) -> ToolCall:
    result = None
    if "state" in data:
        state = ResultState(data["state"])
        result = ToolResult(state, data.get("result", ""), instant(data["at"]))
    return ToolCall(data["id"], data["tool"], data["line"], result)
