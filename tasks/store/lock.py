"""One writer at a time: an flock on the store's lock file, which names its holder to who waits.

The lock goes with its process, so a killed run never blocks the next one.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.durable import FILE_MODE, make_folder
from tasks.errors import StoreLocked, WriteFailed

_PAUSE = 0.1


@contextmanager
def writer_lock(
    path: Path, *, wait: float, started: str, waiting: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Hold the store's writer lock.

    Args:
        path: the lock file.
        wait: seconds to wait for another holder.
        started: the start time written for others to read, ISO 8601.
        waiting: told once who holds the lock, when there is a wait.

    Raises:
        StoreLocked: when the holder did not let go in time; it is named.
        WriteFailed: when the disk refuses the lock file.
    """
    make_folder(path.parent)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
    try:
        _take(descriptor, path, wait, waiting)
        owner = {"pid": os.getpid(), "started": started, "command": " ".join(sys.argv[:3])}
        _name(descriptor, owner, path)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _name(descriptor: int, owner: dict[str, object], path: Path) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(owner).encode(), 0)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error


def _take(descriptor: int, path: Path, wait: float, waiting: Callable[[str], None]) -> None:
    deadline = time.monotonic() + wait
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not told:
                waiting(holder(path))
                told = True
            if time.monotonic() >= deadline:
                raise StoreLocked(path, holder(path)) from None
            time.sleep(_PAUSE)
        else:
            return


def holder(path: Path) -> str:
    """Return who the lock file says holds the lock, in words."""
    try:
        owner = json.loads(path.read_bytes())
        return f"process {owner['pid']} ({owner['command']}), started {owner['started']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def writer_at_work(path: Path) -> str:
    """Return who is writing the store now, in words; "" when nobody is. Takes no lock."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder(path)
    else:
        return ""
    finally:
        os.close(descriptor)
