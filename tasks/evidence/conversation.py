"""Records of one Claude Code transcript, in file order, become the turns of one session.

Invariant: every record is used, set aside under a name, or a duplicate; none is an error. What the
person typed is told apart from what the host put in their place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from tasks.domain.markers import HEADLESS
from tasks.domain.session import (
    Channel,
    PersonTurn,
    ReadCounts,
    ResultState,
    Session,
    ToolCall,
    ToolResult,
)
from tasks.evidence.blocks import Block, blocks_of, call_of, text_of
from tasks.evidence.facts import Facts, first_line, origin_of
from tasks.evidence.lines import Record
from tasks.evidence.queued import Entry, Queue, digest
from tasks.evidence.refusals import Verdict, verdict
from tasks.evidence.repeats import Repeats
from tasks.evidence.turns import Turns
from tasks.evidence.wrappers import Interrupt, Typed, Words, Wrapper, queued_words, words_of

_SYNTHETIC: Final = "<synthetic>"
_TREE: Final = frozenset({"user", "assistant", "attachment", "system"})
_NAME: Final = 80


@dataclass(slots=True)
class Conversation:
    """What a reading knows so far. `offset` is where the line at hand begins."""

    agent: str
    facts: Facts
    turns: Turns
    counts: ReadCounts
    repeats: Repeats = field(default_factory=Repeats)
    queue: Queue = field(default_factory=Queue)
    escaped: bool = False
    offset: int = 0

    def take(self, record: Record, offset: int) -> None:
        """Take in one record of the line that begins at `offset`."""
        self.offset = offset
        self.counts.read += 1
        named = record.get("type")
        kind = named if isinstance(named, str) else "no type"
        if kind in _TREE and self.repeats.holds(record):
            self.counts.duplicates += 1
            return
        use = _USES.get(kind)
        if record.get("isSidechain") is True:
            aside = "sidechain"
        else:
            aside = kind if use is None else use(self, record)
        if aside:
            self.counts.set_aside[aside[:_NAME]] += 1
        else:
            self.counts.used += 1

    def is_settled(self) -> bool:
        """Tell whether a later reading can go on from here: nothing said before is still open."""
        return not self.escaped and not self.queue.held and not self.queue.taken

    def session(self, path: str, bytes_read: int) -> Session:
        """Return the session as it stands."""
        facts, turns = self.facts, self.turns.all()
        spoken = next((turn.text for turn in turns if isinstance(turn, PersonTurn)), "")
        return Session(
            agent=self.agent,
            id=facts.session_id,
            path=path,
            cwd=facts.cwd,
            started=facts.started,
            ended=facts.ended,
            title=facts.title or first_line(spoken),
            turns=turns,
            by_person=facts.by_person,
            counts=self.counts,
            bytes_read=bytes_read,
            interrupts=facts.interrupts,
            refusals_without_reason=facts.refusals,
        )

    def entry(self, record: Record, offset: int) -> Entry:
        """Return what a record of the queue names."""
        text = text_of(record.get("content")).strip()
        uuid = f"{record.get('sessionId')}@{record.get('timestamp')}:{digest(text)}"
        return Entry(text, uuid, self.facts.time_of(record), offset)

    # What the agent said

    def _assistant(self, record: Record) -> str:
        at = self.facts.meet(record)
        message = record.get("message")
        given: dict[str, Any] = message if isinstance(message, dict) else {}
        if given.get("model") == _SYNTHETIC or record.get("isApiErrorMessage") is True:
            return self._from_host(record, at)
        self._release()
        for block in blocks_of(record):
            self._agent_block(block, record, at, given)
        return ""

    def _agent_block(
        self, block: Block, record: Record, at: datetime, given: dict[str, Any]
    ) -> None:
        uuid, model = self._uuid(record), text_of(given.get("model"))
        match block.get("type"):
            case "text":
                said = text_of(block.get("text")).strip()
                if said:
                    message = text_of(given.get("id"))
                    self.turns.say(said, uuid=uuid, at=at, model=model, message=message)
            case "tool_use":
                self.turns.call(call_of(block), uuid=uuid, at=at, model=model)
            case _:
                return

    def _from_host(self, record: Record, at: datetime) -> str:
        """Keep an error of the service as a failed call, for nobody said it; drop a placeholder."""
        if record.get("isApiErrorMessage") is not True:
            return "assistant/placeholder"
        said = text_of(blocks_of(record)).strip()
        uuid = self._uuid(record)
        call = ToolCall(uuid, "api", "", ToolResult(ResultState.ERROR, said, at))
        self.turns.call(call, uuid=uuid, at=at, model="")
        return ""

    # What the person said

    def _user(self, record: Record) -> str:
        at = self.facts.meet(record)
        aside = _injected(record)
        if aside:
            return aside
        blocks = blocks_of(record)
        results = [block for block in blocks if block.get("type") == "tool_result"]
        text = text_of(blocks)
        words = words_of(text)
        self.facts.headless = self.facts.headless or HEADLESS in text
        if results or not isinstance(words, Wrapper):
            self._release(told=words.raw if isinstance(words, Typed) else "")
        for block in results:
            self._result(block, record, at)
        channel = Channel.QUEUED if results else Channel.PROMPT
        aside = self._speak(words, record, at, channel)
        return "" if results else aside

    def _speak(self, words: Words, record: Record, at: datetime, channel: Channel) -> str:
        match words:
            case Interrupt():
                self.facts.interrupts += 1
                self.escaped = self.facts.human = True
                return ""
            case Wrapper():
                return "user/wrapper"
            case Typed(text, way, _):
                way = way if way is Channel.COMMAND else channel
                self._person(PersonTurn(self._uuid(record), at, text, way))
                return ""

    def _result(self, block: Block, record: Record, at: datetime) -> None:
        found = verdict(text_of(block.get("content")), block, record)
        call_id = text_of(block.get("tool_use_id"))
        call = self.turns.answer(call_id, ToolResult(found.state, found.text, at))
        if found.state is ResultState.REFUSED:
            self.facts.human = True
            self.facts.refusals += 0 if found.words else 1
        if found.words:
            self._person(_spoken_with(found, call, self._uuid(record), at))

    def _person(self, turn: PersonTurn) -> None:
        self.turns.person(replace(turn, after_interrupt=True) if self.escaped else turn)
        self.escaped = False

    # What was typed while the agent was busy

    def _attachment(self, record: Record) -> str:
        given = record.get("attachment")
        if not isinstance(given, dict) or given.get("type") != "queued_command":
            return f"attachment/{given.get('type') if isinstance(given, dict) else None}"
        at = self.facts.meet(record)
        text = text_of(given.get("prompt")).strip()
        new = self.queue.attached(text)
        words = queued_words(text)
        if given.get("commandMode", "prompt") != "prompt" or origin_of(given) != "human":
            return "attachment/queued_command/notification"
        if not new or not isinstance(words, Typed):
            return "attachment/queued_command"
        self._release()
        self._person(PersonTurn(self._uuid(record), at, words.text, _queued_way(words)))
        return ""

    def _queue_operation(self, record: Record) -> str:
        self.queue.operate(record.get("operation"), self.entry(record, self.offset))
        return ""

    def _release(self, *, told: str = "") -> None:
        """Let words that only the queue tells become turns, before what comes next.

        Args:
            told: the prompt that comes next, which the queue needs not tell.
        """
        if told:
            self.queue.prompted(told.strip())
        for entry in self.queue.release():
            words = queued_words(entry.text)
            if isinstance(words, Typed):
                way = _queued_way(words)
                self._person(PersonTurn(entry.uuid, entry.at, words.text, way))

    # The rest

    def _system(self, record: Record) -> str:
        """Use the arguments of a built-in command, which newer clients record here."""
        subtype = record.get("subtype")
        words = words_of(text_of(record.get("content"))) if subtype == "local_command" else None
        if not isinstance(words, Typed) or words.channel is not Channel.COMMAND:
            return f"system/{subtype}"
        self._release(told=words.raw)
        at = self.facts.meet(record)
        self._person(PersonTurn(self._uuid(record), at, words.text, Channel.COMMAND))
        return ""

    def _title(self, record: Record) -> str:
        return "" if self.facts.title_from(record, self.offset) else str(record.get("type"))

    def _uuid(self, record: Record) -> str:
        uuid = record.get("uuid")
        return uuid if isinstance(uuid, str) and uuid else f"{self.facts.session_id}:{self.offset}"


_USES: Final[dict[str, Callable[[Conversation, Record], str]]] = {
    "assistant": Conversation._assistant,  # noqa: SLF001  the table of this module's own class
    "user": Conversation._user,  # noqa: SLF001
    "attachment": Conversation._attachment,  # noqa: SLF001
    "system": Conversation._system,  # noqa: SLF001
    "queue-operation": Conversation._queue_operation,  # noqa: SLF001
    "custom-title": Conversation._title,  # noqa: SLF001
    "ai-title": Conversation._title,  # noqa: SLF001
    "summary": Conversation._title,  # noqa: SLF001
}


def _injected(record: Record) -> str:
    """Return the name under which a user record that nobody typed is set aside, else ""."""
    if record.get("isMeta") is True:
        return "user/meta"
    if record.get("isCompactSummary") is True or record.get("isVisibleInTranscriptOnly") is True:
        return "user/summary"
    kind = origin_of(record)
    return "" if kind == "human" else f"user/{kind}"


def _queued_way(words: Typed) -> Channel:
    return Channel.COMMAND if words.channel is Channel.COMMAND else Channel.QUEUED


def _spoken_with(found: Verdict, call: ToolCall | None, uuid: str, at: datetime) -> PersonTurn:
    refused = call if found.channel is Channel.REFUSAL else None
    return PersonTurn(uuid, at, found.words, found.channel, refused=refused)
