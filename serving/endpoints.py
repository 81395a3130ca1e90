"""The two endpoints of the bridge: the warm process over its unix socket, and one in this process.

The second loads the SDK when it is first asked, and no model: it reads the view by words alone.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from serving.bridge import Away
from serving.grants import Grant
from tasks.deadline import Deadline

if TYPE_CHECKING:
    from starlette.types import Message

    from serving.mcp import McpEndpoint  # what only a cold process needs

SLOWEST: Final = 20.0
"""Seconds that the warm process may take for an answer."""
SHUNNED: Final = 60.0
"""Seconds for which a warm process that took longer is not asked again."""

_log = logging.getLogger(__name__)
_FIXED: Final = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "host": "localhost",
}


class Warm:
    """The process that `everest proxy` runs; safe in threads."""

    def __init__(self, path: Path, project: str, *, slowest: float = SLOWEST) -> None:
        self._path, self._project, self._slowest = path, project, slowest
        self._shunned_until = 0.0

    def ask(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any] | None:
        """Return its answer, None when it gives none.

        Raises:
            Away: when it does not run, is another account's, or does not answer as it should.
        """
        if time.monotonic() < self._shunned_until:
            raise Away
        named = self._project.encode("utf-8", "surrogateescape")
        connection = OverUnix(self._path, seconds=self._slowest)
        try:
            sent: dict[str, str | bytes] = {**_FIXED, **headers, "x-everest-project": named}
            connection.request("POST", "/mcp", body, sent)
            answer = connection.getresponse()
            return _rpc(answer.status, answer.read())
        except TimeoutError as error:
            self._shunned_until = time.monotonic() + SHUNNED
            raise Away from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Away from error
        finally:
            connection.close()


class Own:
    """An endpoint of this process; one message after another, from whichever thread.

    Args:
        make: makes the ASGI application, when it is first needed.
        grant: what its caller may.
    """

    def __init__(self, make: Callable[[], McpEndpoint], grant: Grant) -> None:
        self._make, self._grant = make, grant
        self._runner, self._alone = asyncio.Runner(), Lock()
        self._app: McpEndpoint | None = None

    def ask(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any] | None:
        """Return the answer, None when there is none to give.

        Raises:
            Away: when we fail.
        """
        try:
            with self._alone:
                return self._runner.run(self._asked(body, headers))
        except Exception as fault:
            _log.error("a fault of ours: %s", type(fault).__name__)
            raise Away from fault

    def close(self) -> None:
        """End what was begun."""
        if self._app is not None:
            self._runner.run(self._app.close())
        self._runner.close()

    async def _asked(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any] | None:
        if self._app is None:
            self._app = self._make()
        sent: list[Message] = []
        coming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return coming.pop() if coming else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await self._app(_scope({**_FIXED, **headers}, self._grant), receive, send)
        return _rpc(sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:]))


class OverUnix(http.client.HTTPConnection):
    """A connection to the process that listens at a unix socket of this account's.

    Args:
        seconds: that all of one exchange may take.
    """

    def __init__(self, path: Path, *, seconds: float) -> None:
        super().__init__("localhost")
        self._path, self._seconds = path, seconds

    def connect(self) -> None:
        """Connect.

        Raises:
            PermissionError: when the socket is another account's.
        """
        if self._path.stat().st_uid != os.getuid():
            raise PermissionError(self._path)
        self.sock = _Timed(Deadline(self._seconds))
        self.sock.connect(str(self._path))


class _Timed(socket.socket):
    """A connection over a unix socket all of whose waits end at one deadline."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__(socket.AF_UNIX)
        self._deadline = deadline
        self.settimeout(deadline.left())

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        self.settimeout(self._deadline.left())  # for all of the data together
        super().sendall(data, flags)

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0, /) -> int:
        self.settimeout(self._deadline.left())
        return super().recv_into(buffer, nbytes, flags)


def _scope(headers: Mapping[str, str], grant: Grant) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": [(key.encode(), value.encode("latin-1")) for key, value in headers.items()],
        "client": None,
        "server": None,
        "state": {"grant": grant},
    }


def _rpc(status: int, body: bytes) -> dict[str, Any] | None:
    """Return the JSON-RPC object of an answer; what is none comes from somebody else."""
    if status == 202:
        return None
    try:
        found = json.loads(body)
    except ValueError as error:
        raise Away from error
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise Away
    return found
