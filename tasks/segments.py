"""Files of ours as they are read: listed and opened so that none is taken for empty by a mistake.

Invariants: only what is not there reads as nothing; no pipe, device or folder under the name of a
file makes reading wait or fill the memory.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tasks.errors import HomeUnreadable

ENDING = ".jsonl"


def segments(folder: Path) -> list[Path]:
    """Return the files of lines in a folder, by name; none of a folder that is not there.

    `Path.glob` finds nothing in a folder that may not be read.

    Raises:
        HomeUnreadable: when the folder cannot be listed.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208  names alone: no path is made of the rest
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error
    return [folder / name for name in sorted(names) if name.endswith(ENDING)]


def is_there(path: Path) -> bool:
    """Tell whether there is anything of a name.

    Raises:
        HomeUnreadable: when that cannot be told.
    """
    return found_at(path) is not None


def found_at(path: Path) -> os.stat_result | None:
    """Return what the system knows of a file, None when it is not there.

    Raises:
        HomeUnreadable: when that cannot be told.
    """
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file of the home for reading bytes.

    Raises:
        FileNotFoundError: when it is not there.
        HomeUnreadable: when it cannot be read, or is no plain file.
    """
    try:
        with open_plain(path) as file:
            yield file
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(path, error) from error


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading bytes, if it is a plain one or a link to one; never wait.

    Raises:
        OSError: when it cannot be opened, or is something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        require_plain(descriptor, path)
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def read_plain(path: Path) -> bytes:
    """Return the bytes of a plain file.

    Raises:
        OSError: as `open_plain`, and when reading fails.
    """
    with open_plain(path) as file:
        return file.read()


def require_plain(descriptor: int, path: Path) -> None:
    """Look whether a descriptor is of a plain file.

    Raises:
        OSError: when it is not.
    """
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))


def _unreadable(path: Path, error: OSError) -> HomeUnreadable:
    return HomeUnreadable(path, error.strerror or str(error))
