"""A server on a unix socket that answers as a test wants, and keeps what it was asked."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

Answer = Callable[[socket.socket], None]


@dataclass(slots=True)
class Served:
    """Requests so far: each line of a request, and its body."""

    requests: list[tuple[str, bytes]] = field(default_factory=list)


def answering(body: bytes, status: str = "200 OK") -> Answer:
    """Answer with a body."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    return lambda door: door.sendall(head + body)


def saying(data: bytes) -> Answer:
    """Answer with bytes that may be no HTTP."""
    return lambda door: door.sendall(data)


def hanging(door: socket.socket) -> None:
    """Answer nothing while the other side waits."""
    door.recv(1)


@contextmanager
def serving(path: Path, answer: Answer) -> Iterator[Served]:
    """Listen until the block ends."""
    served = Served()
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        thread = threading.Thread(target=_serve, args=(listener, answer, served))
        thread.start()
        try:
            yield served
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            path.unlink()


def _serve(listener: socket.socket, answer: Answer, served: Served) -> None:
    while True:
        try:
            door, _ = listener.accept()
        except OSError:
            return
        with door, contextlib.suppress(OSError):  # whoever asked may have gone
            served.requests.append(_request(door))
            answer(door)


def _request(door: socket.socket) -> tuple[str, bytes]:
    data = b""
    while b"\r\n\r\n" not in data and (piece := door.recv(65536)):
        data += piece
    head, is_whole, body = data.partition(b"\r\n\r\n")
    if not is_whole:
        raise ConnectionAbortedError
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length and (piece := door.recv(65536)):
        body += piece
    return head.split(b"\r\n")[0].decode(), body
