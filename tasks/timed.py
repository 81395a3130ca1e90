"""HTTP whose deadline holds for all of it: looking a name up apart, from the connection to the end.

The usual time-outs are for one read each, so a server that drips outlasts them by as much as it
likes. Invariants: nothing is taken from the environment and no redirect followed; every wait ends
at the deadline, whoever is at the other end.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpcore

from tasks.deadline import Deadline

FAULTS: Final = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
)
"""What comes of a server that is away, slow, or speaks something else."""
_PIECE: Final = 64 * 1024
_PLAIN: Final = "/%:@!$&'()*+,;=~?"


@contextlib.contextmanager
def answered(
    method: str,
    url: str,
    deadline: Deadline,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Iterator[httpcore.Response]:
    """Give the answer to a request, its body still to come; its status says nothing of success.

    Raises:
        httpcore.TimeoutException: when the deadline is over, here or while the body is read.
        httpcore.NetworkError: when the server cannot be reached, or breaks off.
        httpcore.ProtocolError: when it does not speak HTTP.
        httpcore.UnsupportedProtocol: when the URL names no server of HTTP.
        ValueError: when the URL cannot be written as one.
    """
    given = {"Accept": "*/*", "Accept-Encoding": "identity", **(headers or {})}
    with (
        httpcore.ConnectionPool(network_backend=_Network(deadline)) as pool,
        pool.stream(method, _in_ascii(url), headers=[*given.items()], content=body) as answer,
    ):
        yield answer


def _in_ascii(url: str) -> str:
    """Return a URL as it goes over the wire: other letters in a name or a path are encoded."""
    parts = urlsplit(url)
    name = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    return parts._replace(netloc=name, path=quote(parts.path, safe=_PLAIN)).geturl()


class _Network(httpcore.NetworkBackend):
    """Opens connections; the time-outs that it is given are not looked at, the deadline is."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """Return a connection to the first address of a name that takes one."""
        with _told_as(httpcore.ConnectTimeout, httpcore.ConnectError):
            fault = OSError()
            for family, kind, number, _, address in socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            ):
                made = socket.socket(family, kind, number)
                try:
                    made.settimeout(self._deadline.left())
                    made.connect(address)
                    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                except OSError as error:
                    made.close()
                    fault = error
                else:
                    return _Stream(made, self._deadline)
            raise fault


class _Stream(httpcore.NetworkStream):
    """A connection, as `_Network` opens them."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._connection, self._deadline = connection, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        with _told_as(httpcore.ReadTimeout, httpcore.ReadError):
            self._connection.settimeout(self._deadline.left())
            return self._connection.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        with _told_as(httpcore.WriteTimeout, httpcore.WriteError):
            while buffer:
                self._connection.settimeout(self._deadline.left())
                buffer = buffer[self._connection.send(buffer[:_PIECE]) :]

    def close(self) -> None:
        self._connection.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        with _told_as(httpcore.ConnectTimeout, httpcore.ConnectError):
            try:
                self._connection.settimeout(self._deadline.left())
                sealed = ssl_context.wrap_socket(self._connection, server_hostname=server_hostname)
            except OSError:
                self.close()
                raise
            return _Stream(sealed, self._deadline)


@contextlib.contextmanager
def _told_as(late: type[Exception], broken: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise late from error
    except OSError as error:
        raise broken from error
