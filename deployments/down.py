"""`everest down`: stops what `everest up` runs, by its manager or by its lock, and waits for it.

Invariant: only a process that holds the lock of this very home, and said so in it, gets a signal.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Final

from deployments.units.installing import is_installed, runs
from deployments.units.managers import Units, answers, tell
from tasks.errors import NotStopped
from tasks.prefect_home import PrefectHome, holder_of

_PATIENCE: Final = 60.0
_PAUSE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Stopped:
    """What was stopped: by its manager, the process by its number, or neither as nothing ran."""

    by_manager: bool
    pid: int | None


def down(home: PrefectHome, units: Units) -> Stopped:
    """Stop what runs for a home and wait until its lock is free.

    Raises:
        NotStopped: when it does not end, or its holder cannot be told for sure.
        ManagerFailed: when the manager refuses.
    """
    managed = is_installed(units) and runs(units)
    if managed:
        tell(units.stop)
        _wait(home)
    elif is_installed(units) and answers(units.asks):
        tell(units.stop_idle)
    pid = None
    if holder_of(home):
        pid = _signalled(home)
        _wait(home)
    return Stopped(managed, pid)


def _signalled(home: PrefectHome) -> int:
    """Ask the holder of the lock to stop, having looked that it is one of ours; return its pid."""
    pid = _pid(home)
    if pid is None or not _is_up(pid):
        raise NotStopped(home.folder.parent, holder_of(home) or "another process")
    if not hasattr(os, "pidfd_open"):
        os.kill(pid, signal.SIGTERM)
        return pid
    descriptor = os.pidfd_open(pid)  # from here on the number cannot come to mean another process
    try:
        if _pid(home) != pid or not _is_up(pid):
            raise NotStopped(home.folder.parent, holder_of(home) or "another process")
        signal.pidfd_send_signal(descriptor, signal.SIGTERM)
    finally:
        os.close(descriptor)
    return pid


def _pid(home: PrefectHome) -> int | None:
    """Return the process that says to hold the lock, while somebody holds it."""
    if not holder_of(home):
        return None
    try:
        pid = json.loads(home.lock.read_bytes())["pid"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if isinstance(pid, int) and pid > 1 else None


def _is_up(pid: int) -> bool:
    """Tell whether a process is an `everest up` by its command line."""
    words = ["ps", "-ww", "-p", str(pid), "-o", "command="]
    found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()  # noqa: S603  words fixed here
    named = any("everest" in word or word == "serving.cli" for word in found)
    return named and "up" in found


def _wait(home: PrefectHome) -> None:
    deadline = time.monotonic() + _PATIENCE
    while holder_of(home):
        if time.monotonic() > deadline:
            raise NotStopped(home.folder.parent, holder_of(home) or "another process")
        time.sleep(_PAUSE)
