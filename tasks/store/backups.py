"""Take a backup: freeze the home, pack it, read it back, give it its name.

Invariant: a file under a backup's name is whole and was read back; a failure leaves none, and a
file that a person named is never removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tasks.domain.clock import iso
from tasks.durable import FILE_MODE, make_folder, sweep_parts, sync, sync_folder
from tasks.errors import UsageError, WriteFailed
from tasks.progress import Progress, Quiet
from tasks.settings import Places
from tasks.store.archive import Contents, Portion, contents_of, pack, sealed
from tasks.store.snapshot import freeze
from tasks.waypoints import passing

KEPT: Final = 7
"""How many of the backups that it named itself are kept."""

_OURS: Final = re.compile(r"everest-\d{8}T\d{6}Z(-\d+)?\.tar\.gz")
_SNAPSHOT: Final = ".snapshot-"
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was taken: where it is, what it holds, and its own length in bytes."""

    path: Path
    contents: Contents
    bytes: int


def destination(places: Places, named: Path | None, *, at: datetime) -> Path:
    """Return the file that a backup is to be written to.

    Raises:
        UsageError: when there is a file already, its folder is not there, or it lies in the home.
    """
    if named is None:
        return _free(make_folder(places.backups), f"everest-{at.astimezone(UTC):%Y%m%dT%H%M%SZ}")
    if os.path.lexists(named):
        what = "a folder; name a file in it" if named.is_dir() else "there already; name another"
        raise UsageError(f"cannot write a backup to {named}: it is {what}")
    if named.parent == places.backups:
        make_folder(named.parent)
    if not named.parent.is_dir():
        raise UsageError(f"cannot write a backup to {named}: there is no folder {named.parent}")
    folder, home = named.parent.resolve(), places.home.resolve()
    if folder.is_relative_to(home) and folder != home / places.backups.name:
        why = f"it lies in the memory itself; name a file elsewhere or in {places.backups}"
        raise UsageError(f"cannot write a backup to {named}: {why}")
    if folder == home / places.backups.name and _OURS.fullmatch(named.name):
        why = "Everest names its own backups so, and removes old ones; choose another name"
        raise UsageError(f"cannot write a backup to {named}: {why}")
    return named


@contextmanager
def frozen(places: Places) -> Iterator[list[Portion]]:
    """Freeze the home under the caller's writer lock; what was frozen goes when this is left.

    It may be left after the lock.

    Raises:
        WriteFailed: when the disk refuses.
    """
    folder = make_folder(places.backups)
    snapshot = folder / f"{_SNAPSHOT}{secrets.token_hex(4)}"
    with _packing(folder):
        try:
            portions = freeze(places, snapshot)
            passing("backup.frozen")
            yield portions
        finally:
            shutil.rmtree(snapshot, ignore_errors=True)


@contextmanager
def _packing(folder: Path) -> Iterator[None]:
    """Be known as one that packs in a folder; what killed ones left goes if nobody else does.

    The caller holds the writer lock as this is entered, so one at a time is.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for left in folder.glob(f"{_SNAPSHOT}*"):
                shutil.rmtree(left, ignore_errors=True)
            sweep_parts(folder, "everest-backup")
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def write(  # noqa: PLR0913  where, of what, when, as what the store stood, and who watches
    path: Path,
    portions: list[Portion],
    places: Places,
    *,
    at: datetime,
    digest: str,
    last_tx: int,
    progress: Progress,
) -> Backup:
    """Pack what was frozen into `path`, read it back and compare, then give it its name.

    Raises:
        WriteFailed: when the disk refuses, or gives back something else; no part is left.
        UsageError: when a file of that name came to be meanwhile.
    """
    part = path.with_name(f".everest-backup.{secrets.token_hex(4)}.part")
    progress.begin("pack")
    try:
        contents = Contents(iso(at), str(places.home), digest, last_tx, sealed(portions))
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            pack(contents, portions, file, progress.advance)
            file.flush()
            sync(file.fileno())
        passing("backup.packed")
        progress.begin("compare")
        if contents_of(part, progress.advance) != contents:
            raise WriteFailed(path, "what was read back is not what was written")
        size = part.stat().st_size
        _name(part, path)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
    finally:
        with suppress(OSError):  # the first error is the one to tell
            part.unlink(missing_ok=True)
    return Backup(path, contents, size)


def before_schema(places: Places, schema: int, *, at: datetime, last_tx: int) -> None:
    """Back the home up before its store is changed to a newer schema; kept until somebody drops it.

    Raises:
        WriteFailed: when the disk refuses; then the store is not to be changed.
    """
    path = places.backups / f"before-schema-{schema}-record-{last_tx}.tar.gz"
    if path.exists():  # of a run that was killed before it changed anything
        return
    with frozen(places) as portions:
        write(path, portions, places, at=at, digest="", last_tx=last_tx, progress=Quiet())


def drop_old(places: Places, keep: int) -> list[Path]:
    """Remove all but the last `keep` of the backups that Everest named; return those removed."""
    ours = sorted(one for one in places.backups.iterdir() if _OURS.fullmatch(one.name))
    old = ours[: max(0, len(ours) - keep)]
    for one in old:
        try:
            one.unlink(missing_ok=True)
        except OSError as error:
            raise WriteFailed(one, error.strerror or str(error)) from error
    return old


def _free(folder: Path, stem: str) -> Path:
    path, number = folder / f"{stem}.tar.gz", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.tar.gz"
    return path


def _name(part: Path, path: Path) -> None:
    """Give the finished file its name, which no other file may have meanwhile."""
    try:
        path.hardlink_to(part)
    except FileExistsError as error:
        raise UsageError(f"cannot write a backup to {path}: it is there already") from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        part.replace(path)  # a disk that knows no links
    sync_folder(path.parent)
    passing("backup.named")
