"""Small sessions for the detectors' tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tasks.domain.session import (
    AgentTurn,
    Channel,
    PersonTurn,
    ReadCounts,
    ResultState,
    Session,
    ToolCall,
    ToolResult,
    Turn,
)

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def said(text: str, *, uuid: str = "p", channel: Channel = Channel.PROMPT) -> PersonTurn:
    return PersonTurn(uuid=uuid, at=START, text=text, channel=channel)


def refused(text: str, call: ToolCall, *, uuid: str = "p") -> PersonTurn:
    return PersonTurn(uuid=uuid, at=START, text=text, channel=Channel.REFUSAL, refused=call)


def reply(text: str, *calls: ToolCall, uuid: str = "a") -> AgentTurn:
    return AgentTurn(uuid=uuid, at=START, text=text, calls=calls)


def call(
    name: str,
    line: str = "",
    *,
    state: ResultState = ResultState.OK,
    text: str = "",
    ident: str = "t1",
) -> ToolCall:
    return ToolCall(ident, name, line, ToolResult(state, text, START))


def session(*turns: Turn) -> Session:
    return Session(
        agent="claude_code",
        id="s1",
        path="/somewhere/s1.jsonl",
        cwd="/code/shop",
        started=START,
        ended=START + timedelta(hours=1),
        title="",
        turns=turns,
        by_person=True,
        counts=ReadCounts(),
        bytes_read=0,
    )
