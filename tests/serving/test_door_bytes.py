"""What the proxy does to bytes: nothing. Looked at over raw sockets, with a scripted server."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.serving.running import (
    EVERY_API,
    RunningProxy,
    body_of,
    request,
    running_proxy,
    status_of,
)
from tests.serving.shipped import Everest
from tests.serving.speech import speak
from tests.serving.upstream import Break, Hold, Pause, Reply, Upstream

ODD_JSON = (
    b'{ "model" : "m",\t"messages":[{"role":"user","content":"h\\u00ef  \xc3\xaf"}],'
    b'"x":1.0,"x":2}\n'
)
"""Spaces, escapes, a doubled and an unknown field: whatever reads and writes it again shows."""

NOTHING = b'{"model":"m","messages":[]}'


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(speak) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    person = Everest(tmp_path_factory.mktemp("door"))
    with running_proxy(person, EVEREST_ROUTES=EVERY_API.format(upstream.url)) as running:
        yield running


@pytest.fixture(autouse=True)
def _scene(upstream: Upstream) -> Iterator[None]:
    yield
    upstream.script = speak


def _until(true: Callable[[], object], seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


@pytest.mark.parametrize(
    "target",
    [
        "/v1/chat/completions?a=1&b=%20%2F&a=2&&c",
        "/v1/messages?beta=true",
        "/v1beta/models/m:streamGenerateContent?alt=sse&key=secret",
        "/api/chat",
        "/v1/unheard/of;x=1/%7Eme//twice",
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_request_leaves_as_it_came(
    proxy: RunningProxy, upstream: Upstream, target: str, method: str
) -> None:
    upstream.script = lambda _: Reply([b"ok"], length=True)
    sent = ["X-Unknown: Some  Value", "x-unknown: another", "User-Agent: me/1", "Authorization: k"]
    answer = proxy.raw(request(target, *sent, body=ODD_JSON, method=method))
    assert body_of(answer) == b"ok"
    got = upstream.received[-1]
    assert (got.method, got.target, got.body) == (method, target, ODD_JSON)
    assert [one for one in got.headers if one[0] not in ("host", "content-length")] == [
        ("x-unknown", "Some  Value"),
        ("x-unknown", "another"),
        ("user-agent", "me/1"),
        ("authorization", "k"),
        ("content-type", "application/json"),
    ]


def test_what_belongs_to_one_connection_or_to_us_is_not_sent_on(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    ours = ["X-Everest-Project: boat", "x-everest-anything: 1"]
    hops = ["Keep-Alive: 5", "TE: trailers", "Proxy-Authorization: p", "X-Hop: 1"]
    raw = request("/v1/models", *ours, *hops, "X-Kept: 1", method="GET")
    proxy.raw(raw.replace(b"Connection: close", b"Connection: close, X-Hop"))
    assert upstream.received[-1].headers == [
        ("host", upstream.url.removeprefix("http://")),
        ("x-kept", "1"),
    ]


@pytest.mark.parametrize("status", [200, 201, 204, 302, 304, 400, 404, 418, 429, 500, 529])
def test_a_status_its_headers_and_its_body_come_back(
    proxy: RunningProxy, upstream: Upstream, status: int
) -> None:
    said = b"" if status in (204, 304) else b'{ "error" :  {"message":"no\\u0074"} }\n'
    head = [("Location", "http://127.0.0.1:1/elsewhere"), ("X-Two", "a"), ("X-Two", "b")]
    upstream.script = lambda _: Reply([said], status, head, length=True)
    before = len(upstream.received)
    answer = proxy.raw(request("/v1/chat/completions", body=NOTHING))
    assert status_of(answer) == status
    assert body_of(answer) == said
    for line in (b"location: http://127.0.0.1:1/elsewhere", b"x-two: a", b"x-two: b"):
        assert line in answer
    assert len(upstream.received) == before + 1, "a redirect is the client's to follow"


@pytest.mark.parametrize("status", [101, 600, 999])
def test_a_status_that_is_no_answers_is_told_of(
    proxy: RunningProxy, upstream: Upstream, status: int
) -> None:
    upstream.script = lambda _: Reply([b""], status, length=True)
    answer = proxy.raw(request("/v1/chat/completions", body=NOTHING))
    assert status_of(answer) == 502
    assert f"status {status}" in json.loads(body_of(answer))["error"]["message"]


def test_the_length_of_a_body_that_never_comes_breaks_nothing_off(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    """A server may say with a 304 how long the body would be."""
    upstream.script = lambda got: Reply(
        [b"x" * 20], 304 if got.path == "/v1/304" else 200, [("etag", "x")], length=True
    )
    first = request("/v1/304", method="GET").replace(b"Connection: close\r\n", b"")
    answer = proxy.raw(first + request("/v1/next", method="GET"))
    assert answer.startswith(b"HTTP/1.1 304")
    assert b"etag: x" in answer
    assert answer.endswith(b"x" * 20)


def test_a_header_that_none_may_hold_costs_no_answer(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    odd = [("x-bell", "a\x07b"), ("x-kept", "\xe9 a")]
    upstream.script = lambda _: Reply([b"ok"], headers=odd, length=True)
    answer = proxy.raw(request("/v1/models", method="GET"))
    assert body_of(answer) == b"ok"
    assert "x-kept: \xe9 a".encode("latin-1") in answer
    assert b"x-bell" not in answer


@pytest.mark.parametrize("method", ["POST", "HEAD"])
def test_an_old_client_gets_no_chunks(proxy: RunningProxy, upstream: Upstream, method: str) -> None:
    upstream.script = lambda _: Reply([b"one", Pause(0.05), b"two"], length=False)
    raw = request("/v1/messages", body=NOTHING, method=method)
    answer = proxy.raw(raw.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    assert body == (b"onetwo" if method == "POST" else b"")
    assert proxy.raw(raw).endswith(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n" if body else b"\r\n")


def test_no_header_is_added_to_an_answer(proxy: RunningProxy, upstream: Upstream) -> None:
    upstream.script = lambda _: Reply([b"x"], headers=[("date", "then")], length=True)
    head = proxy.raw(request("/v1/models", method="GET")).partition(b"\r\n\r\n")[0]
    assert sorted(head.split(b"\r\n")[1:]) == [
        b"connection: close",
        b"content-length: 1",
        b"date: then",
    ]


def test_a_compressed_answer_stays_compressed(proxy: RunningProxy, upstream: Upstream) -> None:
    packed = b"\x1f\x8b" + os.urandom(3000)
    upstream.script = lambda _: Reply([packed], headers=[("content-encoding", "gzip")])
    answer = proxy.raw(request("/v1/models", "Accept-Encoding: gzip, zstd, br", method="GET"))
    assert body_of(answer) == packed
    assert b"content-encoding: gzip" in answer
    assert upstream.received[-1].header("accept-encoding") == "gzip, zstd, br"


def test_pings_comments_and_half_events_come_as_they_are(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    """Each piece reaches the client before the next is sent: nothing waits for an event's end."""
    pieces = [
        b": ping\n\n",
        b"event: pi",
        b"ng\ndata: {}\n",
        b"\n",
        b"data: \xf0\x9f",
        b"\x8f\x94\n\n",
    ]
    go = [threading.Event() for _ in pieces]
    steps = [step for piece, on in zip(pieces, go, strict=True) for step in (piece, Hold(on))]
    upstream.script = lambda _: Reply(steps, headers=[("content-type", "text/event-stream")])
    with proxy.connect() as connection:
        connection.sendall(request("/v1/messages", body=NOTHING))
        got = b""
        for n, on in enumerate(go):
            while b"".join(pieces[: n + 1]) != body_of_open(got):
                part = connection.recv(65536)
                assert part
                got += part
            on.set()
        while part := connection.recv(65536):
            got += part
    assert body_of(got) == b"".join(pieces)


def body_of_open(answer: bytes) -> bytes:
    """Return what came of a body so far; its chunks are whole."""
    if b"\r\n\r\n" not in answer or not answer.endswith(b"\r\n"):
        return b"?"
    return body_of(answer + b"0\r\n\r\n")


def test_the_head_of_an_answer_does_not_wait_for_its_body(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    on = threading.Event()
    upstream.script = lambda _: Reply([Hold(on), b"late"])
    with proxy.connect() as connection:
        connection.sendall(request("/v1/chat/completions", body=NOTHING))
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        on.set()


def test_an_answer_that_breaks_off_is_not_ended(proxy: RunningProxy, upstream: Upstream) -> None:
    upstream.script = lambda _: Reply([b"begun", Pause(0.1), Break()])
    answer = proxy.raw(request("/v1/chat/completions", body=NOTHING))
    assert b"begun" in answer
    assert not answer.endswith(b"0\r\n\r\n")
    upstream.script = lambda _: Reply([b"begun"])
    assert proxy.raw(request("/v1/chat/completions", body=NOTHING)).endswith(b"0\r\n\r\n")


def test_a_body_in_chunks_arrives_whole(proxy: RunningProxy, upstream: Upstream) -> None:
    upstream.script = lambda _: Reply([b"ok"], length=True)
    head = request("/v1/messages", "Transfer-Encoding: chunked", "Content-Type: application/json")
    chunks = b"".join(b"%x\r\n%b\r\n" % (1, ODD_JSON[n : n + 1]) for n in range(len(ODD_JSON)))
    assert status_of(proxy.raw(head + chunks + b"0\r\n\r\n")) == 200
    assert upstream.received[-1].body == ODD_JSON


def test_what_comes_behind_a_body_is_no_header(proxy: RunningProxy, upstream: Upstream) -> None:
    upstream.script = lambda _: Reply([b"ok"], length=True)
    head = request("/v1/messages", "Transfer-Encoding: chunked", "Content-Type: application/json")
    late = b"x-late: 1\r\nauthorization: mine\r\nhost: evil.example\r\n"
    chunks = b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(NOTHING), NOTHING, late)
    assert status_of(proxy.raw(head + chunks)) == 200
    assert upstream.received[-1].body == NOTHING
    assert {"x-late", "authorization"}.isdisjoint(dict(upstream.received[-1].headers))


def test_a_body_that_is_no_json_streams_through_unread(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    upstream.script = lambda _: Reply([b"ok"], length=True)
    data = os.urandom(3 << 20)
    lines = ["Content-Type: multipart/form-data; boundary=x", f"Content-Length: {len(data)}"]
    assert status_of(proxy.raw(request("/v1/files", *lines) + data)) == 200
    assert upstream.received[-1].body == data
    assert upstream.received[-1].header("content-length") == str(len(data))


def test_an_upload_begins_before_it_has_ended(proxy: RunningProxy, upstream: Upstream) -> None:
    lines = ["Content-Type: application/octet-stream", "Content-Length: 200000"]
    with proxy.connect() as connection:
        connection.sendall(request("/v1/upload-begun", *lines) + b"x" * 100_000)
        _until(lambda: "/v1/upload-begun" in upstream.begun)
        connection.sendall(b"x" * 100_000)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_pieces_of_a_large_json_body_are_its_own(proxy: RunningProxy, upstream: Upstream) -> None:
    upstream.script = lambda _: Reply([b"ok"], length=True)
    body = json.dumps({"messages": ["x" * 5_000_000], "model": "m"}).encode()
    assert status_of(proxy.raw(request("/v1/chat/completions", body=body))) == 200
    assert upstream.received[-1].body == body


@pytest.mark.parametrize("when", ["before its first byte", "within its body"])
def test_a_client_that_goes_away_cancels_the_call(
    proxy: RunningProxy, upstream: Upstream, when: str
) -> None:
    never = threading.Event()
    held = [Hold(never), b"never"]
    target = f"/v1/gone-{when.split(maxsplit=1)[0]}"
    if when == "within its body":
        upstream.script = lambda _: Reply([b"data: 1\n\n", *held])
    else:
        upstream.script = lambda _: Reply(before=held)
    with proxy.connect() as connection:
        connection.sendall(request(target, body=NOTHING))
        _until(lambda: target in upstream.begun)
        if when == "within its body":
            got = b""
            while b"data: 1" not in got:
                got += connection.recv(65536)
        assert target not in upstream.left
    _until(lambda: target in upstream.left)


def test_a_slow_reader_holds_the_server_back(proxy: RunningProxy, upstream: Upstream) -> None:
    """An answer of 200 MB to a client that does not read stays with the server, not in memory."""
    piece = b"x" * 65536
    upstream.script = lambda _: Reply([piece] * 3200)
    before = _resident(proxy.process.pid)
    start = upstream.sent
    with proxy.connect() as connection:
        connection.sendall(request("/v1/chat/completions", body=NOTHING))
        assert connection.recv(10)
        _until(lambda: upstream.sent > start)
        time.sleep(1.0)
        sent = upstream.sent - start
        assert sent < 20 << 20, sent
        assert _resident(proxy.process.pid) - before < 10 << 20


def test_many_talks_on_one_connection(proxy: RunningProxy, upstream: Upstream) -> None:
    upstream.script = lambda got: Reply([got.body], length=True)
    made = b"".join(
        request("/v1/x", body=b'{"model":"m","n":%d}' % n).replace(b"Connection: close\r\n", b"")
        for n in range(20)
    )
    answer = proxy.raw(made + request("/v1/x", body=b'{"model":"m","n":20}'))
    assert answer.count(b"HTTP/1.1 200") == 21
    assert [answer.find(b'"n":%d}' % n) for n in range(21)] == sorted(
        answer.find(b'"n":%d}' % n) for n in range(21)
    )


def test_a_server_that_does_not_answer_is_told_of(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with running_proxy(Everest(tmp_path), EVEREST_ROUTES=f"*={url};api=openai") as proxy:
            answer = proxy.raw(request("/v1/chat/completions", body=NOTHING))
            assert status_of(answer) == 502
            assert url in json.loads(body_of(answer))["error"]["message"]
            metrics = proxy.raw(request("/metrics", method="GET")).decode()
    assert 'everest_proxy_requests_total{api="openai",status="502"} 1' in metrics


def _resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def test_none_of_it_was_a_fault_of_ours(proxy: RunningProxy) -> None:
    """Runs late: over all that was sent above."""
    assert proxy.process.stderr is not None
    os.set_blocking(proxy.process.stderr.fileno(), False)
    assert b"fault of ours" not in (proxy.process.stderr.read() or b"")


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    lines = [
        "Expect: 100-continue",
        "Content-Type: application/json",
        f"Content-Length: {len(NOTHING)}",
    ]
    with proxy.connect() as connection:
        connection.sendall(request("/v1/chat/completions", *lines))
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(NOTHING)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
    assert upstream.received[-1].header("expect") is None
