"""Reads a copy of each answer and tells the relay what was said and done.

Invariants: it works behind the answer, in a thread; of a conversation only main calls count; what
is sent again is told once; text of ours is no one's words.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from serving.proxy.agents import agent_of
from serving.proxy.apis import Headers, header
from serving.proxy.asking import Asked, Asking, Ran, family_of
from serving.proxy.behind import Behind
from serving.proxy.calls import Call, Tee
from serving.proxy.families import Family, Made, Said
from serving.proxy.kinds import Kind
from serving.proxy.openai_responses import OpenAIResponses
from serving.proxy.wire import objects, undone
from tasks.deploys import deploy_in
from tasks.domain.clock import Clock
from tasks.domain.events import Event, EventKind, Role
from tasks.domain.ids import digest_of
from tasks.domain.session import AgentTurn, Channel, PersonTurn
from tasks.evidence.detectors import Exchange, own_words, read
from tasks.evidence.words import AGENT_BYTES, LINE_CHARACTERS, middle_cut
from tasks.evidence.wrappers import strip_blocks
from tasks.relays import Relays

LONGEST: Final = 16 << 20
"""Bytes of an answer that are kept to be read; what comes after them is not told."""
_CALLS: Final = 5_000
_ID: Final = 32
_TELLING: Final = (
    *("command", "cmd", "script", "file_path", "path", "pattern", "url", "query", "description"),
    *("prompt", "input"),
)
_SHELLS: Final = ("command", "cmd", "script")


@dataclass(frozen=True, slots=True)
class Teeing:
    """Makes the readers of answers.

    Attributes:
        calls: tool calls that were answered, by id: a client that sends only what is new does not
            repeat them beside their results.
    """

    relays: Relays
    asking: Asking
    clock: Clock
    behind: Behind = field(repr=False)
    calls: OrderedDict[str, Made] = field(default_factory=OrderedDict, repr=False)

    def __call__(self, call: Call, status: int, headers: Headers) -> Tee | None:
        """Return a reader of an answer to a talk within one project, None for any other."""
        family = family_of(call)
        if family is None or status != 200 or not _project_of(call):
            return None
        return _Answer(self, call, family, headers)


class _Answer:
    """One answer's copy."""

    def __init__(self, teeing: Teeing, call: Call, family: Family, headers: Headers) -> None:
        its = teeing.asking.of(call, _project_of(call))
        self._asked = its.told_anew()  # many may wait, and a body can be long
        self._teeing, self._call, self._family = teeing, replace(call, body=None), family
        lowered = [(name.lower(), value) for name, value in headers]
        self._coding = header(lowered, b"content-encoding") or b""
        self._at = teeing.clock()
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> None:
        """Keep a piece."""
        self._size += len(piece)
        if self._size <= LONGEST:
            self._pieces.append(piece)

    def done(self, *, whole: bool) -> None:
        """Have it told; of an answer that broke off, what came."""
        del whole
        if isinstance(self._family, OpenAIResponses):
            said = self._read()
            its = self._asked
            chains = self._teeing.asking.chains
            chains.learn(said.id, its.conversation)  # the next may follow at once
            self._teeing.behind(partial(chains.keep, said.id, its.conversation))
            self._teeing.behind(partial(self._append, its, said))
        else:
            self._teeing.behind(lambda: self._append(self._asked, self._read()))

    def _read(self) -> Said:
        return self._family.said(objects(undone(b"".join(self._pieces), self._coding)))

    def _append(self, its: Asked, said: Said) -> None:
        if its.kind is not Kind.MAIN or not its.conversation:
            return
        where = _Where(_project_of(self._call), agent_of(self._call.headers), its, self._at)
        known = self._teeing.calls
        events = [
            *_deploys(its.ran, known, where),
            *_turns(where),
            *_answer(said, where, self._teeing.clock()),
        ]
        if events:
            self._teeing.relays.of(_app_of(self._call)).append(events)
        known.update((call.id, call) for call in said.calls if call.id)
        while len(known) > _CALLS:
            known.popitem(last=False)


def _project_of(call: Call) -> str:
    return (call.grant.project or "") if call.grant is not None else ""


def _app_of(call: Call) -> str:
    return call.grant.app if call.grant is not None else ""


@dataclass(frozen=True, slots=True)
class _Where:
    project: str
    agent: str
    asked: Asked
    at: datetime

    def event(self, kind: EventKind, text: str, role: Role, *told: object) -> Event:
        """Return an event of this conversation; `told` makes its id, the same at every telling."""
        its = self.asked
        return Event(
            kind,
            middle_cut(text, AGENT_BYTES),
            role,
            self.project,
            self.agent,
            its.model,
            its.conversation,
            self.at,
            digest_of("relay", its.conversation, its.model, kind, *told)[:_ID],
        )


def _turns(where: _Where) -> Iterator[Event]:
    """Yield what the person said that no answer followed before."""
    its = where.asked
    new = its.turns[len(its.turns) - its.fresh :] if its.fresh else ()
    for turn in new:
        kind = EventKind.CORRECTION if _corrects(turn.words, where) else EventKind.TURN
        told = own_words(turn.words) if kind is EventKind.CORRECTION else turn.words
        yield where.event(kind, told or turn.words, Role.USER, turn.key or its.follows, turn.words)


def _corrects(words: str, where: _Where) -> bool:
    before = AgentTurn("", where.at, where.asked.before, ())
    return read(Exchange(PersonTurn("", where.at, words, Channel.PROMPT), before)).correction


def _answer(said: Said, where: _Where, at: datetime) -> Iterator[Event]:
    """Yield what the model said, with the calls it made."""
    lines = [
        f"[{call.name}: {line}]" if (line := line_of(call)) else f"[{call.name}]"
        for call in said.calls
    ]
    text = "\n".join(filter(None, [strip_blocks(said.text), *lines]))
    if text:
        its = where.asked
        keys = [turn.key for turn in its.turns[-1:]]
        made = where.event(
            EventKind.TURN, text, Role.ASSISTANT, keys, its.length, its.follows, text
        )
        yield replace(made, at=at)


def _deploys(ran: tuple[Ran, ...], known: OrderedDict[str, Made], where: _Where) -> Iterator[Event]:
    """Yield the calls that came back well and put work before others."""
    for one in ran:
        call = one.call if one.call.arguments else known.get(one.call.id, one.call)
        step = "" if one.failed else deploy_in(command_in(call))
        if step:
            yield where.event(
                EventKind.DEPLOY, step, Role.NONE, call.id or where.asked.length, step
            )


def line_of(call: Made) -> str:
    """Return the first line of what a call is for."""
    given = _given(call)
    told = next((_text(given[key]) for key in _TELLING if given.get(key)), "")
    return told.strip().partition("\n")[0][:LINE_CHARACTERS].rstrip()


def command_in(call: Made) -> str:
    """Return the command line that a call of a shell runs, "" for other tools."""
    given = _given(call)
    return next((_text(given[key]) for key in _SHELLS if given.get(key)), "")


def _given(call: Made) -> dict[str, object]:
    try:
        read_ = msgspec.json.decode(call.arguments)
    except msgspec.MsgspecError:
        return {"input": call.arguments.decode(errors="replace")}
    return read_ if isinstance(read_, dict) else {"input": read_}


def _text(value: object) -> str:
    """Return a text, or a command given as a list of words; `bash -lc` runs its last."""
    if isinstance(value, list):
        words = [one for one in value if isinstance(one, str)]
        return (
            words[-1]
            if words[1:2] and words[1].startswith("-") and "c" in words[1]
            else " ".join(words)
        )
    return value if isinstance(value, str) else ""
