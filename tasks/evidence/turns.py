"""Turns as they grow while records come in: one open turn of the agent's, everything else settled.

Invariant: a turn of the agent's ends only where words of the person's begin, and a call keeps the
first result that comes back for it, however late.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from tasks.domain.session import AgentTurn, PersonTurn, ToolCall, ToolResult, Turn


@dataclass(slots=True)
class _Open:
    """What the agent said and did since the person last spoke."""

    uuid: str
    at: datetime
    model: str
    texts: list[str] = field(default_factory=list)
    calls: dict[str, ToolCall] = field(default_factory=dict)
    message: str = ""

    def say(self, text: str, message: str) -> None:
        """Add a text block; a later record of the same message may repeat and lengthen it."""
        if self.texts and message and message == self.message and text.startswith(self.texts[-1]):
            self.texts[-1] = text
        else:
            self.texts.append(text)
        self.message = message

    def close(self) -> AgentTurn:
        return AgentTurn(
            self.uuid, self.at, "\n\n".join(self.texts), tuple(self.calls.values()), self.model
        )


class Turns:
    """The turns of one session, in order."""

    def __init__(self, settled: Iterable[Turn] = ()) -> None:
        self._done: list[Turn] = list(settled)
        self._known = len(self._done)
        self._touched: set[int] = set()
        self._open: _Open | None = None
        self._spoken = {turn.uuid for turn in self._done if isinstance(turn, PersonTurn)}
        self._where = {
            call.id: index
            for index, turn in enumerate(self._done)
            if isinstance(turn, AgentTurn)
            for call in turn.calls
        }

    @property
    def is_open(self) -> bool:
        """Tell whether the agent is speaking."""
        return self._open is not None

    @property
    def last_person(self) -> PersonTurn | None:
        """Return the turn of the person's that nothing has followed yet."""
        if self._open is not None or not self._done:
            return None
        last = self._done[-1]
        return last if isinstance(last, PersonTurn) else None

    def say(self, text: str, *, uuid: str, at: datetime, model: str, message: str) -> None:
        """Add what the agent said in one record."""
        self._agent(uuid, at, model).say(text, message)

    def call(self, call: ToolCall, *, uuid: str, at: datetime, model: str) -> None:
        """Add a call; one that is known by its id is the same call told again."""
        if call.id in self._where:
            return
        turn = self._agent(uuid, at, model)
        turn.calls.setdefault(call.id or uuid, call)

    def answer(self, call_id: str, result: ToolResult) -> ToolCall | None:
        """Attach a result to its call and return the call; None when no such call is known."""
        if self._open is not None and call_id in self._open.calls:
            calls = self._open.calls
            calls[call_id] = _answered(calls[call_id], result)
            return calls[call_id]
        index = self._where.get(call_id)
        turn = self._done[index] if index is not None else None
        if index is None or not isinstance(turn, AgentTurn):
            return None
        calls = {call.id: call for call in turn.calls}
        calls[call_id] = _answered(calls[call_id], result)
        self._done[index] = replace(turn, calls=tuple(calls.values()))
        self._touched.add(index)
        return calls[call_id]

    def person(self, turn: PersonTurn) -> None:
        """Add words of the person's; a second piece from the same record joins the first."""
        last = self.last_person
        if last is not None and last.uuid == turn.uuid:
            self._done[-1] = replace(last, text=f"{last.text}\n{turn.text}")
            return
        if turn.uuid in self._spoken:
            return  # a record of the queue, which has no uuid of its own, appended again
        self._settle()
        self._spoken.add(turn.uuid)
        self._done.append(turn)

    def all(self) -> tuple[Turn, ...]:
        """Return every turn, the open one as it stands."""
        return (*self._done, *([self._open.close()] if self._open is not None else []))

    def changed(self) -> tuple[Turn, ...]:
        """Return the turns that are new, or known before and changed since, in order."""
        old = [self._done[index] for index in sorted(self._touched) if index < self._known]
        return (*old, *self.all()[self._known :])

    def _agent(self, uuid: str, at: datetime, model: str) -> _Open:
        if self._open is None:
            self._open = _Open(uuid, at, model)
        self._open.model = self._open.model or model
        return self._open

    def _settle(self) -> None:
        if self._open is None:
            return
        for key in self._open.calls:
            self._where[key] = len(self._done)
        self._done.append(self._open.close())
        self._open = None


def _answered(call: ToolCall, result: ToolResult) -> ToolCall:
    return call if call.result is not None else ToolCall(call.id, call.name, call.line, result)
