"""Records of one Claude Code transcript, in file order, become the turns of one session.

Invariant: every record is used, set aside under a name, or a duplicate; none is an error. What the
person typed is told apart from what the host put in their place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

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
from tasks.evidence.blocks import call_of, text_in, text_of
from tasks.evidence.facts import Facts, first_line, origin_of
from tasks.evidence.queued import Entry, Queue, digest
from tasks.evidence.records import Attachment, Block, Message, Record, message_of
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
        kind = record.type if isinstance(record.type, str) else "no type"
        if kind in _TREE and self.repeats.holds(record):
            self.counts.duplicates += 1
            return
        use = _USES.get(kind)
        if use is None:
            aside = kind
        else:
            aside = "sidechain" if record.is_sidechain is True else use(self, record)
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
        text = text_of(record.content).strip()
        uuid = f"{record.session_id}@{record.timestamp}:{digest(text)}"
        return Entry(text, uuid, self.facts.time_of(record), offset)

    # What the agent said

    def _assistant(self, record: Record) -> str:
        at = self.facts.meet(record)
        message = message_of(record)
        if message.model == _SYNTHETIC or record.is_api_error_message is True:
            return self._from_host(record, at)
        self._release()
        for block in message.blocks():
            self._agent_block(block, record, at, message)
        return ""

    def _agent_block(self, block: Block, record: Record, at: datetime, message: Message) -> None:
        uuid, model = self._uuid(record), text_of(message.model)
        match block.type:
            case "text":
                said = text_of(block.text).strip()
                if said:
                    named = text_of(message.id)
                    self.turns.say(said, uuid=uuid, at=at, model=model, message=named)
            case "tool_use":
                self.turns.call(call_of(block), uuid=uuid, at=at, model=model)
            case _:
                return

    def _from_host(self, record: Record, at: datetime) -> str:
        """Keep an error of the service as a failed call, for nobody said it; drop a placeholder."""
        if record.is_api_error_message is not True:
            return "assistant/placeholder"
        said = text_in(message_of(record).blocks()).strip()
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
        blocks = message_of(record).blocks()
        results = [block for block in blocks if block.type == "tool_result"]
        text = text_in(blocks)
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
        found = verdict(block, record)
        call_id = text_of(block.tool_use_id)
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
        given = record.attachment
        if not isinstance(given, Attachment) or given.type != "queued_command":
            return f"attachment/{given.type if isinstance(given, Attachment) else None}"
        at = self.facts.meet(record)
        text = text_of(given.prompt).strip()
        new = self.queue.attached(text)
        words = queued_words(text)
        if given.command_mode != "prompt" or origin_of(given) != "human":
            return "attachment/queued_command/notification"
        if not new or not isinstance(words, Typed):
            return "attachment/queued_command"
        self._release()
        self._person(PersonTurn(self._uuid(record), at, words.text, _queued_way(words)))
        return ""

    def _queue_operation(self, record: Record) -> str:
        self.queue.operate(record.operation, self.entry(record, self.offset))
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
        subtype = record.subtype
        words = words_of(text_of(record.content)) if subtype == "local_command" else None
        if not isinstance(words, Typed) or words.channel is not Channel.COMMAND:
            return f"system/{subtype}"
        self._release(told=words.raw)
        at = self.facts.meet(record)
        self._person(PersonTurn(self._uuid(record), at, words.text, Channel.COMMAND))
        return ""

    def _title(self, record: Record) -> str:
        return "" if self.facts.title_from(record, self.offset) else str(record.type)

    def _uuid(self, record: Record) -> str:
        uuid = record.uuid
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
    if record.is_meta is True:
        return "user/meta"
    if record.is_compact_summary is True or record.is_visible_in_transcript_only is True:
        return "user/summary"
    kind = origin_of(record)
    return "" if kind == "human" else f"user/{kind}"


def _queued_way(words: Typed) -> Channel:
    return Channel.COMMAND if words.channel is Channel.COMMAND else Channel.QUEUED


def _spoken_with(found: Verdict, call: ToolCall | None, uuid: str, at: datetime) -> PersonTurn:
    refused = call if found.channel is Channel.REFUSAL else None
    return PersonTurn(uuid, at, found.words, found.channel, refused=refused)
