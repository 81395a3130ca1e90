"""The door's application: our own API by FastAPI, and everything else by the proxy, plain ASGI.

What is ours is told by its path alone; any other path is some model server's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from serving.admit import Admitted, Denied
from serving.bodies import Limited
from serving.describe import described
from serving.guard import Guard
from serving.health import health_routes
from serving.hooks import PATH
from serving.mcp import McpEndpoint
from serving.memory_api import router as memory_routes
from serving.problems import problem
from serving.proxy.apis import api_of, is_looked_at
from serving.proxy.forward import Forward, Refusal, refuse
from serving.proxy.warm import warm
from serving.state import Serving
from serving.warm import bound_to
from tasks.domain.clock import utc_now
from tasks.paused import paused

_WELCOME: Final = (
    "Everest's proxy: point an app's base URL here (its README says how).\n"
    "How it does: /health, /metrics. Its own API: /openapi.json.\n"
)
OWN: Final = frozenset(
    ("health", "metrics", "memory", "mcp", "hook", "docs", "redoc", "openapi.json", ".well-known")
)
"""First parts of the paths that are ours; the last is where MCP's clients look for OAuth, with the
path that they were given and a token in it, so it is answered here."""


class App:
    """Parts our own paths from the proxied ones.

    Attributes:
        api: the FastAPI application of our own paths.
        mcp: the endpoint of MCP among them.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._forward: Forward | None = None
        self.api = described(self._lifespan)
        self.api.state.serving = serving
        self.api.include_router(health_routes(serving))
        self.api.include_router(memory_routes)
        self._own = Limited(self.api)
        self.mcp = McpEndpoint(bound_to(serving))
        self.api.router.routes.append(Route("/mcp", self.mcp, include_in_schema=False))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or run the application's life."""
        if scope["type"] != "http" or self._forward is None:
            await self.api(scope, receive, send)
            return
        admitted = self._serving.door.admit(scope)
        if isinstance(admitted, Denied) and _is_ours(admitted.path):
            await problem(admitted.status, admitted.message)(scope, receive, send)
        elif isinstance(admitted, Denied):
            api = api_of(admitted.path, scope["headers"])
            await refuse(send, api, Refusal(admitted.status, admitted.message))
        elif admitted.path.startswith(PATH):
            await self._serving.hooks(_own_scope(scope, admitted), receive, send)
        elif is_looked_at(scope["method"], admitted.path, scope["headers"]):
            await PlainTextResponse(_WELCOME)(scope, receive, send)
        elif _is_ours(admitted.path):
            await self._own(_own_scope(scope, admitted), receive, send)
        else:
            placed = self._serving.hooks.placed(admitted, scope["headers"])
            await self._forward(scope, receive, send, placed)

    @asynccontextmanager
    async def _lifespan(self, _api: FastAPI) -> AsyncIterator[None]:
        serving, upstream = self._serving, self._serving.client()
        self._forward = Forward(
            serving.routes,
            upstream,
            serving.counters,
            serving.addition,
            serving.tee,
            serving.settings.proxy_budget,
            lambda: paused(serving.places.home, now=utc_now()) is not None,
        )
        serving.reader.start()
        serving.collecting.start()
        serving.behind(serving.chains.load)
        serving.behind(warm)
        try:
            yield
        finally:
            self._forward = None
            await self.mcp.close()
            await asyncio.to_thread(serving.collecting.close)
            await asyncio.to_thread(serving.behind.close)  # it appends by the reader
            serving.reader.close()
            await upstream.close()


def create_app(serving: Serving) -> ASGIApp:
    """Return the whole application; its upstream client is made when it starts."""
    return Guard(App(serving), serving.origins)


def _is_ours(path: str) -> bool:
    return path[1:].partition("/")[0] in OWN


def _own_scope(scope: Scope, admitted: Admitted) -> Scope:
    """Return the scope of a request of ours, with its grant in the state and no token in a path."""
    told = {"grant": admitted.grant, "trouble": admitted.trouble}
    state = {**scope.get("state", {}), **told}
    raw = admitted.path.encode("ascii")
    return {**scope, "path": admitted.path, "raw_path": raw, "state": state}
