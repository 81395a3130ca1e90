"""The client towards model servers, when a server closes a connection that it had kept open."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from serving.proxy.upstream import AT_ONCE, AiohttpUpstream, Body, UpstreamFailed

BODY = b'{"model":"m"}'
_OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@dataclass
class Server:
    """Answers the first request of each connection as `first`, any later one as `later` says.

    Attributes:
        got: for each request the number of its connection, and its bytes.
    """

    later: Callable[[asyncio.StreamWriter], None]
    first: Callable[[asyncio.StreamWriter], None] = lambda writer: writer.write(_OK)
    got: list[tuple[int, bytes]] = field(default_factory=list)
    wait: float = 0
    _connections: int = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number, begun = self._connections, False
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                self.got.append((number, data))
                if begun:
                    await asyncio.sleep(self.wait)
                (self.later if begun else self.first)(writer)
                begun = True
        writer.close()


def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


def begin(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-le")
    writer.close()


async def _twice(server: Server, method: str, *bodies: Body) -> list[bytes | str]:
    listening = await asyncio.start_server(server.talk, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1/x"
    client = AiohttpUpstream()
    told: list[bytes | str] = []
    for body in bodies:
        try:
            answer = await client.send(method, url, [(b"x-a", b"1")], body)
            told.append(b"".join([piece async for piece in answer.pieces()]))
        except UpstreamFailed as failed:
            told.append(str(failed))
    await client.close()
    listening.close()
    await asyncio.sleep(0.05)  # the server's ends close
    return told


@pytest.mark.parametrize("ends", [hang_up, reset])
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_what_met_a_connection_just_closed_is_sent_once_more(
    ends: Callable[[asyncio.StreamWriter], None], method: str
) -> None:
    server = Server(later=ends)
    assert asyncio.run(_twice(server, method, BODY, BODY)) == [b"ok", b"ok"]
    numbers = [number for number, data in server.got if data.startswith(method.encode())]
    assert numbers == [1, 1, 2]
    assert all(BODY in data for _, data in server.got)


def test_a_new_connection_that_is_hung_up_on_is_no_such_case() -> None:
    server = Server(later=hang_up, first=hang_up)
    assert asyncio.run(_twice(server, "POST", BODY)) == ["ServerDisconnectedError"]
    assert len(server.got) == 1


def test_what_an_answer_began_to_is_not_sent_again() -> None:
    server = Server(later=begin)
    first, second = asyncio.run(_twice(server, "POST", BODY, BODY))
    assert first == b"ok"
    assert isinstance(second, str)
    assert len(server.got) == 2


def test_what_a_server_had_time_to_work_at_is_not_sent_again() -> None:
    server = Server(later=hang_up, wait=AT_ONCE + 0.2)
    first, second = asyncio.run(_twice(server, "POST", BODY, BODY))
    assert (first, second) == (b"ok", "ServerDisconnectedError")
    assert len(server.got) == 2


def test_a_body_that_is_not_held_meets_no_kept_connection() -> None:
    async def streamed() -> AsyncIterator[bytes]:
        yield BODY

    server = Server(later=hang_up)
    assert asyncio.run(_twice(server, "POST", BODY, streamed())) == [b"ok", b"ok"]
    assert {number for number, _ in server.got} == {1, 2}
