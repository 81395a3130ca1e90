"""The proxy as a process: what it loads, where it listens, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving.admit import Admitted
from serving.grants import Grant
from serving.metrics import Counters
from serving.proxy.calls import Call
from serving.proxy.forward import BUDGET, Forward
from serving.proxy.routes import read_routes
from serving.proxy.upstream import AiohttpUpstream
from tests.serving.running import EVERY_API, request, running_proxy, status_of
from tests.serving.shipped import Everest
from tests.serving.speech import speak
from tests.serving.upstream import Break, Pause, Reply, Upstream

HEAVY = {"prefect", "sklearn", "torch", "sentence_transformers", "duckdb", "scipy", "mcp"}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(speak) as server:
        yield server


def test_it_loads_no_engine(newcomer: Everest) -> None:
    """Asked of a proxy that has answered, at its end, so that what is imported late counts too."""
    script = (
        "import sys, threading, time, os, urllib.request\n"
        "from serving.run import run\n"
        "from tasks.compose import setting\n"
        "def ask(url):\n"
        "    for path in ('/health', '/metrics', '/openapi.json'):\n"
        "        urllib.request.urlopen(url + path).read()\n"
        "    print(sorted({name.partition('.')[0] for name in sys.modules}), flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "run(setting(), lambda where: threading.Timer(1, ask, [where['url']]).start())\n"
    )
    told = newcomer.run([sys.executable, "-c", script], EVEREST_PROXY_PORT="0")
    assert "'uvicorn'" in told.out, told.err
    assert HEAVY.isdisjoint(re.findall(r"'(\w+)'", told.out))


def test_it_says_where_it_listens_and_ends_when_told(newcomer: Everest) -> None:
    process = newcomer.start("proxy", EVEREST_PROXY_PORT="0")
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline().decode()
    assert re.fullmatch(r"Listening on http://127\.0\.0\.1:\d+ and .*door\.sock\. .*\n", line)
    assert (newcomer.home / "door.sock").is_socket()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=15)
    assert not (newcomer.home / "door.sock").exists()


def test_a_second_proxy_is_told_that_one_runs(newcomer: Everest, tmp_path: Path) -> None:
    with running_proxy(newcomer) as proxy:
        again = newcomer("proxy", EVEREST_PROXY_PORT="0")
        assert again.code == 2
        assert "door.sock" in again.err
        other = Everest(tmp_path / "other")
        taken = other("proxy", EVEREST_PROXY_PORT=str(proxy.port))
        assert taken.code == 2
        assert f"127.0.0.1:{proxy.port}" in taken.err
        assert "EVEREST_PROXY_PORT" in taken.err
        assert status_of(proxy.raw(request("/health", method="GET"))) == 200


def test_a_killed_proxys_socket_is_cleared_away(newcomer: Everest) -> None:
    with running_proxy(newcomer) as proxy:
        proxy.process.kill()
        proxy.process.wait(10)
        assert Path(proxy.socket).is_socket()
        with running_proxy(newcomer) as after:
            assert status_of(after.raw_unix(request("/health", method="GET"))) == 200


def test_a_file_in_the_sockets_place_is_left_alone(newcomer: Everest) -> None:
    newcomer.home.mkdir(parents=True)
    (newcomer.home / "door.sock").write_text("mine")
    told = newcomer("proxy", EVEREST_PROXY_PORT="0")
    assert told.code == 5
    assert (newcomer.home / "door.sock").read_text() == "mine"


def test_a_socket_whose_path_is_too_long_moves(newcomer: Everest, tmp_path: Path) -> None:
    home = newcomer.base / ("deep" * 25)
    runtime = Path("/tmp") / f"ev-{os.getpid()}"
    runtime.mkdir(mode=0o700)
    env = {"EVEREST_HOME": str(home), "XDG_RUNTIME_DIR": str(runtime)}
    try:
        with running_proxy(newcomer, **env) as proxy:
            assert proxy.socket.startswith(str(runtime))
            assert len(proxy.socket) <= 100
            assert Path(proxy.socket).parent.stat().st_mode & 0o777 == 0o700
            assert status_of(proxy.raw_unix(request("/health", method="GET"))) == 200
        listed = newcomer("paths", "--json", **env).data
        assert listed["socket"] == proxy.socket
    finally:
        subprocess.run(["rm", "-r", str(runtime)], check=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EVEREST_ROUTES", "m=http://a;api=none"),
        ("EVEREST_PROXY_PORT", "99999"),
        ("EVEREST_TRUST_LOOPBACK", "perhaps"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_before_anything_is_bound(
    newcomer: Everest, name: str, value: str
) -> None:
    told = newcomer("proxy", **{name: value})
    assert told.code == 2
    assert told.err.startswith(f"everest: {name}: ")
    assert "Traceback" not in told.err
    assert not newcomer.home.exists()


def test_health_and_metrics_tell_of_the_process(newcomer: Everest, upstream: Upstream) -> None:
    routes = EVERY_API.format(upstream.url)
    with running_proxy(newcomer, EVEREST_ROUTES=routes) as proxy:
        asked = b'{"model":"m","messages":[]}'
        assert status_of(proxy.raw(request("/v1/chat/completions", body=asked))) == 200
        health = json.loads(proxy.raw(request("/health", method="GET")).partition(b"\r\n\r\n")[2])
        assert health["status"] == "ok"
        assert [one["api"] for one in health["routes"]] == [
            "openai", "anthropic", "gemini", "ollama",
        ]  # fmt: skip
        metrics = proxy.raw(request("/metrics", method="GET")).decode()
        assert 'everest_proxy_requests_total{api="openai",status="200"} 1' in metrics
        assert 'everest_proxy_in_flight{api="openai"} 0' in metrics


def test_trusted_loopback_needs_no_token(newcomer: Everest, upstream: Upstream) -> None:
    env = {"EVEREST_ROUTES": f"*={upstream.url};api=openai"}
    bad = request("/v1/models", "x-everest-project:  ", method="GET")
    for trust, status in [("no", 200), ("yes", 400)]:
        with running_proxy(newcomer, **env, EVEREST_TRUST_LOOPBACK=trust) as proxy:
            assert status_of(proxy.raw(bad)) == status, "a project is looked at when it counts"


# --- the seams: an addition, and a tee ---


class _Sent:
    """What an ASGI server would have sent."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    async def __call__(self, message: Any) -> None:
        self.messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(one.get("body", b"") for one in self.messages)


class _Tee:
    def __init__(self, sent: _Sent) -> None:
        self.sent, self.got, self.ends = sent, b"", []

    def feed(self, piece: bytes) -> None:
        self.got += piece
        assert self.sent.body.startswith(self.got), "the client has it first"

    def done(self, *, whole: bool) -> None:
        self.ends.append(whole)


async def _added(call: Call) -> bytes:
    assert call.body is not None
    return call.body.replace(b"hi", b"hi there")


async def _late(_call: Call) -> bytes:
    await asyncio.sleep(BUDGET * 10)
    return b"late"


async def _failing(_call: Call) -> bytes:
    raise ValueError("words of the person")


async def _nothing(_call: Call) -> None:
    return None


BODY = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
MINE = Grant("default", frozenset({"boat-00000000"}), "socket")


def _passed(
    upstream: Upstream,
    *,
    addition: Any = None,
    tee: Any = None,
    grant: Grant | None = MINE,
    sent: _Sent | None = None,
) -> Counters:
    """Send one request through the proxy with these in its seams; return what was counted."""
    counters = Counters()

    async def receive() -> Any:
        if not asked:
            await asyncio.Event().wait()
        return asked.pop()

    async def run() -> None:
        client = AiohttpUpstream()
        routes = read_routes(f"*={upstream.url};api=openai", {})
        forward = Forward(routes, client, counters, addition, tee)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(BODY)),
            (b"accept-encoding", b"br, gzip"),
        ]
        scope = {"type": "http", "method": "POST", "query_string": b"", "headers": headers}
        admitted = Admitted("/v1/chat/completions", grant)
        try:
            await forward(scope, receive, sent or _Sent(), admitted)
        finally:
            await client.close()

    asked = [{"type": "http.request", "body": BODY}]
    asyncio.run(run())
    gc.collect()
    return counters


@pytest.mark.parametrize(
    ("addition", "outcome", "body"),
    [
        (_added, "added", BODY.replace(b"hi", b"hi there")),
        (_late, "late", BODY),
        (_failing, "failed", BODY),
        (_nothing, "none", BODY),
    ],
)
def test_an_addition_is_sent_in_time_or_the_request_goes_as_it_came(
    upstream: Upstream, addition: Any, outcome: str, body: bytes
) -> None:
    counters = _passed(upstream, addition=addition)
    assert counters.additions.value(outcome) == 1
    got = upstream.received[-1]
    assert got.body == body
    assert got.header("content-length") == str(len(body))
    assert got.header("accept-encoding") == "br, gzip"


def test_a_grant_of_several_projects_with_none_named_is_counted_as_that(upstream: Upstream) -> None:
    counters = _passed(upstream, addition=_nothing, grant=Grant("default", None, "socket"))
    assert counters.additions.value("no project") == 1


def test_without_a_grant_nothing_is_added_or_read(upstream: Upstream) -> None:
    sent = _Sent()
    tee = _Tee(sent)
    counters = _passed(upstream, addition=_added, tee=lambda *_: tee, grant=None, sent=sent)
    assert upstream.received[-1].body == BODY
    assert (tee.got, tee.ends) == (b"", [])
    assert list(counters.additions.lines())[2:] == []


def test_a_tee_gets_what_the_client_got_after_it(upstream: Upstream) -> None:
    sent = _Sent()
    tee = _Tee(sent)
    counters = _passed(upstream, tee=lambda *_: tee, sent=sent)
    assert tee.got == sent.body != b""
    assert tee.ends == [True]
    assert counters.tees.value("read") == 1
    assert upstream.received[-1].header("accept-encoding") == "gzip"


def test_a_tee_that_fails_hurts_nobody(upstream: Upstream) -> None:
    class Failing(_Tee):
        def feed(self, piece: bytes) -> None:
            raise ValueError("words of the person")

    sent = _Sent()
    counters = _passed(upstream, tee=lambda *_: Failing(sent), sent=sent)
    assert json.loads(sent.body)["object"] == "chat.completion"
    assert counters.tees.value("failed") == 1

    def none_made(*_: object) -> _Tee:
        raise ValueError("words of the person")

    sent = _Sent()
    assert _passed(upstream, tee=none_made, sent=sent).tees.value("failed") == 1
    assert json.loads(sent.body)["object"] == "chat.completion"


def test_a_tee_is_told_of_an_answer_that_broke_off(upstream: Upstream) -> None:
    upstream.script = lambda _: Reply([b"begun", Pause(0.1), Break()])
    try:
        sent = _Sent()
        tee = _Tee(sent)
        counters = _passed(upstream, tee=lambda *_: tee, sent=sent)
    finally:
        upstream.script = speak
    assert (tee.got, tee.ends) == (b"begun", [False])
    assert sent.messages[-1].get("more_body") is True, "the client is not told that it all came"
    assert counters.tees.value("broken off") == 1


@pytest.mark.slow
def test_it_is_ready_soon_and_small(newcomer: Everest) -> None:
    """Figures stand in the benchmark; this only keeps an engine from creeping in."""
    begun = time.monotonic()
    with running_proxy(newcomer) as proxy:
        taken = time.monotonic() - begun
        proxy.raw(request("/health", method="GET"))
        status = Path(f"/proc/{proxy.process.pid}/smaps_rollup").read_text()
        private = sum(int(n) for n in re.findall(r"Private_\w+: +(\d+) kB", status))
    assert taken < 20
    assert private < 120_000
