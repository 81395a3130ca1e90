"""A model server that says what a test scripts and keeps what it got, byte for byte.

It runs in a thread with a loop of its own and speaks HTTP/1.1 by hand, so that a test decides over
every byte, pause and break of an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came over the wire; `head` has its request line and headers."""

    head: bytes
    body: bytes

    @property
    def method(self) -> str:
        return self.head.split(b" ", 1)[0].decode()

    @property
    def target(self) -> str:
        return self.head.split(b" ", 2)[1].decode("latin-1")

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def headers(self) -> list[tuple[str, str]]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return [
            (n.lower(), v.strip()) for n, _, v in (line.partition(":") for line in lines if line)
        ]

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait, in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Wait until the test lets go."""

    event: threading.Event


@dataclass(frozen=True, slots=True)
class Break:
    """Cut the connection in the middle of the answer."""


Step = bytes | Pause | Hold | Break


@dataclass(frozen=True, slots=True)
class Reply:
    """What to answer: a status, headers, and the body in steps.

    Attributes:
        before: steps before the head: a slow first byte.
        length: send a Content-Length in place of chunks.
    """

    steps: Sequence[Step] = ()
    status: int = 200
    headers: Sequence[tuple[str, str]] = (("content-type", "application/json"),)
    before: Sequence[Step] = ()
    length: bool = False


Script = Callable[[Received], Reply]


@dataclass
class Upstream:
    """A running server; use it as a context manager.

    Attributes:
        received: every request, in the order in which they were whole.
        begun: targets of requests whose head has come.
        left: targets of requests whose client went away before the answer's end.
        sent: bytes of bodies that the system took so far.
    """

    script: Script
    received: list[Received] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    sent: int = 0
    connections: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve(ready))
        self._loop.close()

    async def _serve(self, ready: threading.Event) -> None:
        self._stopped = asyncio.Event()
        server = await asyncio.start_server(self._talk, "127.0.0.1", self.port, limit=1 << 20)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stopped.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.begun.append(head.split(b" ", 2)[1].decode("latin-1"))
                request = Received(head, await _body(head, reader))
                self.received.append(request)
                await self._answer(request, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, EOFError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        reply = self.script(request)
        whole = b"".join(step for step in reply.steps if isinstance(step, bytes))
        try:
            for step in reply.before:
                await self._take(step, reader, writer)
            head = [f"HTTP/1.1 {reply.status} Scripted"]
            head += [f"{name}: {value}" for name, value in reply.headers]
            bodiless = request.method == "HEAD" or reply.status in (204, 304)
            chunked = not reply.length and not bodiless
            head.append(
                "transfer-encoding: chunked" if chunked else f"content-length: {len(whole)}"
            )
            writer.write("\r\n".join(head).encode("latin-1") + b"\r\n\r\n")
            for step in () if bodiless else reply.steps:
                await self._take(_chunk(step) if chunked else step, reader, writer)
            if chunked:
                writer.write(b"0\r\n\r\n")
            await writer.drain()
        except (ConnectionError, EOFError):
            self.left.append(request.target)
            raise

    async def _take(
        self, step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        match step:
            case bytes():
                writer.write(step)
                await writer.drain()
                self.sent += len(step)
            case Pause(seconds):
                await self._wait(seconds, reader)
            case Hold(event):
                while not event.is_set():
                    await self._wait(0.01, reader)
            case Break():
                writer.transport.abort()
                raise EOFError

    async def _wait(self, seconds: float, reader: asyncio.StreamReader) -> None:
        """Wait, and notice a client that went away meanwhile."""
        end = self._loop.time() + seconds
        while (left := end - self._loop.time()) > 0:
            if reader.at_eof():
                raise ConnectionResetError
            await asyncio.sleep(min(left, 0.01))


def _chunk(step: Step) -> Step:
    return b"%x\r\n%b\r\n" % (len(step), step) if isinstance(step, bytes) else step


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    lines = [line.partition(b":") for line in head.lower().split(b"\r\n")]
    fields = {name: value.strip() for name, _, value in lines}
    if b"transfer-encoding" not in fields:
        return await reader.readexactly(int(fields.get(b"content-length", b"0")))
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)
