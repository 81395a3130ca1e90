"""The client side of the proxy: two methods, and aiohttp behind them.

Invariants: bytes are neither decoded nor added to in either direction, no redirect is followed, no
cookie is kept, and no proxy of the environment is used: the only server reached is the one named.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Final, Protocol

import aiohttp
from yarl import URL

from serving.proxy.apis import Headers

CONNECT: Final = 10.0
"""Seconds to reach a server; once it has the request it may think for as long as it likes."""
IDLE: Final = 30.0
"""Seconds that an unused connection is kept."""
AT_ONCE: Final = 1.0
"""Seconds within which a server hangs up that had closed a kept connection before we used it."""

_LONGEST_LINE: Final = 64 * 1024
_MOST_HEADERS: Final = 1000
_WHOLE: Final = 1 << 20
"""Above this a body is written piece by piece, so that a slow server holds back its sender."""
_PIECE: Final = 64 * 1024
_STATUSES: Final = range(200, 600)
"""Of whole answers; a switch of protocols, which nobody asked for, is none."""
_LEFT_OUT: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that aiohttp would add of its own."""

Body = bytes | AsyncIterator[bytes] | None


class UpstreamFailed(Exception):
    """The server could not be reached, or broke off; the message holds no part of a request."""


class Answer(Protocol):
    """A server's answer, its body still to come."""

    status: int
    headers: Headers

    def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes.

        Raises:
            UpstreamFailed: when the server broke off.
        """

    def close(self) -> None:
        """Be done with it: a connection whose body was not read to its end is cut."""


class Upstream(Protocol):
    """A client for many servers."""

    async def send(self, method: str, url: str, headers: Headers, body: Body) -> Answer:
        """Send a request and return its answer when the head has come.

        Raises:
            UpstreamFailed: when there is none.
        """

    async def close(self) -> None:
        """Close every connection."""


class AiohttpUpstream:
    """Upstream by aiohttp; make it inside a running loop.

    A server may close a kept connection just as a request sets out on it. Such a request is sent
    once more, on a connection of its own: one that hangs up within `AT_ONCE`, with no byte of an
    answer, has not begun to work for it. A body that is not held could not be sent again, so it
    goes on a connection of its own at once.
    """

    def __init__(self) -> None:
        reused = aiohttp.TraceConfig()
        reused.on_connection_reuseconn.append(_note)
        kept = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE)
        self._session = _session(kept, [reused])
        self._alone = _session(aiohttp.TCPConnector(limit=0, force_close=True), [])

    async def send(self, method: str, url: str, headers: Headers, body: Body) -> Answer:
        """Send a request; see `Upstream`."""
        request = _Request(method, url, headers, body)
        try:
            if not isinstance(body, bytes | None):
                return await request.sent(self._alone)
            return await self._kept(request)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise UpstreamFailed(type(error).__name__) from None

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()
        await self._alone.close()

    async def _kept(self, request: _Request) -> Answer:
        """Send a request on a kept connection; on another one if that was closed already."""
        begun, use = time.monotonic(), _Use()
        try:
            return await request.sent(self._session, use)
        except aiohttp.ClientConnectionError as error:
            if not use.again or _was_answered(error) or time.monotonic() - begun > AT_ONCE:
                raise
            return await request.sent(self._alone)


@dataclass(slots=True)
class _Use:
    """Whether a request went on a connection that was used before."""

    again: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    headers: Headers
    body: Body

    async def sent(self, session: aiohttp.ClientSession, use: _Use | None = None) -> Answer:
        body = self.body
        answer = await session.request(
            self.method,
            URL(self.url, encoded=True),
            headers=[(_text(name), _text(value)) for name, value in self.headers],
            data=_pieces(body) if isinstance(body, bytes) and len(body) > _WHOLE else body,
            allow_redirects=False,
            trace_request_ctx=use,
        )
        if answer.status not in _STATUSES:
            answer.close()
            raise UpstreamFailed(f"status {answer.status}")
        return _AiohttpAnswer(answer)


async def _note(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
    context.trace_request_ctx.again = True


def _was_answered(error: aiohttp.ClientConnectionError) -> bool:
    """Tell whether a part of an answer's head had come when the server hung up."""
    return not isinstance(getattr(error, "message", ""), str)


def _session(
    connector: aiohttp.TCPConnector, traces: list[aiohttp.TraceConfig]
) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=_LEFT_OUT,
        auto_decompress=False,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        max_headers=_MOST_HEADERS,
        trace_configs=traces,
    )


class _AiohttpAnswer:
    __slots__ = ("_answer", "headers", "status")

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer
        self.status = answer.status
        self.headers: Headers = list(answer.raw_headers)

    async def pieces(self) -> AsyncIterator[bytes]:
        content = self._answer.content
        try:
            while piece := await content.readany():
                yield piece
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UpstreamFailed(type(error).__name__) from None

    def close(self) -> None:
        self._answer.close()


def _text(sent: bytes) -> str:
    """Return header bytes as aiohttp, which writes UTF-8, gives them back."""
    try:
        return sent.decode()
    except UnicodeDecodeError:
        return sent.decode("latin-1")


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    view = memoryview(body)
    for start in range(0, len(body), _PIECE):
        yield bytes(view[start : start + _PIECE])
