"""Where the door listens, and who is at the other end: loopback, and a unix socket of the person's.

Invariants: nothing but loopback is bound; a process of another account is cut off at the socket;
a head that is too long never reaches the application; a request that stops coming is cut off.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from tasks.durable import FOLDER_MODE, make_folder
from tasks.errors import AddressTaken, WriteFailed

LOOPBACK: Final = "127.0.0.1"
LONGEST_HEAD: Final = 64 * 1024
"""Bytes of a request's line and headers; the largest that known servers take is 32 KB."""
SLOWEST_HEAD: Final = 30.0
"""Seconds in which a head must have come."""
SLOWEST_PIECE: Final = 60.0
"""Seconds that may pass between two pieces of a body that we are ready to read."""

_H2C: Final = re.compile(rb"\r\nupgrade:[ \t]*h2c[ \t]*(?=\r\n)", re.IGNORECASE)
_BACKLOG: Final = 512
_TOO_SLOW: Final = (
    b"HTTP/1.1 408 Request Timeout\r\n"
    b"content-type: text/plain\r\ncontent-length: 38\r\nconnection: close\r\n\r\n"
    b"everest: the request stopped coming..."
)
_TOO_LONG: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain\r\ncontent-length: 26\r\nconnection: close\r\n\r\n"
    b"everest: headers too large"
)


@contextlib.contextmanager
def sockets(port: int, path: Path) -> Iterator[list[socket.socket]]:
    """Give the two sockets, bound; the unix one's file is removed at the end.

    Args:
        port: of loopback; 0 takes any that is free.
        path: of the unix socket; its folder is made for the owner alone.

    Raises:
        AddressTaken: when another process listens on one of them.
        WriteFailed: when the socket's file cannot be made, or its folder is another account's.
    """
    with _loopback(port) as tcp, _unix(path) as unix:
        yield [tcp, unix]


class Watched(HttpToolsProtocol):
    """uvicorn's protocol with the limits it lacks, and the peer's uid in `scope["state"]`.

    The state gains `uid` (None over TCP) and `target`, the request's target as it was sent.
    """

    slowest_head: ClassVar[float] = SLOWEST_HEAD
    slowest_piece: ClassVar[float] = SLOWEST_PIECE

    _head: int | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Look at who it is before anything is read."""
        super().connection_made(transport)
        uid = _uid_of(transport.get_extra_info("socket"))
        if uid is not None and uid != os.getuid():
            transport.abort()
            return
        self.app_state = {**self.app_state, "uid": uid}
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._wait(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count a head that has not ended yet, and take an offer of HTTP/2 out of it.

        The parser takes a request with such an offer, as Java's client makes it, for one without a
        body.
        """
        if self._head is not None:
            self._head += len(data)
            data = _without_h2c(data)
        super().data_received(data)
        if self._head is not None and self._head > LONGEST_HEAD:
            self._cut(_TOO_LONG)

    def on_message_begin(self) -> None:
        """Begin to wait for a head's end."""
        super().on_message_begin()
        if self._head is None:
            self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; what comes behind a body in chunks is none, whatever it is called."""
        if self._head is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand a head on, unless it is too long."""
        self._head = None
        self._wait(self.slowest_piece)
        size = len(self.url) + sum([len(name) + len(value) + 4 for name, value in self.headers])
        if size > LONGEST_HEAD:
            self._cut(_TOO_LONG)
        self.scope["state"]["target"] = self.url
        super().on_headers_complete()
        if self.scope["http_version"] == "1.0":
            self.cycle.__class__ = _Unchunked

    def on_body(self, body: bytes) -> None:
        """Wait for the next piece."""
        self._wait(self.slowest_piece)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait no longer: what follows is the answer, which takes as long as it takes."""
        self._wait(None)
        super().on_message_complete()

    def _await_head(self) -> None:
        self._head = 0
        self._wait(self.slowest_head)

    def _wait(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._is_late)

    def _is_late(self) -> None:
        if self.flow.read_paused:  # it is we who are slow
            self._wait(self.slowest_piece)
        elif self._head is not None or self.cycle.response_started:
            self._cut(b"")
        else:
            self._cut(_TOO_SLOW)

    def _cut(self, words: bytes) -> None:
        self._wait(None)
        if not self.transport.is_closing():
            self.transport.write(words)
            self.transport.close()


class _Unchunked(RequestResponseCycle):
    """The answer to a client of HTTP/1.0, which knows no chunks: it ends with the connection."""

    async def send(self, message: ASGISendEvent) -> None:
        """Write a part of the answer."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start":
            self.response_started = True
            sent = [*message["headers"], (b"connection", b"close")]
            lines = [b"%b: %b\r\n" % (name, value) for name, value in sent]
            self.transport.write(b"".join([STATUS_LINE[message["status"]], *lines, b"\r\n"]))
        elif message["type"] == "http.response.body":
            if self.scope["method"] != "HEAD":
                self.transport.write(message.get("body", b""))
            if not message.get("more_body", False):
                self.response_complete = True
                self.message_event.set()
                self.transport.close()
                self.on_response()


def _without_h2c(data: bytes) -> bytes:
    end = data.find(b"\r\n\r\n") + 2
    if end < 2 or b"h2c" not in data[:end]:
        return data
    return _H2C.sub(b"", data[:end]) + data[end:]


@contextlib.contextmanager
def _loopback(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tcp.bind((LOOPBACK, port))
            tcp.listen(_BACKLOG)
        except OSError as error:
            way = f"stop it, or set EVEREST_PROXY_PORT to a free port ({error.strerror})"
            raise AddressTaken(f"{LOOPBACK}:{port}", way) from None
        yield tcp


@contextlib.contextmanager
def _unix(path: Path) -> Iterator[socket.socket]:
    _own_folder(path.parent)
    _clear(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as unix:
        try:
            unix.bind(str(path))
            path.chmod(FOLDER_MODE)
            unix.listen(_BACKLOG)
        except OSError as error:
            raise WriteFailed(path, error.strerror or str(error)) from error
        made = path.stat().st_ino
        try:
            yield unix
        finally:
            with contextlib.suppress(OSError):
                if path.stat().st_ino == made:
                    path.unlink()


def _own_folder(folder: Path) -> None:
    make_folder(folder)
    found = folder.stat()
    if found.st_uid != os.getuid():
        raise WriteFailed(folder, "it belongs to another account")


def _clear(path: Path) -> None:
    """Remove the file that a killed process left; one that still answers is left alone."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise WriteFailed(path, "it is there and is no socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        try:
            asked.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except FileNotFoundError:
            return
    raise AddressTaken(str(path), "this home's proxy runs already")


def _uid_of(connection: Any) -> int | None:
    """Return the uid at the other end of a unix socket, None over TCP."""
    if connection is None or connection.family != socket.AF_UNIX:
        return None
    if hasattr(socket, "SO_PEERCRED"):
        packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int(struct.unpack("3i", packed)[1])
    packed = connection.getsockopt(0, 1, 76)  # macOS: SOL_LOCAL, LOCAL_PEERCRED, a struct xucred
    return int(struct.unpack_from("II", packed)[1])
