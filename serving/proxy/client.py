"""The client's end of one proxied request: its body as it comes, and its going away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.types import Receive

from serving.proxy.apis import Headers, carries_json

LONGEST_BODY: Final = 64 << 20
"""Bytes of a body that is held to be read; the largest that known servers take is 32 MB."""

UNWATCHED: Final = 0.02
"""Seconds after a request in which its client's leaving goes unnoticed."""


class ClientGone(Exception):
    """The client went away before its request was whole."""


class BodyTooLong(Exception):
    """A body that must be read before it is sent on is longer than we hold."""


class Client:
    """Reads a request's body, and cancels the work for it when the client goes away."""

    __slots__ = ("_over", "_receive", "_soon", "_watch", "_work", "gone")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._work = asyncio.current_task()
        self._soon: asyncio.TimerHandle | None = None
        self._watch: asyncio.Task[None] | None = None
        self._over = False
        self.gone = False

    async def body(self, headers: Headers) -> bytes | AsyncIterator[bytes]:
        """Return the body: whole if it is short or JSON, else as a stream that is not held.

        Raises:
            ClientGone: when the client went away meanwhile.
            BodyTooLong: when it is JSON and longer than `LONGEST_BODY`.
        """
        first, more = await self._next()
        if not more:
            return first
        if not carries_json(headers):
            return self._stream(first)
        return await self._whole(first)

    def watch(self) -> None:
        """Cancel the present task when the client goes away.

        Looked for from `UNWATCHED` on: most short answers are there before.
        """
        self._soon = asyncio.get_running_loop().call_later(UNWATCHED, self._begin)

    def finish(self) -> None:
        """Take the work for done: what the client does from here on cancels nothing."""
        self._over = True

    def close(self) -> None:
        """Watch no longer."""
        self._over = True
        if self._soon is not None:
            self._soon.cancel()
        if self._watch is not None:
            self._watch.cancel()

    def forgive(self) -> None:
        """Take back the cancelling of the work, once it has stopped."""
        if self._work is not None:
            self._work.uncancel()

    async def _next(self) -> tuple[bytes, bool]:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._leave()
            raise ClientGone
        return message.get("body", b""), message.get("more_body", False)

    async def _whole(self, first: bytes) -> bytes:
        parts, size, more = [first], len(first), True
        while more:
            part, more = await self._next()
            parts.append(part)
            size += len(part)
            if size > LONGEST_BODY:
                raise BodyTooLong
        return b"".join(parts)

    async def _stream(self, first: bytes) -> AsyncIterator[bytes]:
        yield first
        more = True
        while more:
            part, more = await self._next()
            if part:
                yield part
        self.watch()

    def _begin(self) -> None:
        self._watch = asyncio.create_task(self._await_leaving())

    async def _await_leaving(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()

    def _leave(self) -> None:
        if not self._over and self._work is not None and not self.gone:
            self.gone = True
            self._work.cancel()
