"""A home as it is at one instant, kept apart by links while the home goes on.

Our files are only ever appended to or replaced whole, so a link with a length is a frozen copy: the
two locks are held for the linking alone, and neither an appender nor a night waits for a backup.
Invariant: a file of lines ends with its last whole line.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tasks.durable import make_folder
from tasks.errors import WriteFailed
from tasks.settings import Places
from tasks.store import journal
from tasks.store.archive import TAKEN, Portion

_NO_LINKS: Final = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)
_OF_MACHINE: Final = ".token"
"""The end of names beside the key that let somebody in on this machine alone."""
_BLOCK: Final = 64 * 1024


def freeze(places: Places, into: Path) -> list[Portion]:
    """Link what a backup holds under `into`; the caller holds the writer lock and removes it.

    Returns:
        The portions, sorted by path, each as long as it was under the journal's lock.

    Raises:
        WriteFailed: when the disk refuses.
    """
    make_folder(into)
    try:
        with journal.exclusive(places.journal):
            linked = [_linked(source, into / name, name) for name, source in _files(places.home)]
        portions = (_whole_lines(one) for one in linked if one is not None)
        return sorted(portions, key=lambda one: one.path)
    except OSError as error:
        raise WriteFailed(into, error.strerror or str(error)) from error


def _files(home: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name under the home of every file to take; locks and parts are passed by."""
    for name in TAKEN:
        top = home / name
        if top.is_file():
            yield name, top.resolve()
        for folder, folders, files in os.walk(top):
            folders[:] = [one for one in folders if not one.startswith(".")]
            for file in files:
                path = Path(folder) / file
                if not file.startswith(".") and not file.endswith(_OF_MACHINE):
                    yield f"{name}/{path.relative_to(top).as_posix()}", path


def _linked(source: Path, target: Path, name: str) -> Portion | None:
    """Link a file; None when it is no plain file, or went away since it was listed."""
    try:
        if not stat.S_ISREG(source.lstat().st_mode):
            return None
        if not target.parent.is_dir():
            make_folder(target.parent)
        _link(source, target)
    except FileNotFoundError:
        return None
    return Portion(name, target, target.stat().st_size)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(source, target)


def _whole_lines(one: Portion) -> Portion:
    """Leave out what an appender had not finished, or never will."""
    if not one.path.endswith(".jsonl"):
        return one
    end = one.size
    with one.source.open("rb") as file:
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return Portion(one.path, one.source, start + found + 1)
            end = start
    return Portion(one.path, one.source, 0)
