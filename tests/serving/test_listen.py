"""How long the door waits for a client that sends; with times short enough to wait for."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from serving.listen import Watched
from tests.serving.running import request, status_of

SHORT = 0.3


class Hurried(Watched):
    slowest_head = SHORT
    slowest_piece = SHORT


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Read a body, or the first piece of it and no more, then answer after a while."""
    assert scope["type"] == "http"
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message.get("more_body", False) and scope["path"] != "/slow-reader"
    if scope["path"] == "/slow-reader":
        time.sleep(3 * SHORT)  # noqa: ASYNC251  the whole process is at work elsewhere
        while (await receive()).get("more_body", False):
            pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def _running() -> Iterator[int]:
    config = uvicorn.Config(
        _app, http=Hurried, ws="none", lifespan="off", log_config=None, loop="uvloop", port=0
    )
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(10)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with _running() as port:
        yield port


def _talk(port: int, *pieces: bytes | float) -> bytes:
    """Send pieces, with pauses in seconds between them; return what came."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        try:
            for piece in pieces:
                if isinstance(piece, bytes):
                    connection.sendall(piece)
                else:
                    time.sleep(piece)
            return b"".join(iter(lambda: connection.recv(65536), b""))
        except (BrokenPipeError, ConnectionResetError):
            return b""


BODY = b"x" * 40
HEAD = request("/x", "Content-Length: 40")


def test_a_request_that_comes_bit_by_bit_is_waited_for(port: int) -> None:
    bits = [bit for n in range(8) for bit in (BODY[n * 5 : n * 5 + 5], SHORT / 2)]
    assert status_of(_talk(port, HEAD, *bits)) == 200


def test_a_head_that_does_not_come_to_its_end_is_cut_off(port: int) -> None:
    assert _talk(port, HEAD[:20]) == b""
    assert _talk(port) == b""
    drops = [bit for n in range(12) for bit in (HEAD[n : n + 1], SHORT / 4)]
    assert _talk(port, *drops) == b"", "its pieces do not put the end off"


def test_a_body_that_stops_coming_is_told_so(port: int) -> None:
    assert status_of(_talk(port, HEAD, BODY[:20])) == 408


def test_an_answer_may_take_as_long_as_it_takes(port: int) -> None:
    big = request("/slow-reader", "Content-Length: 3000000") + b"x" * 3_000_000
    assert status_of(_talk(port, big)) == 200
