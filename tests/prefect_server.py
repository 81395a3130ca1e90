"""One Prefect server for the tests of a worker: the one that `everest up` starts, no schedules."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deployments.credential import prepare
from deployments.server import answers, client, probe, server_environment
from deployments.service import Service, Started, stop_all
from tasks.prefect_home import PrefectHome, Watched
from tasks.store.lock import writer_lock

_PATIENCE = 150.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, and what opens it."""

    home: PrefectHome
    watched: Watched
    group: int

    def kill(self) -> None:
        """Kill all of its processes."""
        os.killpg(self.group, signal.SIGKILL)

    @property
    def env(self) -> dict[str, str]:
        """Return what a process needs to report to it."""
        return {
            "PREFECT_API_URL": self.watched.api,
            "PREFECT_API_AUTH_STRING": self.watched.credential,
        }

    def asks(self, path: str, **asked: Any) -> Any:
        """Return what the API answers to a POST."""
        with client(self.watched) as api:
            return api.post(path, json=asked).raise_for_status().json()

    def runs(self, flow: str | None = None) -> list[dict[str, Any]]:
        """Return the runs of a flow, or of all, that have begun; the latest first."""
        of = {"flows": {"name": {"any_": [flow]}}} if flow else {}
        found: list[dict[str, Any]] = self.asks("/flow_runs/filter", sort="START_TIME_DESC", **of)
        return [run for run in found if run["start_time"]]


def free_port() -> int:
    """Return a port that nobody listens on just now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def running_server(folder: Path) -> Iterator[Server]:
    """Run the server in a folder until the end of the block; commands find it as `everest up`'s."""
    home = PrefectHome(folder)
    watched = prepare(home, free_port())
    environ = server_environment(home, watched, os.environ)
    started = Started(
        Service("server", ("prefect", "server", "start"), environ, home.log("server")), folder
    )
    try:
        until(lambda: started.ended is not None or answers(watched), home.log("server").read_text)
        probe(watched)
        with writer_lock(home.lock, wait=0, started="now"):
            home.state.write_text(json.dumps({"origin": watched.origin}))
            yield Server(home, watched, started.process.pid)
    finally:
        stop_all([started])


def until(true: Any, told: Any = lambda: "") -> Any:
    """Wait until something is true and return it; tell what there is to tell when it never is."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.3)
    raise AssertionError(told())
