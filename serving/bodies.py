"""The bodies of our own API: read whole before a route sees them, and never more than a limit."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serving.problems import problem

LONGEST: Final = 4 * 1024 * 1024
"""Bytes of a body: a thousand events of usual size."""


class Limited:
    """Let through requests whose body is not too long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, and hand on or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        pieces: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            pieces.append(message.get("body", b""))
            more = message.get("more_body", False)
            if sum(map(len, pieces)) > LONGEST:
                too_long = problem(413, f"everest: a body may have {LONGEST >> 20} MB")
                too_long.headers["connection"] = "close"
                await too_long(scope, receive, send)
                return
        await self._app(scope, _again(b"".join(pieces), receive), send)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read, and then whatever comes."""
    given = False

    async def give() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give
