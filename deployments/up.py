"""`everest up`: everything that runs in the background, in one terminal, stopped all together.

Invariant: one for each home, by a lock that names its holder; the server is looked at before anyone
is told of it; and whatever becomes of this process, its services end.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

from deployments.credential import prepare
from deployments.overdue import served, settle_due_night
from deployments.server import (
    answers,
    probe,
    refuse_openings,
    refuse_taken_port,
    server_environment,
)
from deployments.service import Log, Service, Started, log_at, stop_all
from tasks.compose import Setting
from tasks.domain.clock import iso, utc_now
from tasks.durable import make_folder, swap_file
from tasks.errors import AlreadyUp, ServiceFailed, StoreLocked
from tasks.listening import is_listening
from tasks.paused import Pause, paused
from tasks.prefect_home import PrefectHome, Watched, holder_of, origin
from tasks.store.lock import writer_lock
from tasks.timezone import zone_name

Tell = Callable[[str], None]

_PATIENCE: Final = 180.0
"""Seconds for a service to become ready: a first start makes a database."""
_TICK: Final = 1.0
_HEALTHY: Final = 60.0
_LONGEST_PAUSE: Final = 60.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def services(where: Setting, home: PrefectHome, watched: Watched) -> tuple[Service, ...]:
    """Return what `up` runs, in the order in which it is started."""
    environ = os.environ | {"EVEREST_HOME": str(where.places.home)}  # theirs is another folder

    def protected() -> bool:
        if not answers(watched):
            return False
        probe(watched)
        return True

    return (
        Service(
            "server",
            ("deployments.prefect_server",),
            server_environment(home, watched, environ),
            home.log("server"),
            protected,
            "if prefect.db there is damaged, move it away: it holds the history of runs alone",
        ),
        Service(
            "schedules",
            ("deployments.schedules",),
            watched.environment(home.folder, environ),
            home.log("schedules"),
            lambda: served(watched),
        ),
        Service(
            "proxy",
            ("serving",),
            environ,
            home.log("proxy"),
            lambda: is_listening(where.places.socket),
        ),
    )


@dataclass(frozen=True, slots=True)
class Running:
    """Where to look at what runs, and where the credential lies; never the credential itself."""

    home: PrefectHome
    watched: Watched
    proxy: str

    def as_data(self) -> dict[str, str]:
        """Return it for a program."""
        return {
            "pages": self.watched.origin,
            "api": self.watched.api,
            "proxy": self.proxy,
            "credential": str(self.home.credential),
            "logs": str(self.home.folder),
        }

    def in_words(self) -> list[str]:
        """Return it for a person."""
        return [
            f"Nights, runs and logs: {self.watched.origin}",
            f"It asks for a credential: the line in {self.home.credential}, yours alone to read.",
            f"The proxy for your apps: {self.proxy}",
            f"Logs of the services: {self.home.folder}/*.log",
            "Ctrl-C stops everything.",
        ]


def up(where: Setting, *, tell: Tell, runs: Callable[[Running], None]) -> None:
    """Run server, schedules and proxy until a signal comes; a night that is due is run at once.

    Args:
        where: what this process works with.
        tell: told how the services are.
        runs: told once where to look, when all of it runs.

    Raises:
        AlreadyUp: when another one runs for this home.
        PortTaken: when the server's port is.
        Unprotected: when the server is not, or would not be, protected; nothing is left running.
        ServiceFailed: when one does not come up at all.
    """
    home, port = PrefectHome(where.places.prefect), where.settings.prefect_port
    with ExitStack() as stack:
        make_folder(home.folder)
        _only_one(stack, home)
        tell = _kept_too(tell, stack.enter_context(closing(log_at(home.log("up")))))
        home.state.unlink(missing_ok=True)
        zone_name(where.settings.timezone)  # refused here rather than by a service in its log
        watched = prepare(home, port)
        refuse_openings(watched, os.environ)
        refuse_taken_port(port, "EVEREST_PREFECT_PORT")
        refuse_taken_port(where.settings.proxy_port, "EVEREST_PROXY_PORT")
        stopped = stack.enter_context(_until_signalled())
        keepers = [Keeper(one, home) for one in services(where, home, watched)]
        stack.callback(lambda: stop_all([one.started for one in keepers if one.started]))
        for keeper in keepers:
            keeper.start(stopped)
            if stopped.is_set():
                return
            tell(f"{keeper.service.name} runs")
        swap_file(home.state, json.dumps({"origin": watched.origin}).encode())
        stack.callback(lambda: home.state.unlink(missing_ok=True))
        runs(Running(home, watched, _proxy(where)))
        settled, rest = False, None
        while not stopped.wait(_TICK):
            rest = _told_of_pause(where, rest, tell)
            settled = settled or settle_due_night(where, watched)
            for keeper in keepers:
                keeper.look(tell)
        tell("stopping")


def _kept_too(tell: Tell, log: Log) -> Tell:
    """Return what tells whoever looks on, and keeps it for `everest logs`."""

    def both(words: str) -> None:
        log.line(words)
        tell(words)

    return both


def _told_of_pause(where: Setting, before: Pause | None, tell: Tell) -> Pause | None:
    """Return the pause that holds now, having told of it where it is another than before."""
    now = paused(where.places.home, now=utc_now())
    if now != before:
        tell(f"Everest is {now.in_words(where.settings.zone)}" if now else "the pause is over")
    return now


def _proxy(where: Setting) -> str:
    """Return where the proxy listens: its socket when any free port will do."""
    port = where.settings.proxy_port
    return origin(port) if port else str(where.places.socket)


def _only_one(stack: ExitStack, home: PrefectHome) -> None:
    try:
        stack.enter_context(writer_lock(home.lock, wait=0, started=iso(utc_now())))
    except StoreLocked:
        raise AlreadyUp(home.folder.parent, holder_of(home) or "another process") from None


@contextmanager
def _until_signalled() -> Iterator[threading.Event]:
    """Give an event that a signal to stop sets, in place of what the signal did before."""
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  the shape of a handler
        stopped.set()

    before = {one: signal.signal(one, stop) for one in _SIGNALS}
    try:
        yield stopped
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@dataclass(slots=True)
class Keeper:
    """Keeps one service running: starts it again, each time later, when it ends.

    Attributes:
        ready: the present start has been found ready.
        again_at: when to start it again; None while it runs.
    """

    service: Service
    home: PrefectHome
    started: Started | None = None
    since: float = 0.0
    pause: float = 1.0
    ready: bool = False
    again_at: float | None = None

    def start(self, stopped: threading.Event) -> None:
        """Start the service for the first time and wait until it is ready.

        Raises:
            ServiceFailed: when it ends, or is not ready in time.
        """
        self._launch()
        while not (stopped.is_set() or self.ready):
            self._look()
            stopped.wait(_TICK / 4)

    def look(self, tell: Tell) -> None:
        """Start the service again if it ended and its pause is over; wait for nothing."""
        if self.again_at is not None:
            if time.monotonic() >= self.again_at:
                self._launch()
            return
        was_ready = self.ready
        try:
            self._look()
        except ServiceFailed as failure:
            self._rest(tell, str(failure))
        else:
            if self.ready and not was_ready:
                tell(f"{self.service.name} runs again")

    def _launch(self) -> None:
        self.again_at, self.ready, self.since = None, False, time.monotonic()
        self.started = Started(self.service, self.home.folder)

    def _look(self) -> None:
        """Take note of a service that ended, or has become ready."""
        if self.started is not None and (code := self.started.ended) is not None:
            raise self._failure(f"ended with {code}")
        self.ready = self.ready or self.service.ready()
        if not self.ready and time.monotonic() - self.since > _PATIENCE:
            raise self._failure("does not answer")

    def _failure(self, why: str) -> ServiceFailed:
        return ServiceFailed(self.service.name, why, self.service.log, self.service.way_out)

    def _rest(self, tell: Tell, why: str) -> None:
        if self.started is not None:
            stop_all([self.started])
        if time.monotonic() - self.since > _HEALTHY:
            self.pause = 1.0
        self.again_at = time.monotonic() + self.pause
        tell(f"{why}; it is started again in {self.pause:.0f} s")
        self.pause = min(2 * self.pause, _LONGEST_PAUSE)
