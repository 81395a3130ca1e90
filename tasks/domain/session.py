"""What a reader of any agent's transcript hands over: a session, in one shape for all hosts.

Text here is not yet redacted: every appender redacts before bytes are written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Channel(StrEnum):
    """How the person's words reached the agent."""

    PROMPT = "prompt"
    QUEUED = "queued"
    REFUSAL = "refusal"
    COMMAND = "command"
    ANSWER = "answer"


class ResultState(StrEnum):
    """How a tool call ended.

    `refused` is the person's no; `denied` a rule's or a hook's; `cancelled` a sibling's failure or
    an interrupt; `harness` the host's own validation (an edit before a read, a bad parameter).
    """

    OK = "ok"
    ERROR = "error"
    HARNESS = "harness"
    REFUSED = "refused"
    DENIED = "denied"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back from a call; `text` is kept for what is not `ok`, at most 2 KB."""

    state: ResultState
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the agent called; `line` is the first line of its command, or its path or pattern."""

    id: str
    name: str
    line: str
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True)
class PersonTurn:
    """Words the person typed: a prompt, one queued, a refusal's reason, an answer to a form.

    Attributes:
        uuid: of the record that holds the words.
        after_interrupt: the person had just pressed Escape.
        refused: the call that the person said no to, when `channel` is REFUSAL.
    """

    uuid: str
    at: datetime
    text: str
    channel: Channel
    after_interrupt: bool = False
    refused: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """All the agent said and did between two turns of the person, calls paired with results."""

    uuid: str
    at: datetime
    text: str
    calls: tuple[ToolCall, ...]
    model: str = ""


Turn = PersonTurn | AgentTurn


@dataclass(slots=True)
class ReadCounts:
    """What became of each line: `read == used + set_aside + duplicates + failed`, always.

    `set_aside` counts by record type what is known not to be conversation and what is unknown;
    `failed` holds the 1-based numbers of lines that are no JSON object.
    """

    read: int = 0
    used: int = 0
    duplicates: int = 0
    set_aside: Counter[str] = field(default_factory=Counter)
    failed: list[int] = field(default_factory=list)

    def adds_up(self) -> bool:
        """Tell whether every line read is accounted for."""
        return self.read == self.used + self.duplicates + self.set_aside.total() + len(self.failed)


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation with one agent.

    Attributes:
        by_person: several signals say a person drove it (not an SDK run or our own headless child).
        cwd: the first working directory met, as written; "" when the host has none.
        bytes_read: how far into the file the reading got: the end of the last complete line.
    """

    agent: str
    id: str
    path: str
    cwd: str
    started: datetime
    ended: datetime
    title: str
    turns: tuple[Turn, ...]
    by_person: bool
    counts: ReadCounts
    bytes_read: int
    interrupts: int = 0
    refusals_without_reason: int = 0
