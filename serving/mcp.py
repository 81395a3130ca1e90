"""The door's `/mcp`: streamable HTTP by the official SDK, which only a first request loads.

The SDK takes half a second and tens of megabytes to import, so a process that no agent asks by MCP
never pays for it. No sessions are kept: each request stands alone in either era of the protocol.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

from starlette.types import Receive, Scope, Send

from serving.bound import MakeBound

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_ONLY_POST: Final = "everest keeps no stream open; send each message by POST"
_NOT_LET_IN: Final = (
    "everest: no token; send one as `Authorization: Bearer`, as the header x-everest-token, or in "
    "the URL as /t/<token>/p/<project>/mcp; `everest token add` makes one"
)


class McpEndpoint:
    """The endpoint as an ASGI application."""

    def __init__(self, bound: MakeBound) -> None:
        self._bound = bound
        self._stop = asyncio.Event()
        self._held: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "POST":
            await _refuse(send, 405, _ONLY_POST)
            return
        if scope["state"].get("grant") is None:  # 401 would send clients to look for OAuth
            await _refuse(send, 403, _NOT_LET_IN)
            return
        manager = await self._manager()
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End what is under way."""
        self._stop.set()
        if self._held is not None:
            await self._held

    async def _manager(self) -> StreamableHTTPSessionManager:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._held = asyncio.create_task(self._hold(self._ready))
        return await asyncio.shield(self._ready)

    async def _hold(self, ready: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """Keep the SDK's task group open, in one task, from the first request to the end."""
        try:
            manager = await asyncio.to_thread(_loaded, self._bound)
        except Exception as error:  # noqa: BLE001  whoever waits for it is told
            ready.set_exception(error)
            self._ready = None  # the next request tries again
            return
        async with manager.run():
            ready.set_result(manager)
            await self._stop.wait()


def _loaded(bound: MakeBound) -> StreamableHTTPSessionManager:
    from serving.mcp_server import http_manager  # noqa: PLC0415  see the module's docstring

    return http_manager(bound)


async def _refuse(send: Send, status: int, why: str) -> None:
    error = {"code": -32600, "message": why}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"allow", b"POST"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
