"""The shipped proxy as a person runs it, in a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.serving.shipped import Everest

EVERY_API = "*={0};api=openai *={0};api=anthropic *={0};api=gemini *={0};api=ollama"
"""Routes that send everything to one server."""


@dataclass(frozen=True, slots=True)
class RunningProxy:
    """A proxy that listens."""

    person: Everest
    process: subprocess.Popen[bytes]
    url: str
    socket: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def token(self) -> str:
        """Return the words of the token that the first start made."""
        return (self.person.home / "keys" / "door.token").read_text()

    def connect(self) -> socket.socket:
        """Return a connection to its port."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def raw(self, data: bytes) -> bytes:
        """Send bytes and return everything that comes until the proxy closes."""
        with self.connect() as connection:
            return _exchange(connection, data)

    def raw_unix(self, data: bytes) -> bytes:
        """Do the same over the unix socket."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(self.socket)
            return _exchange(connection, data)


def _exchange(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@contextmanager
def running_proxy(person: Everest, **env: str | None) -> Iterator[RunningProxy]:
    """Run `everest proxy` on a free port until the block ends."""
    process = person.start("proxy", "--json", **{"EVEREST_PROXY_PORT": "0", **env})
    assert process.stdout is not None
    assert process.stderr is not None
    told = b""
    while not told.endswith(b"}\n"):
        line = process.stdout.readline()
        assert line, process.stderr.read().decode()
        told += line
    where = json.loads(told)
    try:
        yield RunningProxy(person, process, where["url"], where["socket"])
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
        process.stdout.close()
        process.stderr.close()


def request(target: str, *headers: str, body: bytes = b"", method: str = "POST") -> bytes:
    """Return a request's bytes, with a Host, and a length if there is a body; it ends the talk."""
    lines = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1:8787", "Connection: close", *headers]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def body_of(answer: bytes) -> bytes:
    """Return an answer's body, out of its chunks."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    parts = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        parts.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    return b"".join(parts)


def status_of(answer: bytes) -> int:
    """Return an answer's status."""
    return int(answer.split(b" ", 2)[1])
