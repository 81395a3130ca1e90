"""An agent at the other end of `everest serve` or `/mcp`: raw lines, and the real `mcp` client."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.serving.running import RunningProxy
from tests.serving.shipped import COMMAND, Everest

T = TypeVar("T")
MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


class Lines:
    """A running `everest serve`, spoken to by lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._in, self._out = process, process.stdin, process.stdout

    def send(self, line: bytes | dict[str, Any]) -> None:
        self._in.write((json.dumps(line).encode() if isinstance(line, dict) else line) + b"\n")
        self._in.flush()

    def read(self) -> dict[str, Any]:
        line = self._out.readline()
        assert line, "it ended"
        told: dict[str, Any] = json.loads(line)
        assert told["jsonrpc"] == "2.0"
        return told

    def ask(self, method: str, params: dict[str, Any] | None = None, id_: Any = 1) -> Any:
        """Ask and return the whole answer."""
        self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}})
        told = self.read()
        assert told["id"] == id_
        return told

    def begin(self, version: str = LEGACY[-1]) -> dict[str, Any]:
        """Shake hands as an older client does; return what the server says of itself."""
        said = {"protocolVersion": version, "capabilities": {}, "clientInfo": {}}
        said["clientInfo"] = {"name": "a test", "version": "1"}
        told: dict[str, Any] = self.ask("initialize", said)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return told

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its result."""
        told = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert "result" in told, told
        result: dict[str, Any] = told["result"]
        return result

    def end(self) -> tuple[int, bytes, bytes]:
        """Close its input; return how it ended, and what else it said."""
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@contextmanager
def serving(person: Everest, *words: str, **env: str | None) -> Iterator[Lines]:
    """Run `everest serve` until the block ends."""
    process = subprocess.Popen(
        [str(COMMAND), "serve", *words],
        env=person.env(**env),
        cwd=person.cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield Lines(process)
    finally:
        process.kill()
        process.communicate(timeout=30)


def over_stdio(person: Everest, mode: str, talk: Callable[[Client], Awaitable[T]]) -> T:
    """Let the real client start `everest serve` and talk to it."""
    command = StdioServerParameters(
        command=str(COMMAND), args=["serve"], env=person.env(), cwd=person.cwd
    )

    async def talked() -> T:
        async with Client(stdio_client(command), mode=mode) as client:
            return await talk(client)

    return asyncio.run(talked())


def over_http(
    proxy: RunningProxy, mode: str, talk: Callable[[Client], Awaitable[T]], **headers: str
) -> T:
    """Let the real client talk to `/mcp` of a running proxy."""

    async def talked() -> T:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{proxy.url}/mcp", http_client=http), mode=mode) as c,
        ):
            return await talk(c)

    return asyncio.run(talked())


def modern(method: str, **params: Any) -> dict[str, Any]:
    """Return a request of the stateless revision."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, **params}}
