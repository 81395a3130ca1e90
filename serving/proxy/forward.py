"""The proxy: takes a request to its route's server and relays the answer as it comes.

Invariants: a request that gets no addition leaves byte for byte as it came; an answer's bytes reach
the client before the tee; a client that goes away cancels the call; whatever fails in memory, the
request goes through.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Final

from starlette.types import Receive, Scope, Send

from serving.admit import Admitted
from serving.grants import Grant
from serving.metrics import Counters
from serving.proxy.apis import Api, Headers, api_of, error_body, header, model_in
from serving.proxy.calls import Addition, Call, MakeTee, Tee
from serving.proxy.client import LONGEST_BODY, BodyTooLong, Client, ClientGone
from serving.proxy.heads import incoming, outgoing, readable, without_key
from serving.proxy.routes import NoRoute, Routes
from serving.proxy.upstream import Answer, Body, Upstream, UpstreamFailed

BUDGET: Final = 0.030
"""Seconds that an addition may take if nothing else is set; then the request goes as it came."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer of our own in place of a server's."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Forward:
    """The proxy, below whatever decides who may.

    Attributes:
        addition: what may be put into a request that has a grant; None adds nothing.
        tee: who reads the answers to such requests; None reads none.
        budget: seconds that an addition may take; after them the request goes as it came.
        rests: tells whether memory has no part in any request just now.
    """

    routes: Routes
    upstream: Upstream
    counters: Counters
    addition: Addition | None = None
    tee: MakeTee | None = None
    budget: float = BUDGET
    rests: Callable[[], bool] = lambda: False

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send, admitted: Admitted
    ) -> None:
        """Answer one request that was let in."""
        api = api_of(admitted.path, scope["headers"])
        client = Client(receive)
        self.counters.in_flight.add(api)
        try:
            status = await self._answer(scope, client, send, api, admitted)
        except (ClientGone, asyncio.CancelledError):
            if not client.gone:
                raise
            client.forgive()
            status = 499
        finally:
            client.close()
            self.counters.in_flight.add(api, by=-1)
        self.counters.requests.add(api, str(status))

    async def _answer(
        self, scope: Scope, client: Client, send: Send, api: Api, admitted: Admitted
    ) -> int:
        """Send an answer, the server's or our own; return its status."""
        headers: Headers = scope["headers"]
        if (header(headers, b"upgrade") or b"").lower() == b"websocket":
            return await refuse(send, api, _NO_WEBSOCKET)
        try:
            body = await client.body(headers)
        except BodyTooLong:
            return await refuse(send, api, _TOO_LONG)
        held = body if isinstance(body, bytes) else None
        model = model_in(api, admitted.path, held)
        route = self.routes.choose(api, model)
        if isinstance(route, NoRoute):
            return await refuse(send, api, Refusal(400, route.message))
        call = Call(
            scope["method"],
            admitted.path,
            scope["query_string"].decode("latin-1"),
            headers,
            held,
            api,
            model,
            route if admitted.grant is not None else route.without_key(),
            None if admitted.grant is None or self.rests() else admitted.grant,
        )
        if held is not None:
            body = await self._added(call, held)
            client.watch()
        return await self._relay(call, body, client, send)

    async def _added(self, call: Call, body: bytes) -> bytes:
        """Return the body to send: with what is added in time, else as it came."""
        if self.addition is None or call.grant is None or not body:
            return body
        try:
            async with asyncio.timeout(self.budget):
                added = await self.addition(call)
        except TimeoutError:
            self.counters.additions.add("late")
            return body
        except Exception as error:  # noqa: BLE001  memory may never stop a request
            _log.warning("an addition failed: %s", type(error).__name__)
            self.counters.additions.add("failed")
            return body
        self.counters.additions.add(_outcome(call.grant, added))
        return body if added is None else added

    async def _relay(
        self, call: Call, body: bytes | AsyncIterator[bytes], client: Client, send: Send
    ) -> int:
        try:
            answer = await self._ask(call, body)
        except UpstreamFailed as failed:
            self.counters.upstream_failures.add(call.api, str(failed))
            why = f"everest: no answer from {call.route.origin} ({failed})"
            return await refuse(send, call.api, Refusal(502, why))
        reader = _Reader(self._tee_of(call, answer), self.counters)
        try:
            await _pass_on(answer, client, send, reader)
        except UpstreamFailed as failed:  # cut the client off too: an end would tell it all came
            self.counters.upstream_failures.add(call.api, str(failed))
        finally:
            answer.close()
            reader.done()
        return answer.status

    async def _ask(self, call: Call, body: bytes | AsyncIterator[bytes]) -> Answer:
        route = call.route
        headers = outgoing(call.headers, route, length_is_known=isinstance(body, bytes))
        if self.tee is not None and call.grant is not None:
            headers = readable(headers)
        query = call.query if route.key is None else without_key(call.query)
        sent: Body = body or None
        return await self.upstream.send(call.method, route.url_of(call.path, query), headers, sent)

    def _tee_of(self, call: Call, answer: Answer) -> Tee | None:
        if self.tee is None or call.grant is None:
            return None
        try:
            return self.tee(call, answer.status, answer.headers)
        except Exception as error:  # noqa: BLE001  memory may never stop an answer
            _log.warning("an answer's reader failed: %s", type(error).__name__)
            self.counters.tees.add("failed")
            return None


def _outcome(grant: Grant, added: bytes | None) -> str:
    """Return in a word what came of an addition; of several projects none was named."""
    if added is None:
        return "none" if grant.project is not None else "no project"
    return "added"


async def _pass_on(answer: Answer, client: Client, send: Send, reader: _Reader) -> None:
    headers = incoming(answer.status, answer.headers)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    async for piece in answer.pieces():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        reader.feed(piece)
    client.finish()
    reader.whole = True
    await send({"type": "http.response.body"})


class _Reader:
    """A tee that cannot hurt: what it raises is counted, and it gets nothing more."""

    __slots__ = ("_counters", "_tee", "whole")

    def __init__(self, tee: Tee | None, counters: Counters) -> None:
        self._tee = tee
        self._counters = counters
        self.whole = False

    def feed(self, piece: bytes) -> None:
        if self._tee is not None:
            with self._harmless():
                self._tee.feed(piece)

    def done(self) -> None:
        if self._tee is not None:
            with self._harmless():
                self._tee.done(whole=self.whole)
                self._counters.tees.add("read" if self.whole else "broken off")

    @contextlib.contextmanager
    def _harmless(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001  memory may never stop an answer
            _log.warning("an answer's reader failed: %s", type(error).__name__)
            self._counters.tees.add("failed")
            self._tee = None


async def refuse(send: Send, api: Api, refusal: Refusal) -> int:
    """Answer with an error of our own, in the shape that the API's clients read."""
    body = error_body(api, refusal.status, refusal.message)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if refusal.status == 426:
        headers += [(b"upgrade", b"HTTP/1.1"), (b"connection", b"upgrade, close")]
    elif refusal.status == 413:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
    return refusal.status


_NO_WEBSOCKET: Final = Refusal(426, "everest: there is no WebSocket here; use HTTP")
_TOO_LONG: Final = Refusal(413, f"everest: a request may have {LONGEST_BODY >> 20} MB")
