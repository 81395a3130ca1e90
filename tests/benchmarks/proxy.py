"""Measure what the proxy adds: direct, through `everest proxy`, through a bare aiohttp one.

    python tests/benchmarks/proxy.py [--seconds S] [--rounds N] [--also NAME=URL]
                                     [--server-port PORT] [--httpx] [--memory] [--pause S] [--json]

Every arm talks to the same local server, in turn within each round, and the load comes from this
process on the same cores, so only ratios within a run mean something. Closed loop: each connection
asks again as soon as it has its answer. Offered: 100 requests a second over 64 connections, timed
from when each was due. `cpu` is the arm's own CPU time a request, which a busy machine disturbs
least. `--also` takes any other OpenAI-shaped proxy that forwards to the server, at `--server-port`
(LiteLLM, started by hand in an environment of its own); `--httpx` adds our proxy with httpx as its
client. `--memory` adds our proxy over the demo week's memory, at one connection: with new turns,
each of which begins a conversation in words of its own and is told a lesson, once where its words
alone decide that and once where its meaning must be had, and with a turn that was met before,
behind which the same bytes go again. What memory does behind an answer falls into the next request
here, since a closed loop leaves no pause as a model does; `--pause` leaves one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvloop

from tasks.demo import write_week

ANSWER = b'{"id":"x","choices":[{"message":{"content":"' + b"w" * 900 + b'"}}]}'
EVENT = b'data: {"choices":[{"delta":{"content":"' + b"w" * 40 + b'"}}]}\n\n'
EVENTS = 50
_BY_WORDS = "Open a pull request for the {}"
_BY_MEANING = "Do we use pnpm or npm in this repo for {}?"
_FOR = ("boat", "mast", "hull", "sail", "anchor", "rudder", "deck", "keel", "harbour", "tide",
        "chart", "buoy", "pier", "crew", "cargo", "wind", "rope", "lamp", "log", "map")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Load:
    """One kind of request and how it is offered; `rate` 0 is a closed loop.

    Attributes:
        pause: seconds that a connection waits before each request of a closed loop.
    """

    name: str
    size: int
    streamed: bool
    connections: int
    rate: float = 0
    pause: float = 0


LOADS = [
    *(Load("json 2 KB", 2_000, streamed=False, connections=n) for n in (1, 16, 64)),
    *(Load("json 200 KB", 200_000, streamed=False, connections=n) for n in (1, 16)),
    *(Load("stream 2 KB", 2_000, streamed=True, connections=n) for n in (1, 16, 64)),
    Load("json 2 KB", 2_000, streamed=False, connections=64, rate=100),
    Load("stream 2 KB", 2_000, streamed=True, connections=64, rate=100),
]


@dataclass(slots=True)
class Arm:
    """A way to the server: where it listens, and its process, whose CPU is counted.

    Attributes:
        begin: what goes before the path.
        asks: what each request asks, each of a conversation of its own; "" asks the same again.
        most: connections at which it is measured.
    """

    name: str
    port: int
    pid: int | None
    begin: str = ""
    asks: str = ""
    most: int = 64


@dataclass(slots=True)
class Run:
    """Seconds of each request, until its first body byte and its end."""

    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    took: float = 0
    cpu: float = 0


# --- the server: as fast as can be, so that it is not what is measured ---


class Server(asyncio.Protocol):
    """Answers by the target: `/stream…` with events in chunks, else with one JSON body."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._out: Any = transport
        self._got = bytearray()

    def data_received(self, data: bytes) -> None:
        self._got += data
        while (end := self._got.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._got[:end])
            length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._got) < whole:
                return
            streamed = b'"stream":true' in self._got[:whole]
            del self._got[:whole]
            if streamed:
                asyncio.get_running_loop().create_task(self._stream())
            else:
                head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                self._out.write(head + b"content-length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER))

    async def _stream(self) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        self._out.write(head + b"transfer-encoding: chunked\r\n\r\n")
        for _ in range(EVENTS):
            self._out.write(b"%x\r\n%b\r\n" % (len(EVENT), EVENT))
            await asyncio.sleep(0)
        self._out.write(b"0\r\n\r\n")


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def bare(upstream: str) -> None:
    """Run the least that an aiohttp pass-through can be: no routes, no headers looked at."""
    import aiohttp  # noqa: PLC0415
    from aiohttp import web  # noqa: PLC0415

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        async with session.request(
            request.method, upstream + request.path_qs, data=body, headers={"accept": "*/*"}
        ) as answer:
            given = web.StreamResponse(status=answer.status)
            given.content_type = answer.content_type
            if answer.content_length is not None:
                given.content_length = answer.content_length
            await given.prepare(request)
            async for piece in answer.content.iter_any():
                await given.write(piece)
            await given.write_eof()
            return given

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{tail:.*}", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()


def ours_by_httpx() -> None:
    """Run our proxy with httpx as the client behind the same two methods."""
    import httpx  # noqa: PLC0415

    import serving.run as running  # noqa: PLC0415
    from tasks.compose import setting  # noqa: PLC0415

    class Answer:
        def __init__(self, answer: httpx.Response, closing: list[Any]) -> None:
            self._answer, self._closing = answer, closing
            self.status = answer.status_code
            self.headers = answer.headers.raw

        async def pieces(self) -> AsyncIterator[bytes]:
            async for piece in self._answer.aiter_raw():
                yield piece
            await self._answer.aclose()

        def close(self) -> None:
            if not self._answer.is_closed:
                self._closing.append(asyncio.create_task(self._answer.aclose()))

    class Httpx:
        def __init__(self) -> None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
            self._client = httpx.AsyncClient(timeout=None, limits=limits, trust_env=False)
            self._closing: list[Any] = []

        async def send(self, method: str, url: str, headers: Any, body: Any) -> Answer:
            request = self._client.build_request(method, url, headers=headers, content=body)
            return Answer(await self._client.send(request, stream=True), self._closing)

        async def close(self) -> None:
            await self._client.aclose()

    made = running.serving_of
    running.serving_of = lambda *given, **more: replace(made(*given, **more), client=Httpx)  # type: ignore[assignment]
    running.run(setting(), lambda where: print(where["url"].rpartition(":")[2], flush=True))


# --- the load ---


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, raw: bytes) -> float:
    """Send one request and read its answer to the end; return when its first body byte came."""
    writer.write(raw)
    head = await reader.readuntil(b"\r\n\r\n")
    if b"200" not in head[:15]:
        raise RuntimeError(head.decode("latin-1"))
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    if length is not None:
        first = 0.0
        left = int(length[1])
        while left:
            left -= len(await reader.read(left))
            first = first or time.perf_counter()
        return first
    first = 0.0
    while size := int(await reader.readline(), 16):
        await reader.readexactly(size + 2)
        first = first or time.perf_counter()
    await reader.readline()
    return first


async def _connection(arm: Arm, load: Load, end: float, turns: Iterator[float], run: Run) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", arm.port, limit=1 << 20)
    raw = _request(load, arm.begin)
    try:
        while (due := next(turns)) < end:
            if arm.asks:
                raw = _request(load, arm.begin, arm.asks, new=time.monotonic_ns())
            if load.pause:
                await asyncio.sleep(load.pause)
            if load.rate:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            begun = due if load.rate else time.perf_counter()
            first = await _ask(reader, writer, raw)
            run.first.append(first - begun)
            run.whole.append(time.perf_counter() - begun)
    finally:
        writer.close()


def _request(load: Load, begin: str, asks: str = _BY_MEANING, new: int = 0) -> bytes:
    """Return a request's bytes; with `new` both turns of its person are in words of their own."""
    text = f"{new % 10**14:014d} " + "w " * ((load.size - 200) // 2)
    things = [_FOR[new // 20**n % 20] for n in (2, 3, 4)]
    told = [("user", text), ("assistant", "Good."), ("user", asks.format(" ".join(things)))]
    messages = [{"role": role, "content": words} for role, words in told]
    asked = {"model": "m", "stream": load.streamed, "messages": messages}
    body = json.dumps(asked, separators=(",", ":")).encode()
    head = f"POST {begin}/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    head += "authorization: Bearer sk-x\r\ncontent-type: application/json\r\n"
    head += f"content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _turns(load: Load) -> Iterator[float]:
    """Yield when each request is due, over all connections."""
    begun, n = time.perf_counter(), 0
    while True:
        yield begun + n / load.rate if load.rate else time.perf_counter()
        n += 1


async def _measured(arm: Arm, load: Load, seconds: float) -> Run:
    run = Run()
    cpu, begun = _cpu(arm), time.perf_counter()
    turns = _turns(load)
    await asyncio.gather(
        *(_connection(arm, load, begun + seconds, turns, run) for _ in range(load.connections))
    )
    run.took = time.perf_counter() - begun
    run.cpu = _cpu(arm) - cpu
    return run


def _cpu(arm: Arm) -> float:
    if arm.pid is None:
        return 0.0
    fields = Path(f"/proc/{arm.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _private(pid: int) -> float:
    told = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(n) for n in re.findall(r"Private_\w+: +(\d+) kB", told)) / 1024


# --- the arms ---


@contextmanager
def _started(words: list[str], env: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, text=True, env={**os.environ, **env}
    )
    assert process.stdout is not None
    try:
        while True:
            line = process.stdout.readline()
            if found := re.search(r"(\d+)\D*$", line.partition(" and ")[0]):
                break
            assert line, "it did not start"
        yield process, int(found[1])
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@contextmanager
def arms(also: list[str], *, server_port: int, by_httpx: bool, memory: bool) -> Iterator[list[Arm]]:
    """Start the server and every arm."""
    me = str(Path(__file__).resolve())
    with ExitStack() as stack:
        _, port = stack.enter_context(
            _started([me, "--serve", "--server-port", str(server_port)], {})
        )
        url = f"http://127.0.0.1:{port}"
        made = [Arm("direct", port, None)]
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="everest-proxy-"))
        env = {"EVEREST_ROUTES": f"*={url};api=openai", "EVEREST_PROXY_PORT": "0"}
        command = str(Path(sys.executable).with_name("everest"))
        begun = time.perf_counter()
        process, port = stack.enter_context(
            _started([command, "proxy"], {**env, "EVEREST_HOME": f"{home}/a"})
        )
        print(f"ready in {time.perf_counter() - begun:.2f} s, ", end="")
        print(f"{_private(process.pid):.0f} MB of private memory idle; server {url}")
        made.append(Arm("everest", port, process.pid))
        process, port = stack.enter_context(_started([me, "--bare", url], {}))
        made.append(Arm("bare aiohttp", port, process.pid))
        if by_httpx:
            more = {**env, "EVEREST_HOME": f"{home}/b"}
            process, port = stack.enter_context(_started([me, "--ours-by-httpx"], more))
            made.append(Arm("everest, httpx", port, process.pid))
        if memory:
            made += stack.enter_context(_with_memory(command, env, Path(home)))
        for one in also:
            name, _, where = one.partition("=")
            made.append(Arm(name, int(where.rstrip("/").rpartition(":")[2]), None))
        yield made


@contextmanager
def _with_memory(command: str, env: dict[str, str], home: Path) -> Iterator[list[Arm]]:
    """Start our proxy over a memory that slept once on the demo week."""
    own = {**env, "EVEREST_HOME": str(home / "m"), "HOME": str(home), "EVEREST_HOLDOUT": "0"}
    write_week(home / ".claude", now=datetime.now(UTC))
    subprocess.run([command, "night"], env={**os.environ, **own}, check=True, capture_output=True)
    with _started([command, "proxy"], own) as (process, port):
        time.sleep(3)
        print(f"with a memory: {_private(process.pid):.0f} MB of private memory")
        begin = f"/t/{(home / 'm/keys/door.token').read_text()}/p/paperboat"
        yield [
            Arm("new, by words", port, process.pid, begin, _BY_WORDS, most=1),
            Arm("new, by meaning", port, process.pid, begin, _BY_MEANING, most=1),
            Arm("memory, again", port, process.pid, begin, most=1),
        ]


def _told(load: Load, arm: Arm, runs: list[Run]) -> dict[str, Any]:
    def middle(values: list[float]) -> float:
        return round(statistics.median(values), 3)

    return {
        "load": load.name,
        "connections": load.connections,
        "rate": load.rate,
        "arm": arm.name,
        "p50_ms": middle([1000 * statistics.median(run.whole) for run in runs]),
        "p99_ms": middle([1000 * sorted(run.whole)[int(0.99 * len(run.whole))] for run in runs]),
        "first_p50_ms": middle([1000 * statistics.median(run.first) for run in runs]),
        "per_second": middle([len(run.whole) / run.took for run in runs]),
        "cpu_ms": middle([1000 * run.cpu / len(run.whole) for run in runs]),
    }


async def _all(
    made: list[Arm], *, seconds: float, rounds: int, pause: float
) -> list[dict[str, Any]]:
    told = []
    for load in (replace(load, pause=0 if load.rate else pause) for load in LOADS):
        these = [arm for arm in made if load.connections <= arm.most]
        runs: dict[str, list[Run]] = {arm.name: [] for arm in these}
        for arm in these:
            await _measured(arm, load, seconds / 4)  # warm
        for _ in range(rounds):
            for arm in these:
                runs[arm.name].append(await _measured(arm, load, seconds))
        rows = [_told(load, arm, runs[arm.name]) for arm in these]
        told += rows
        _print(load, rows)
    return told


def _print(load: Load, rows: list[dict[str, Any]]) -> None:
    how = f"{load.rate:g}/s offered" if load.rate else "closed loop"
    how += f", {load.pause:g} s of pause" if load.pause else ""
    print(f"\n{load.name}, {load.connections} connections, {how}")
    by_name = {row["arm"]: row for row in rows}
    for row in rows:
        added = row["p50_ms"] - by_name["direct"]["p50_ms"]
        first = row["first_p50_ms"] - by_name["direct"]["first_p50_ms"]
        share = row["per_second"] / by_name["bare aiohttp"]["per_second"]
        print(
            f"  {row['arm']:<16} p50 {row['p50_ms']:8.2f} (+{added:7.2f})  p99 {row['p99_ms']:8.2f}"
            f"  first +{first:7.2f} ms  {row['per_second']:8.0f}/s ({share:4.0%} of bare)"
            f"  cpu {row['cpu_ms']:.3f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--also", action="append", default=[], metavar="NAME=URL")
    parser.add_argument("--server-port", type=int, default=0, metavar="PORT")
    parser.add_argument("--httpx", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--pause", type=float, default=0.0, metavar="S")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    parser.add_argument("--ours-by-httpx", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        uvloop.run(serve(given.server_port))
    elif given.bare:
        uvloop.run(bare(given.bare))
    elif given.ours_by_httpx:
        ours_by_httpx()
    else:
        with arms(
            given.also,
            server_port=given.server_port,
            by_httpx=given.httpx,
            memory=given.memory,
        ) as made:
            told = uvloop.run(
                _all(made, seconds=given.seconds, rounds=given.rounds, pause=given.pause)
            )
            for arm in made:
                if arm.pid is not None:
                    print(f"{arm.name}: {_private(arm.pid):.0f} MB of private memory after it")
        if given.json:
            print(json.dumps(told))


if __name__ == "__main__":
    main()
