"""A service that `everest up` runs: a process group of its own, tethered, with a bounded log.

Invariant: stopping one leaves none of its processes, whatever they do with signals.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import TextIOWrapper
from logging import LogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, Final

from deployments.tether import GRACE
from tasks.domain.clock import utc_now
from tasks.durable import FILE_MODE
from tasks.errors import WriteFailed

_LOG_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Service:
    """What is run, and how to tell that it is ready.

    Attributes:
        name: what a person calls it; also its log's name.
        command: a module and its arguments.
        environment: all that the process gets.
        log: where its output goes; one older part is kept beside it.
        ready: tells whether it may be used; raises when it must not be.
        way_out: what a person may do when it does not come up.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    ready: Callable[[], bool] = lambda: True
    way_out: str = ""


class Started:
    """One start of a service."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service = service
        log = log_at(service.log)
        self.process = subprocess.Popen(  # noqa: S603  our own interpreter and modules
            [sys.executable, "-m", "deployments.tether", *service.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(service.environment),
            cwd=folder,
            start_new_session=True,
        )
        self._copying = threading.Thread(target=_copy, args=(self.process.stdout, log), daemon=True)
        self._copying.start()

    @property
    def ended(self) -> int | None:
        """Return the exit code of a service that ended, having ended what it left behind."""
        code = self.process.poll()
        if code is not None:
            self._signal(signal.SIGKILL)
        return code

    def stop(self) -> None:
        """Ask the service to stop, which stops its runs; after a grace end its whole group."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        self._signal(signal.SIGKILL)
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self._copying.join(GRACE)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def stop_all(running: list[Started]) -> None:
    """Stop services, the last one started first, so that each finds there what it needs to stop."""
    for one in reversed(running):
        one.stop()


class Log(RotatingFileHandler):
    """A bounded log, the owner's alone; a full disk loses lines of it, not the service."""

    def line(self, text: str) -> None:
        """Add a line, with the time before it in UTC."""
        told = f"{utc_now():%Y-%m-%dT%H:%M:%SZ} {text}"
        self.emit(LogRecord(self.baseFilename, 0, "", 0, told, None, None))

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="replace")

    def handleError(self, record: LogRecord) -> None:  # noqa: N802  logging's own name
        """Go on without the line."""


def log_at(path: Path) -> Log:
    """Return the log in a file, opened.

    Raises:
        WriteFailed: when the disk refuses.
    """
    try:
        return Log(path, maxBytes=_LOG_BYTES, backupCount=1)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error


def _copy(output: IO[bytes], log: Log) -> None:
    """Copy what a service prints until it prints no more."""
    with (
        contextlib.suppress(OSError),
        contextlib.closing(log),
        output,
    ):  # closing writes what is left
        for line in output:
            log.line(line.decode("utf-8", "replace").rstrip("\n"))


__all__ = ["Log", "Service", "Started", "log_at", "stop_all"]
