import contextlib
import io
import json
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving.bridge import LONGEST_LINE, Away, Endpoint, serve
from serving.endpoints import Own, Warm
from serving.grants import Grant
from tests.serving.talking import MODERN, modern


class Echo:
    """An endpoint that keeps what it is asked, and answers with the method."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Any], Mapping[str, str]]] = []
        self.away = False

    def ask(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any] | None:
        if self.away:
            raise Away
        message = json.loads(body)
        self.asked.append((message, dict(headers)))
        if "id" not in message:
            return None
        result = {"method": message["method"], "protocolVersion": "2025-06-18"}
        return {"jsonrpc": "2.0", "id": "another", "result": result}


def _talk(*lines: bytes | dict[str, Any], to: tuple[Endpoint, ...]) -> list[dict[str, Any]]:
    sent = b"\n".join(json.dumps(x).encode() if isinstance(x, dict) else x for x in lines)
    out = io.BytesIO()
    serve(io.BytesIO(sent), out, to, at_once=1)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def _request(method: str, id_: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"junk", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method"', -32700),
        (b'{"id": 1, "method": "\xff\xfe"}', -32700),
        (b"[" * 100_000, -32700),
        (b'{"id": ' + b"9" * 5000 + b', "method": "ping"}', -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        (b"7", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        (b'{"x": "' + b"x" * LONGEST_LINE + b'"}', -32600),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_line_that_cannot_be_read_is_answered_and_the_next_one_served(
    line: bytes, code: int
) -> None:
    wrong, right = _talk(line, _request("ping"), to=(Echo(),))
    assert wrong["error"]["code"] == code
    assert wrong["id"] is None
    assert right["result"]["method"] == "ping"


def test_answers_bear_the_id_that_was_asked_with() -> None:
    asked = [_request("ping", id_) for id_ in (0, "a", "", -1, None, [1], True)]
    told = _talk(*asked, to=(Echo(),))
    assert [one["id"] for one in told] == [0, "a", "", -1, None, None, None]


def test_what_wants_no_answer_gets_none() -> None:
    echo = Echo()
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = {"jsonrpc": "2.0", "id": 4, "result": {}}
    assert _talk(notification, reply, b"", b"  \r", to=(echo,)) == []
    assert [message["method"] for message, _ in echo.asked] == ["notifications/initialized"]


def test_the_version_agreed_on_goes_into_the_headers_of_all_that_follows() -> None:
    echo = Echo()
    _talk(_request("ping"), _request("initialize"), _request("tools/list"), to=(echo,))
    assert [headers for _, headers in echo.asked] == [
        {},
        {},
        {"mcp-protocol-version": "2025-06-18"},
    ]


def test_a_stateless_request_says_in_its_headers_what_it_says_in_its_body() -> None:
    echo = Echo()
    lines = [modern("tools/call", name="recall"), modern("tools/call", name=" räcall\n")]
    _talk(_request("initialize"), *lines, modern("server/discover"), to=(echo,))
    plain, coded, discover = (headers for _, headers in echo.asked[1:])
    assert plain == {
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "recall",
    }
    assert coded["mcp-name"] == "=?base64?IHLDpGNhbGwK?="
    assert discover == {"mcp-protocol-version": MODERN, "mcp-method": "server/discover"}


def test_the_next_endpoint_is_asked_while_one_is_away_and_not_else() -> None:
    first, second = Echo(), Echo()
    _talk(_request("ping"), to=(first, second))
    assert (len(first.asked), len(second.asked)) == (1, 0)
    first.away = True
    _talk(_request("ping"), to=(first, second))
    assert (len(first.asked), len(second.asked)) == (1, 1)


def test_with_nobody_to_ask_it_says_so() -> None:
    echo = Echo()
    echo.away = True
    (told,) = _talk(_request("ping", 5), to=(echo,))
    assert (told["id"], told["error"]["code"]) == (5, -32603)


def test_a_fault_of_ours_is_an_error_and_no_end() -> None:
    class Faulty:
        async def __call__(self, *_: object) -> None:
            raise RuntimeError

        async def close(self) -> None:
            pass

    own = Own(Faulty, Grant("default", None, "stdio"))
    told = _talk(_request("ping", 1), _request("ping", 2), to=(own,))
    own.close()
    assert [(one["id"], one["error"]["code"]) for one in told] == [(1, -32603), (2, -32603)]


def test_an_answer_is_one_line_for_every_reader_of_lines() -> None:
    class Separators(Echo):
        def ask(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
            return {"jsonrpc": "2.0", "id": 1, "result": {"text": "a\u2028b\u0085c\nd"}}

    out = io.BytesIO()
    serve(io.BytesIO(json.dumps(_request("ping")).encode()), out, (Separators(),))
    assert out.getvalue().count(b"\n") == 1
    assert out.getvalue().isascii()


class Slow(Echo):
    """An endpoint that answers `slow` only when the next message came."""

    def __init__(self) -> None:
        super().__init__()
        self.next = threading.Event()

    def ask(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any] | None:
        if json.loads(body)["method"] == "slow":
            assert self.next.wait(20)
        else:
            self.next.set()
        return super().ask(body, headers)


def test_one_slow_answer_keeps_no_other_waiting() -> None:
    sent = b"\n".join(json.dumps(one).encode() for one in (_request("slow", 1), _request("a", 2)))
    out, slow = io.BytesIO(), Slow()
    serve(io.BytesIO(sent), out, (slow,))
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {one["id"]: one["result"]["method"] for one in answers} == {1: "slow", 2: "a"}


def test_many_at_once_are_answered_each_by_its_own_line() -> None:
    out = io.BytesIO()
    sent = [json.dumps(_request("x" * n, n)).encode() for n in range(200)]
    serve(io.BytesIO(b"\n".join(sent)), out, (Echo(),))
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert sorted((one["id"], len(one["result"]["method"])) for one in answers) == [
        (n, n) for n in range(200)
    ]


def test_a_warm_process_that_hangs_is_waited_for_once(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.bind(str(tmp_path / "s"))
        hanging.listen(9)
        hanging.settimeout(0.1)
        warm, echo = Warm(tmp_path / "s", "boat", slowest=0.2), Echo()
        lines = [_request("ping", n) for n in range(5)]
        told = _talk(*lines, to=(warm, echo))
        assert [one["id"] for one in told] == [0, 1, 2, 3, 4]
        hanging.accept()[0].close()
        with pytest.raises(TimeoutError):
            hanging.accept()


@pytest.mark.parametrize("begins", [b"HTTP/1.1 200 OK\r\nx-waits: ", b"HTTP/1.1 200 OK\r\n\r\n["])
def test_a_warm_process_that_drips_is_waited_for_once(tmp_path: Path, begins: bytes) -> None:
    over, taken = threading.Event(), []

    def drips(listening: socket.socket) -> None:
        connection = listening.accept()[0]
        taken.append(connection)
        with contextlib.suppress(OSError):
            connection.sendall(begins)
            while not over.wait(0.02):
                connection.sendall(b"x")

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen(9)
        dripping = threading.Thread(target=drips, args=(listening,), daemon=True)
        dripping.start()
        warm = Warm(tmp_path / "s", "boat", slowest=0.5)
        told = _talk(*[_request("ping", n) for n in range(3)], to=(warm, Echo()))
        over.set()
        dripping.join()
        taken[0].close()
        assert [one["id"] for one in told] == [0, 1, 2]
        listening.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listening.accept()


def test_a_client_that_reads_no_more_ends_it() -> None:
    class Gone(io.BytesIO):
        def flush(self) -> None:
            raise BrokenPipeError

    echo = Echo()
    lines = io.BytesIO(b"\n".join([json.dumps(_request("ping")).encode()] * 50))
    serve(lines, Gone(), (echo,), at_once=1)
    assert 1 <= len(echo.asked) < 5


@given(st.lists(st.binary(max_size=200) | st.text(max_size=100).map(str.encode), max_size=5))
def test_no_bytes_end_it_and_every_answer_is_json_rpc(lines: list[bytes]) -> None:
    answers = _talk(*lines, _request("ping", "last"), to=(Echo(),))
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert answers[-1]["id"] == "last"
