"""Read and write files that are an agent's: through links, with their modes, next to their owner.

Invariants: what another program wrote meanwhile is never overwritten; before a file is changed a
copy of it lies in our home, the person's alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from tasks.durable import FILE_MODE, make_file, swap_file_if_still
from tasks.errors import AgentFileInTheWay, AgentFileUnreadable, WriteFailed

_STALE: Final = 10.0
"""Seconds after which an agent's own lock counts as left behind, by the agent's own rule."""
_PATIENCE: Final = 5.0
_TICK: Final = 0.05
_KNOWN_BY: Final = 12
LARGEST: Final = 64 * 1024 * 1024


def read(path: Path) -> bytes | None:
    """Return a file's bytes, None when there is none.

    Raises:
        AgentFileInTheWay: when it cannot be read, or is no plain file.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise AgentFileInTheWay(path, "it is no plain file")
        if found.st_size > LARGEST:
            raise AgentFileInTheWay(path, "it is too large to be a file of settings")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AgentFileInTheWay(path, f"it cannot be read ({error.strerror})") from None


def text_of(path: Path, data: bytes | None) -> str:
    """Return a file's text, with its byte order mark and line ends; "" for no file.

    Raises:
        AgentFileUnreadable: when it is no UTF-8.
    """
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        column = error.start - (before.rfind(b"\n") + 1) + 1
        why = "it is not UTF-8 text"
        raise AgentFileUnreadable(path, before.count(b"\n") + 1, column, why) from None


def check_writable(path: Path) -> None:
    """See to it that a file is the person's to change.

    Raises:
        AgentFileInTheWay: when it is read-only, or another account's.
    """
    try:
        found = path.stat()
    except OSError:
        return
    if not found.st_mode & stat.S_IWUSR:
        why = "it is read-only; make it writable (chmod u+w), or write there yourself what is shown"
        raise AgentFileInTheWay(path, why)
    if found.st_uid != os.getuid():
        raise AgentFileInTheWay(path, "it belongs to another account; run this as that account")


def replace(path: Path, data: bytes, *, seen: bytes | None) -> bool:
    """Replace a file, or the one that a link leads to, if it still holds `seen`; keep its mode.

    Raises:
        WriteFailed: when the disk refuses, or links go in circles.
    """
    real = _real(path)
    mode = FILE_MODE if seen is None else stat.S_IMODE(real.stat().st_mode)
    return swap_file_if_still(real, data, seen=seen, mode=mode)


def remove(path: Path, *, seen: bytes) -> bool:
    """Remove a file that we made, if it still holds `seen`."""
    real = _real(path)
    if read(real) != seen:
        return False
    try:
        real.unlink()
    except OSError as error:
        raise WriteFailed(real, error.strerror or str(error)) from error
    return True


def missing_folders(path: Path) -> list[Path]:
    """Return the folders above a file that are not there, the outermost first."""
    return [one for one in reversed(_real(path).parents) if not one.exists()]


def keep_copy(folder: Path, path: Path, data: bytes, *, agent: str, at: datetime) -> str:
    """Keep bytes in a folder of ours; return the name under which they lie there.

    The name ends with what the bytes are known by, so that no name ever means others.

    Raises:
        WriteFailed: when the disk refuses.
    """
    plain = path.name.lstrip(".")
    name = f"{at:%Y%m%dT%H%M%S}-{agent}-{plain}.{digest(data)[:_KNOWN_BY]}"
    make_file(folder / name, data)
    return name


def read_copy(folder: Path, name: str) -> bytes | None:
    """Return a copy that was kept, None when it is gone or no longer what it was."""
    try:
        data = (folder / name).read_bytes()
    except OSError:
        return None
    return data if name.endswith(digest(data)[:_KNOWN_BY]) else None


def digest(data: bytes) -> str:
    """Return by what bytes are known again."""
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def beside_its_owner(path: Path) -> Iterator[None]:
    """Hold the lock under which Claude Code writes a file: a folder with `.lock` behind its name.

    A lock that is held on and on is waited for a few seconds, then passed by: what is written
    afterwards is still compared with what was read.
    """
    lock, until = path.with_name(path.name + ".lock"), time.monotonic() + _PATIENCE
    held = False
    while not held and time.monotonic() < until:
        try:
            lock.mkdir()
            held = True
        except FileExistsError:
            _clear_stale(lock)
            time.sleep(_TICK)
        except OSError:  # the folder is not there, or may not be written: the write will tell
            break
    try:
        yield
    finally:
        if held:
            with contextlib.suppress(OSError):
                lock.rmdir()


def _clear_stale(lock: Path) -> None:
    with contextlib.suppress(OSError):
        if time.time() - lock.stat().st_mtime > _STALE:
            lock.rmdir()


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise WriteFailed(path, str(error)) from None
