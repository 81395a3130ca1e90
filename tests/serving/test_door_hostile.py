"""What the door refuses: foreign pages, malformed and smuggled requests, names that are paths.

Each "must not" stands beside the same request without its fault, which does get through.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.running import RunningProxy, body_of, request, running_proxy, status_of
from tests.serving.shipped import Everest
from tests.serving.speech import speak
from tests.serving.upstream import Upstream

BODY = b'{"model":"m","messages":[]}'
SECRETS = ("sk-clients-own", "sk-of-the-route", "g-key-in-query")


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(speak) as server:
        yield server


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Upstream]:
    """Give a server that no route names: nothing may ever reach it."""
    with Upstream(speak) as server:
        yield server
        assert server.connections == 0


@pytest.fixture(scope="module")
def proxy(
    upstream: Upstream, elsewhere: Upstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningProxy]:
    routes = (
        f"keyed*={upstream.url};api=openai;key=MY_KEY "
        f"claude*={upstream.url};api=anthropic keyed*={upstream.url};api=gemini;key=MY_KEY "
        f"*={upstream.url};api=openai"
    )
    person = Everest(tmp_path_factory.mktemp("door"))
    proxies = {"HTTP_PROXY": elsewhere.url, "http_proxy": elsewhere.url, "ALL_PROXY": elsewhere.url}
    with running_proxy(person, EVEREST_ROUTES=routes, MY_KEY=SECRETS[1], **proxies) as running:
        yield running


def _refused(proxy: RunningProxy, upstream: Upstream, raw: bytes) -> int:
    """Return the status of a request that must not reach any server; 0 if there is no answer."""
    before = len(upstream.begun)
    answer = proxy.raw(raw)
    assert len(upstream.begun) == before, "it reached the server"
    return status_of(answer) if answer else 0


def test_the_request_that_the_others_are_made_from_gets_through(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    before = len(upstream.received)
    for headers in (
        [],
        [f"Origin: {proxy.url}", f"Host: 127.0.0.1:{proxy.port}"],
        ["Sec-Fetch-Site: same-origin"],
        ["Sec-Fetch-Site: none"],
    ):
        raw = request("/v1/chat/completions", *headers, body=BODY)
        if any(one.startswith("Host") for one in headers):
            raw = raw.replace(b"Host: 127.0.0.1:8787\r\n", b"")
        assert status_of(proxy.raw(raw)) == 200
    assert len(upstream.received) == before + 4


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/health", "/metrics", "/memory/recall"])
@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "evil.example@127.0.0.1",
     "localhost.", "127.0.0.1:80:80", "127.0.0.1:", "127.0.0.1:8x", "", "[::1", "0.0.0.0", "\xff"],
)  # fmt: skip
def test_a_foreign_host_is_refused_everywhere(
    proxy: RunningProxy, upstream: Upstream, path: str, host: str
) -> None:
    raw = request(path, body=BODY).replace(b"127.0.0.1:8787", host.encode("latin-1"))
    assert _refused(proxy, upstream, raw) in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "[::1]:8787", "127.0.0.1"])
def test_a_name_of_this_machine_is_let_in(proxy: RunningProxy, host: str) -> None:
    raw = request("/v1/chat/completions", body=BODY).replace(b"127.0.0.1:8787", host.encode())
    assert status_of(proxy.raw(raw)) == 200


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/health", "/memory/recall"])
@pytest.mark.parametrize(
    "header",
    ["Origin: https://evil.example", "Origin: null", "Origin: http://127.0.0.1:8788",
     "Origin: http://127.0.0.1:8787.evil.example", "Sec-Fetch-Site: cross-site",
     "Sec-Fetch-Site: same-site"],
)  # fmt: skip
def test_a_page_of_another_origin_or_site_is_refused_everywhere(
    proxy: RunningProxy, upstream: Upstream, path: str, header: str
) -> None:
    assert _refused(proxy, upstream, request(path, header, body=BODY)) == 403


@pytest.mark.parametrize(
    "raw",
    {
        "both lengths": request("/v1/x", "Transfer-Encoding: chunked", "Content-Length: 4")
        + b"0\r\n\r\nGET /v1/smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "both lengths, the other way": request(
            "/v1/x", "Content-Length: 4", "Transfer-Encoding: chunked"
        )
        + b"0\r\n\r\n",
        "two lengths": request("/v1/x", "Content-Length: 1", "Content-Length: 2") + b"xx",
        "a length that is none": request("/v1/x", "Content-Length: +1") + b"x",
        "an unknown coding": request("/v1/x", "Transfer-Encoding: xchunked") + b"0\r\n\r\n",
        "chunked twice": request("/v1/x", "Transfer-Encoding: chunked, identity") + b"0\r\n\r\n",
        "a folded header": request("/v1/x", "X-A: b\r\n c"),
        "space before the colon": request("/v1/x", "Transfer-Encoding : chunked") + b"0\r\n\r\n",
        "a bare newline": b"GET /v1/x HTTP/1.1\nHost: 127.0.0.1\nX: y\n\n",
        "no version": b"GET /v1/x\r\n\r\n",
        "a zero byte": request("/v1/x", "X-A: \x00"),
        "two hosts": request("/v1/x", "Host: 127.0.0.1"),
        "no host": b"GET /v1/x HTTP/1.1\r\n\r\n",
        "an absolute target": request("http://127.0.0.1:8787/v1/x", method="GET"),
        "a foreign target": request("http://evil.example/v1/x", method="GET"),
        "a target with a user": request("http://127.0.0.1@evil.example/v1/x", method="GET"),
        "an authority": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "an asterisk": request("*", method="OPTIONS"),
        "a path that climbs": request("/v1/../../etc/passwd", method="GET"),
        "a path that climbs, hidden": request("/v1/%2e%2E/x", method="GET"),
        "a path that climbs, by a slash": request("/v1/..%2fx", method="GET"),
        "a path that climbs, by a backslash": request("/v1/..%5Cx", method="GET"),
        "a high byte in the path": request("/v1/\xe9", method="GET"),
        "noise": bytes(range(256)),
    }.items(),
    ids=lambda item: item[0],
)  # fmt: skip
def test_a_malformed_request_reaches_no_server(
    proxy: RunningProxy, upstream: Upstream, raw: tuple[str, bytes]
) -> None:
    assert _refused(proxy, upstream, raw[1]) in (0, 400, 403)


def test_a_bad_chunk_breaks_the_talk_off(proxy: RunningProxy, upstream: Upstream) -> None:
    head = request("/v1/x", "Transfer-Encoding: chunked", "Content-Type: application/json")
    assert _refused(proxy, upstream, head + b"2\r\n{}\r\nxyz\r\n") == 400
    assert status_of(proxy.raw(head + b"2\r\n{}\r\n0\r\n\r\n")) == 200


@pytest.mark.parametrize("size", [63_000, 70_000, 2_000_000])
@pytest.mark.parametrize("shape", ["one header", "many headers", "the target"])
def test_huge_headers_are_refused(
    proxy: RunningProxy, upstream: Upstream, size: int, shape: str
) -> None:
    match shape:
        case "one header":
            raw = request("/v1/models", "X-A: " + "a" * size, method="GET")
        case "many headers":
            raw = request(
                "/v1/models", *[f"X-{n:05}: 12345" for n in range(size // 16)], method="GET"
            )
        case _:
            raw = request("/v1/models?" + "a" * size, method="GET")
    before = len(upstream.begun)
    try:
        answer = proxy.raw(raw)
    except (BrokenPipeError, ConnectionResetError):
        answer = b""
    if size < 65536:
        assert status_of(answer) == 200
    else:
        assert not answer or status_of(answer) in (400, 431)
        assert len(upstream.begun) == before
    assert status_of(proxy.raw(request("/health", method="GET"))) == 200


def test_a_json_body_that_is_too_long_is_refused(proxy: RunningProxy, upstream: Upstream) -> None:
    lines = ["Content-Type: application/json", f"Content-Length: {80 << 20}"]
    before = len(upstream.begun)
    with proxy.connect() as connection:
        connection.sendall(request("/v1/chat/completions", *lines))
        piece = b" " * (1 << 20)
        try:
            for _ in range(80):
                connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = connection.recv(65536)
    assert status_of(answer) == 413
    assert len(upstream.begun) == before


@pytest.mark.parametrize("target", ["/v1/responses", "/v1/realtime?model=m"])
def test_a_websocket_is_told_to_use_http_at_once(
    proxy: RunningProxy, upstream: Upstream, target: str
) -> None:
    upgrade = ["Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="]
    raw = request(target, *upgrade, method="GET")
    raw = raw.replace(b"Connection: close", b"Connection: Upgrade")
    assert _refused(proxy, upstream, raw) == 426


def test_an_upgrade_that_is_no_websocket_is_passed_over(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    raw = request("/v1/chat/completions", "Upgrade: h2c", "HTTP2-Settings: x", body=BODY)
    raw = raw.replace(b"Connection: close", b"Connection: Upgrade, HTTP2-Settings, close")
    assert status_of(proxy.raw(raw)) == 200
    assert upstream.received[-1].body == BODY
    assert {"upgrade", "http2-settings"}.isdisjoint(dict(upstream.received[-1].headers))


@pytest.mark.parametrize(
    ("target", "body", "message_at"),
    [
        ("/v1/chat/completions", b'{"model":"claude-x"}', ("error", "message")),
        ("/v1/messages", b'{"model":"gpt-5"}', ("error", "message")),
        ("/v1beta/models/gpt-5:generateContent", b"{}", ("error", "message")),
        ("/api/chat", b'{"model":"claude-x"}', ("error",)),
        ("/api/tags", b"", ("error",)),
    ],
)
def test_a_request_of_another_api_is_answered_in_its_own_shape(
    proxy: RunningProxy, upstream: Upstream, target: str, body: bytes, message_at: tuple[str, ...]
) -> None:
    before = len(upstream.begun)
    answer = proxy.raw(request(target, body=body))
    assert status_of(answer) == 400
    assert len(upstream.begun) == before
    told = json.loads(body_of(answer))
    for key in message_at:
        told = told[key]
    assert f"keyed*={upstream.url};api=openai" in told
    assert f"claude*={upstream.url};api=anthropic" in told


def test_a_request_without_a_model_goes_to_its_apis_route(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    assert status_of(proxy.raw(request("/v1/messages", body=b"{}"))) == 200
    assert upstream.received[-1].target == "/v1/messages"


def test_a_routes_key_goes_to_its_route_alone(proxy: RunningProxy, upstream: Upstream) -> None:
    mine, let_in = f"Authorization: Bearer {SECRETS[0]}", f"/t/{proxy.token}"
    proxy.raw(request(f"{let_in}/v1/chat/completions", mine, body=b'{"model":"keyed-1"}'))
    assert upstream.received[-1].header("authorization") == f"Bearer {SECRETS[1]}"
    proxy.raw(request(f"{let_in}/v1/chat/completions", mine, body=b'{"model":"other"}'))
    assert upstream.received[-1].header("authorization") == f"Bearer {SECRETS[0]}"
    path = f"{let_in}/v1beta/models/keyed-1:countTokens?a=1&key={SECRETS[2]}"
    proxy.raw(request(path, body=b"{}"))
    got = upstream.received[-1]
    assert got.header("x-goog-api-key") == SECRETS[1]
    assert got.target == "/v1beta/models/keyed-1:countTokens?a=1"


def test_a_routes_key_is_not_for_whoever_reaches_the_port(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    mine = f"Authorization: Bearer {SECRETS[0]}"
    proxy.raw(request("/v1/chat/completions", mine, body=b'{"model":"keyed-1"}'))
    assert upstream.received[-1].header("authorization") == f"Bearer {SECRETS[0]}"
    proxy.raw(request("/v1/chat/completions", body=b'{"model":"keyed-1"}'))
    assert upstream.received[-1].header("authorization") is None


@pytest.mark.parametrize(
    "name",
    ["../../etc", "..", "/", "/etc/passwd", "a/../../b", "\\..\\x", "C:\\x", "~root", "x" * 900],
)
def test_a_projects_name_makes_no_file(proxy: RunningProxy, upstream: Upstream, name: str) -> None:
    before = _tree(proxy.person.base)
    raw = request("/v1/models", f"x-everest-project: {name}", method="GET")
    assert status_of(proxy.raw_unix(raw)) == 200
    quoted = "".join(f"%{byte:02x}" for byte in name.encode())
    raw = request(f"/t/{proxy.token}/p/{quoted}/v1/models", method="GET")
    assert status_of(proxy.raw(raw)) in (200, 400)
    assert upstream.received[-1].target == "/v1/models"
    assert _tree(proxy.person.base) == before


def test_a_path_cannot_climb_out_of_a_tokens_prefix(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    for target in (f"/t/{proxy.token}/p/x/../../v1/models", f"/t/{proxy.token}/../v1/models"):
        assert _refused(proxy, upstream, request(target, method="GET")) == 400


def test_the_prefix_never_reaches_the_server(proxy: RunningProxy, upstream: Upstream) -> None:
    raw = request(f"/t/{proxy.token}/p/boat/v1/chat/completions?a=1", body=BODY)
    assert status_of(proxy.raw(raw)) == 200
    got = upstream.received[-1]
    assert got.target == "/v1/chat/completions?a=1"
    assert proxy.token.encode() not in got.head + got.body
    denied = proxy.raw(request("/t/ev_wrong/p/boat/v1/chat/completions", body=BODY))
    assert status_of(denied) == 401
    assert b"ev_wrong" not in denied


@pytest.mark.parametrize(
    "target",
    ["//t/{0}/v1/models", "/T/{0}/v1/models", "/%74/{0}/v1/models", "/t/{0}/t/{0}/v1/models",
     "/v1/models?token={0}", "/v1/models?a=%65verest_{1}", "/v1/{0}"],
)  # fmt: skip
def test_a_token_in_the_wrong_place_reaches_no_server(
    proxy: RunningProxy, upstream: Upstream, target: str
) -> None:
    raw = request(target.format(proxy.token, proxy.token.removeprefix("everest_")), method="GET")
    assert _refused(proxy, upstream, raw) == 400


def test_a_token_in_any_header_reaches_no_server(proxy: RunningProxy, upstream: Upstream) -> None:
    sent = [f"Cookie: a={proxy.token}", f"X-Mine: {proxy.token}", "X-Other: everest_is_high"]
    assert status_of(proxy.raw(request("/v1/models", *sent, method="GET"))) == 200
    got = dict(upstream.received[-1].headers)
    assert got["x-other"] == "everest_is_high"
    assert {"cookie", "x-mine"}.isdisjoint(got)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another account")
def test_the_unix_socket_is_the_persons_alone(proxy: RunningProxy) -> None:
    assert Path(proxy.socket).stat().st_mode & 0o777 == 0o700
    raw = request("/v1/models", method="GET")
    assert status_of(proxy.raw_unix(raw)) == 200
    script = (
        "import os, socket, sys\n"
        "connection = socket.socket(socket.AF_UNIX); connection.connect(sys.argv[1])\n"
        "os.setuid(65534)\n"  # the kernel keeps who connected: so this one is still root's
        "connection.sendall(sys.argv[2].encode()); print(len(connection.recv(99)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, proxy.socket, raw.decode()],
        capture_output=True, check=True, text=True, timeout=20,
    )  # fmt: skip
    assert int(done.stdout) > 0
    script = script.replace("os.setuid(65534)\n", "").replace(
        "connection =", "os.seteuid(65534); connection ="
    )
    for folder in [*Path(proxy.socket).parents][:-2]:
        folder.chmod(0o755)
    Path(proxy.socket).chmod(0o777)
    try:
        done = subprocess.run(
            [sys.executable, "-c", script, proxy.socket, raw.decode()],
            capture_output=True, check=False, text=True, timeout=20,
        )  # fmt: skip
    finally:
        Path(proxy.socket).chmod(0o700)
    assert done.stdout.strip() in ("", "0")


def test_a_client_that_sends_slowly_keeps_nobody_waiting(proxy: RunningProxy) -> None:
    with proxy.connect() as slow:
        slow.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.")
        begun = time.monotonic()
        assert status_of(proxy.raw(request("/health", method="GET"))) == 200
        assert time.monotonic() - begun < 10


def test_nothing_secret_was_written_anywhere(proxy: RunningProxy) -> None:
    """Runs last: over all that was sent above, files and logs hold no credential and no token."""
    proxy.raw(request(f"/t/{proxy.token}/v1/x?key={SECRETS[2]}", "X-Api-Key: " + SECRETS[0]))
    proxy.process.terminate()
    proxy.process.wait(15)
    assert proxy.process.stderr is not None
    assert proxy.process.stdout is not None
    said = proxy.process.stderr.read().decode() + proxy.process.stdout.read().decode()
    kept = proxy.token
    for path in proxy.person.base.rglob("*"):
        if path.is_file() and path.name != "door.token":
            said += path.read_text("utf-8", "replace")
    for secret in (*SECRETS, kept):
        assert secret not in said


def _tree(base: Path) -> set[str]:
    return {str(path) for path in base.rglob("*")}


def test_nothing_listens_beyond_loopback(newcomer: Everest, upstream: Upstream) -> None:
    with running_proxy(newcomer, EVEREST_ROUTES=f"*={upstream.url};api=openai") as proxy:
        for other in _own_addresses():
            with socket.socket() as tried:
                tried.settimeout(2)
                assert tried.connect_ex((other, proxy.port)) != 0


def _own_addresses() -> set[str]:
    found = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    return {str(one) for one in found if not str(one).startswith("127.")}
