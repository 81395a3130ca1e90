"""Sees to it that what hooks left behind is run, by a process of its own: this one never writes.

Invariants: one such process at a time; when it fails it is not started again at once; when this
process ends it ends with it.
"""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

from tasks.domain.clock import utc_now
from tasks.errors import WriteFailed
from tasks.paused import paused
from tasks.settings import Places
from tasks.spool import alone, waits

_LOOKED_EVERY: Final = 1.0
_AFTER_FAILURE: Final = 300.0
"""Seconds until it is tried again."""
_GRACE: Final = 10.0
_COMMAND: Final = (str(Path(sys.executable).with_name("everest")), "ingest", "--spooled", "--quiet")

_log = logging.getLogger(__name__)


class Collecting:
    """Looks into the spool once a second; made without starting anything."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._closed = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0
        self._thread = threading.Thread(target=self._look, name="everest-spool", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more, and end what runs."""
        self._closed.set()
        self._thread.join()
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _look(self) -> None:
        while not self._closed.wait(_LOOKED_EVERY):
            with contextlib.suppress(OSError, WriteFailed):  # the next look may fare better
                self._step()

    def _step(self) -> None:
        if self._child is not None:
            code = self._child.poll()
            if code is None:
                return
            self._child = None
            if code:
                _log.warning("what hooks left could not be read: exit code %d", code)
                self._not_before = time.monotonic() + _AFTER_FAILURE
        if time.monotonic() >= self._not_before and self._is_due():
            self._child = subprocess.Popen(  # noqa: S603  our own command
                _COMMAND,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def _is_due(self) -> bool:
        """Tell whether something waits, and nobody works on it already."""
        spool = self._places.spool
        if not waits(spool) or paused(self._places.home, now=utc_now()) is not None:
            return False
        with alone(spool) as mine:
            return mine
