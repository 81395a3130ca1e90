"""Work for memory that nobody waits for: one thread, in order, whatever fails is counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Final

from serving.metrics import Counters

_MOST: Final = 1_000
"""Jobs that wait at a time; when a disk is that slow, memory loses, and never the client."""

_log = logging.getLogger(__name__)


class Behind:
    """Does jobs behind the answers; made without starting a thread."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="everest-behind")
        self._waiting = 0
        self._alone = Lock()

    def __call__(self, job: Callable[[], None]) -> None:
        """Have a job done soon; it is dropped and counted when too many wait."""
        with self._alone:
            full = self._waiting >= _MOST
            self._waiting += not full
        if full:
            self._counters.tees.add("dropped")
        else:
            self._thread.submit(self._do, job)

    def close(self) -> None:
        """Do what waits, and no more."""
        self._thread.shutdown()

    def _do(self, job: Callable[[], None]) -> None:
        try:
            job()
        except Exception as error:  # noqa: BLE001  nobody waits for it who could be told
            _log.warning("memory could not be written: %s", type(error).__name__)
            self._counters.tees.add("failed")
        finally:
            with self._alone:
                self._waiting -= 1
