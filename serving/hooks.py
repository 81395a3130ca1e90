"""`POST /hook/<agent>/<event>`: a hook's standard input in, what the hook is to print out.

It is answered on the unix socket alone, always with 200 and soon. Invariant: whatever goes wrong,
or takes too long, is an empty answer and a count: memory never stands in an agent's way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from starlette.types import Receive, Scope, Send

from serving.admit import Admitted
from serving.metrics import Counters
from serving.priming import Decision, Priming
from serving.problems import problem
from serving.proxy.apis import Headers
from serving.proxy.asking import session_in
from serving.proxy.behind import Behind
from serving.questions import Questions
from tasks import spool
from tasks.domain.clock import utc_now
from tasks.domain.scope import Scope as MemoryScope
from tasks.hooks import failures
from tasks.hooks.contract import Compacting, Ended, Happening, answer, happening
from tasks.hooks.moments import Arriving, Point, Silence, due
from tasks.paused import paused
from tasks.prime import Candidate
from tasks.settings import Places
from tasks.shown import Told

PATH: Final = "/hook/"
LONGEST: Final = 8 << 20
"""Bytes of an input that are read: a tool call may write a whole file."""

PROBED: Final = "probe"
"""The outcome, and the query, of a hook that `everest doctor` fires to see whether it answers."""

LATE: Final = "late"
FAILED: Final = "failed"
"""What came of hooks that got no answer."""

Decide = Callable[[Told], Decision]
"""Decides, given what the conversation was told."""

_log = logging.getLogger(__name__)


class _Gone(Exception):
    """The client went away before it had sent everything."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Answers hooks.

    Attributes:
        priming: what decides.
        questions: reads the words that lessons are compared with.
        budget: seconds that an answer may take; the client waits a little longer.
        behind: does what the agent need not wait for.
        places: where a pause and what ended is noted.
    """

    priming: Priming
    questions: Questions
    budget: float
    counters: Counters
    behind: Behind = field(repr=False)
    places: Places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope.get("state", {}).get("uid") is None or scope["method"] != "POST":
            await problem(404, "everest: hooks are answered on the unix socket alone, to POST")(
                scope, receive, send
            )
            return
        try:
            data = await _read(receive)
        except _Gone:
            return
        agent, _, name = scope["path"].removeprefix(PATH).partition("/")
        if scope.get("query_string") == PROBED.encode():
            await _respond(send, self.probed(agent, name))
            return
        leaving = asyncio.ensure_future(receive())  # what comes next is that the client leaves
        try:
            await _respond(send, await self.answer(agent, name, data, leaving.done))
        finally:
            leaving.cancel()

    def probed(self, agent: str, name: str) -> bytes:
        """Count a hook that is tried out; return what every such hook is to print, nothing."""
        one = happening(agent, name, b"")
        if one is None:
            self.counters.hooks.add("other", "unknown")
        else:
            self.counters.hooks.add(one.agent.value, PROBED)
        return b""

    def placed(self, admitted: Admitted, headers: Headers) -> Admitted:
        """Return a request that names no project as one of its conversation's, if it may be there.

        So a conversation that hooks tell of has one memory, whichever way it is told.
        """
        grant = admitted.grant
        if grant is None or grant.project is not None:
            return admitted
        project = self.priming.project_of(session_in(headers))
        if project is None or not grant.opens(project):
            return admitted
        return replace(admitted, grant=grant.narrowed(project))

    async def answer(
        self, agent: str, name: str, data: bytes | None, gone: Callable[[], bool]
    ) -> bytes:
        """Return what a hook is to print; nothing when anything goes wrong.

        Args:
            agent: as the path names it.
            name: the event, likewise.
            data: the hook's input, None for one that was too long.
            gone: tells whether the client waits no longer: then nothing counts as told.
        """
        one = happening(agent, name, data) if data is not None else None
        if one is None:
            self.counters.hooks.add("other", "unknown")
            return b""
        outcome, printed = FAILED, b""
        try:
            async with asyncio.timeout(self.budget):
                outcome, printed = await self._answered(one, gone)
        except TimeoutError:
            outcome = LATE
            self._failed(one, LATE)
        except Exception as error:  # noqa: BLE001  an agent is never stopped by its memory
            self._failed(one, type(error).__name__)
        self.counters.hooks.add(one.agent.value, outcome)
        return printed

    def _failed(self, one: Happening, kind: str) -> None:
        """Have a failure noted where `everest status` looks."""
        _log.warning("a hook could not be answered: %s", kind)
        told = (self.places.spool, one.agent.value, one.name, kind)
        self.behind(partial(failures.note, *told, at=utc_now()))

    async def _answered(self, one: Happening, gone: Callable[[], bool]) -> tuple[str, bytes]:
        if paused(self.places.home, now=utc_now()) is not None:
            return "paused", b""
        if isinstance(one.what, Ended | Compacting):
            return await asyncio.to_thread(self._noted, one), b""
        point = due(one)
        if isinstance(point, Silence):
            return point.why, b""
        where = await asyncio.to_thread(self.priming.place, one)
        if isinstance(where, Silence):
            return where.why, b""
        if isinstance(point, Arriving):
            news = await asyncio.to_thread(self.priming.news, one, where)
            return self._settled(
                one, where, gone, lambda told: self.priming.hand_over(one, news, told)
            )
        found = await self._candidates(one, point, where)
        return self._settled(
            one, where, gone, lambda told: self.priming.prime(one, point, found, told)
        )

    async def _candidates(
        self, one: Happening, point: Point, where: MemoryScope
    ) -> Sequence[Candidate]:
        found = await asyncio.to_thread(self.priming.settled, one, point, where)
        if found is not None:
            return found
        question = await self.questions.of(point.words)
        return await asyncio.to_thread(
            self.priming.source.candidates, question, where, point.moment
        )

    def _noted(self, one: Happening) -> str:
        """Leave word that what was said is to be read; return what came of it."""
        if one.subagent or not one.transcript:
            return "nameless"
        where = self.priming.place(one)
        if isinstance(where, Silence):
            return where.why
        ended = spool.Ended(one.agent.value, one.session, one.transcript)
        spool.note_end(self.places.spool, ended, at=utc_now())
        return "noted"

    def _settled(
        self, one: Happening, where: MemoryScope, gone: Callable[[], bool], decide: Decide
    ) -> tuple[str, bytes]:
        """Decide and take note of it in one go, so that two hooks at once never tell the same."""
        if gone():
            return LATE, b""
        told = self.priming.told(one, where)
        if isinstance(told, Silence):
            return told.why, b""
        made = decide(told)
        self.priming.take(one, told, made)
        self.behind(partial(self.priming.keep, one, where, made))
        return made.outcome, answer(one, made.text)


async def _read(receive: Receive) -> bytes | None:
    """Return a request's body; None when it is too long to be looked at."""
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        piece = message.get("body", b"")
        size, more = size + len(piece), message.get("more_body", False)
        if size <= LONGEST:
            pieces.append(piece)
    return b"".join(pieces) if size <= LONGEST else None


async def _respond(send: Send, printed: bytes) -> None:
    length = str(len(printed)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": printed})
