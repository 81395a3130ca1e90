"""Runs the door: binds, makes the first token, serves until it is told to stop."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

import uvicorn

from serving.app import create_app
from serving.grants import first_token
from serving.listen import LOOPBACK, Watched, sockets
from serving.state import serving_of
from tasks.compose import Setting
from tasks.domain.clock import utc_now

_KEEP_ALIVE = 75
_GRACE = 10


def run(where: Setting, listening: Callable[[dict[str, str]], None]) -> None:
    """Serve until a signal; `listening` is told the addresses when both are bound.

    Raises:
        SettingInvalid: when a route cannot be used; nothing is bound then.
        AddressTaken: when another process listens there.
        WriteFailed: when the socket or the first token cannot be written.
    """
    serving = serving_of(where.settings, where.places, started=utc_now())
    _log_plainly()
    with sockets(where.settings.proxy_port, where.places.socket) as bound:
        places = where.places
        first_token(places.tokens, places.door_token, app=where.settings.app, made=serving.started)
        port = bound[0].getsockname()[1]
        listening({"url": f"http://{LOOPBACK}:{port}", "socket": str(places.socket)})
        uvicorn.Server(
            uvicorn.Config(
                create_app(serving),
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
        ).run(bound)


def _log_plainly() -> None:
    """Log warnings of ours to standard error, and of uvicorn's nothing: it prints what it got."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="everest: %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL + 1)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
