"""Runs the door: binds, makes the first token, serves until it is told to stop."""

from __future__ import annotations

import ctypes
import logging
import signal
import socket
import sys
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp
from threadpoolctl import threadpool_limits

from serving.app import create_app
from serving.grants import first_token
from serving.listen import LOOPBACK, Watched, sockets
from serving.state import serving_of
from tasks.compose import Setting
from tasks.domain.clock import utc_now

_KEEP_ALIVE = 75
_GRACE = 10
_TURN = 0.0005
"""Seconds after which a thread behind the answers lets the next request on; Python's own are ten
times as many, and a request that meets such a thread waits them out."""


_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # glibc's names for them, in <malloc.h>
_LONG = 4 << 20
_KEPT = 16 << 20
"""Bytes from which a piece of memory is mapped by itself, and that are kept when they are freed."""


def run(where: Setting, listening: Callable[[dict[str, str]], None]) -> None:
    """Serve until a signal; `listening` is told the addresses when requests are answered.

    Raises:
        SettingInvalid: when a route or an origin cannot be used; nothing is bound then.
        AddressTaken: when another process listens there.
        WriteFailed: when the socket or the first token cannot be written.
    """
    serving = serving_of(where.settings, where.places, started=utc_now())
    places = where.places
    threadpool_limits(1)  # two threads that wait for one another took 13 times as long when busy
    sys.setswitchinterval(_TURN)
    _keep_freed_memory()
    _log_plainly()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the socket's file goes too
    with sockets(where.settings.proxy_port, places.socket) as bound:
        first_token(places.tokens, places.door_token, app=where.settings.app, made=serving.started)
        port = bound[0].getsockname()[1]
        told = {"url": f"http://{LOOPBACK}:{port}", "socket": str(places.socket)}
        _Server(_config(create_app(serving)), lambda: listening(told)).run(bound)


def _keep_freed_memory() -> None:
    """Let the next request have what the last one freed, where the C library is glibc.

    Else every text of more than 128 KB is mapped anew, page by page: of a request of 200 KB that
    was three quarters of the time in which it is read.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LONG)
        mallopt(_TRIM_THRESHOLD, _KEPT)


class _Server(uvicorn.Server):
    """uvicorn's server, which says when it has started."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._say_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._say_started()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Watched,
        ws="none",
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,  # a request's line may hold a token or a key
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
    )


def _log_plainly() -> None:
    """Log warnings of ours to standard error, and of uvicorn's nothing: it prints what it got."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="everest: %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL + 1)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
