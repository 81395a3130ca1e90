"""Files that survive a crash: private modes, whole-file swaps, appends on disk when they return.

Invariant: a reader of a swapped file sees the old bytes or the new ones, never a part.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from tasks.errors import WriteFailed
from tasks.segments import open_plain, require_plain
from tasks.waypoints import passing

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_NAME_BYTES = 200
"""How much of a file's name its part is named by: a name of 255 bytes leaves no room for more."""


def make_folder(path: Path) -> Path:
    """Create `path` and the parents that lack, all for the owner alone; return it."""
    try:
        if path.is_dir():
            return path
        for folder in reversed([path, *path.parents]):
            if not folder.is_dir():
                folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
    return path


def sync(descriptor: int) -> None:
    """Put a descriptor's bytes on the disk; macOS needs F_FULLFSYNC for that."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        fcntl.fcntl(descriptor, full)
    else:
        os.fdatasync(descriptor)


def sync_folder(path: Path) -> None:
    """Put a folder's entries on the disk, so that a rename in it survives a crash."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def swap_file(path: Path, data: bytes, *, mode: int = FILE_MODE) -> None:
    """Replace `path` by `data` in one step, durably.

    Raises:
        WriteFailed: when the disk refuses; the file that was there is untouched, no part is left.
    """
    _swap(path, data, mode, lambda: True)


def swap_file_if_still(
    path: Path, data: bytes, *, seen: bytes | None, mode: int = FILE_MODE
) -> bool:
    """Replace `path` by `data` only if its bytes are still `seen` just before the rename.

    `seen` is what the new bytes were made from, None when the file was absent. False is returned
    when another program wrote the file meanwhile.

    Raises:
        WriteFailed: as `swap_file`.
    """
    return _swap(path, data, mode, lambda: _bytes_of(path) == seen)


def _swap(path: Path, data: bytes, mode: int, still: Callable[[], bool]) -> bool:
    make_folder(path.parent)
    part = part_of(path)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        try:
            os.fchmod(descriptor, mode)  # whatever the umask would take from it
            _write_all(descriptor, data)
            passing("swap.written", path.name)
            sync(descriptor)
            passing("swap.synced", path.name)
        finally:
            os.close(descriptor)
        if not still():
            part.unlink()
            return False
        part.replace(path)
        passing("swap.renamed", path.name)
        sync_folder(path.parent)
        passing("swap.named", path.name)
    except OSError as error:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            part.unlink(missing_ok=True)
        raise WriteFailed(path, error.strerror or str(error)) from error
    return True


def make_file(path: Path, data: bytes) -> bool:
    """Make `path` with `data`, durably and whole, unless there is one; tell whether it was made.

    Of several processes that do so at once one makes it.

    Raises:
        WriteFailed: when the disk refuses.
    """
    make_folder(path.parent)
    part = part_of(path)
    try:
        swap_file(part, data)
        path.hardlink_to(part)
        passing("make.linked", path.name)
        sync_folder(path.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return True


def part_of(path: Path) -> Path:
    """Return a new name beside `path` for what is to be swapped in under its name."""
    name = path.name.encode(errors="surrogateescape")[:_NAME_BYTES].decode(errors="ignore")
    return path.with_name(f".{name}.{secrets.token_hex(4)}.part")


def sweep_parts(folder: Path, names: str) -> None:
    """Remove what a run left that was killed while it swapped a file of `folder`.

    `names` is a glob of the names of files that only the caller writes: a part that another
    process has in the making would go too. A part's own log goes with it.

    Raises:
        WriteFailed: when the disk refuses.
    """
    try:
        for part in folder.glob(f".{names}.????????.part*"):
            part.unlink(missing_ok=True)
    except OSError as error:
        raise WriteFailed(folder, error.strerror or str(error)) from error


def append_line(path: Path, line: bytes) -> None:
    """Append one line with a single write and put it on the disk before returning.

    Raises:
        WriteFailed: when the disk refuses.
    """
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK  # a pipe blocks
        descriptor = os.open(path, flags, FILE_MODE)
        try:
            require_plain(descriptor, path)
            _write_all(descriptor, line)
            passing("append.written", path.parent.name)
            sync(descriptor)
            passing("append.synced", path.parent.name)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error


def after_a_cut(path: Path) -> bytes:
    """Return what keeps a new line apart from a last one that a crash cut short."""
    try:
        with open_plain(path) as file:
            file.seek(-1, os.SEEK_END)
            return b"" if file.read(1) == b"\n" else b"\n"
    except OSError:
        return b""


@contextlib.contextmanager
def locked(path: Path, kind: int) -> Iterator[None]:
    """Hold an flock of a kind (`fcntl.LOCK_SH`, `LOCK_EX`) on a lock file; it goes with us.

    Raises:
        WriteFailed: when the lock file cannot be made.
    """
    make_folder(path.parent)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
