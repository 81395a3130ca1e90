"""The client side of the proxy: two methods, and aiohttp behind them.

Invariants: bytes are neither decoded nor added to in either direction, no redirect is followed, no
cookie is kept, and no proxy of the environment is used: the only server reached is the one named.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, Protocol

import aiohttp
from yarl import URL

from serving.proxy.apis import Headers

CONNECT: Final = 10.0
"""Seconds to reach a server; once it has the request it may think for as long as it likes."""
IDLE: Final = 30.0
"""Seconds that an unused connection is kept."""

_LONGEST_LINE: Final = 64 * 1024
_MOST_HEADERS: Final = 1000
_AT_ONCE: Final = 1 << 20
"""Above this a body is written piece by piece, so that a slow server holds back its sender."""
_PIECE: Final = 64 * 1024
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
    """Upstream by aiohttp; make it inside a running loop."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_LEFT_OUT,
            auto_decompress=False,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
            max_headers=_MOST_HEADERS,
        )

    async def send(self, method: str, url: str, headers: Headers, body: Body) -> Answer:
        """Send a request; see `Upstream`."""
        try:
            answer = await self._session.request(
                method,
                URL(url, encoded=True),
                headers=[(_text(name), _text(value)) for name, value in headers],
                data=_pieces(body) if isinstance(body, bytes) and len(body) > _AT_ONCE else body,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise UpstreamFailed(type(error).__name__) from None
        return _AiohttpAnswer(answer)

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()


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
