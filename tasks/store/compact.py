"""Copy the store into a new file without what was deleted, verify the copy, and swap it in.

DuckDB keeps deleted bytes for as long as a file lives; only a copy leaves them behind. Invariant:
the store's name means the old file whole or the new one whole, and never has another file's log.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tasks.durable import part_of, sync, sync_folder
from tasks.errors import StoreError, WriteFailed
from tasks.store.database import Database, log_of, open_database
from tasks.store.fingerprint import differing, fingerprint
from tasks.store.handle import Store
from tasks.waypoints import passing


@dataclass(frozen=True, slots=True)
class Leftover:
    """A damaged store that was once kept aside; it still holds whatever it held. Size in bytes."""

    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """What compacting came to: the store's bytes with its log, before and after.

    Attributes:
        rows: rows copied, of all tables.
        leftovers: damaged stores kept aside, which are the person's to delete.
    """

    before: int
    after: int
    rows: int
    leftovers: tuple[Leftover, ...]


def free_bytes(folder: Path) -> int:
    """Return how many bytes this process may still write on a folder's disk."""
    return shutil.disk_usage(folder).free


def compact(store: Store, *, free: Callable[[Path], int] = free_bytes) -> Compacted:
    """Replace the store's file by a copy of what it holds; the open store goes on with the copy.

    Args:
        store: the open store.
        free: tells the bytes that are free in a folder.

    Raises:
        WriteFailed: when there is no room, or the disk refuses; the store is as it was.
        StoreError: when the copy is not what the store is; the store is as it was.
    """
    path = store.places.store
    _require_room(store.database, free(path.parent))
    store.database.run("CHECKPOINT")
    before = _size(path)
    part = part_of(path)
    try:
        store.database.copy_to(part)
        passing("compact.copied")
        rows = _verify(store.database, part)
        passing("compact.verified")
        store.database.close()
        try:
            _swap(part, path)
        finally:
            store.database = open_database(path)
    finally:
        part.unlink(missing_ok=True)
        log_of(part).unlink(missing_ok=True)
    return Compacted(before, _size(path), rows, tuple(leftovers(path)))


def leftovers(path: Path) -> Iterator[Leftover]:
    """Yield the damaged stores that were kept aside beside the store, by name."""
    for kept in sorted(path.parent.glob(f"{path.name}.corrupt-*")):
        yield Leftover(kept, kept.stat().st_size)


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in (path, log_of(path)) if one.exists())


def _require_room(database: Database, free: int) -> None:
    """Refuse what can clearly not end well: a copy is never larger than the blocks in use."""
    needed = database.bytes_in_use()
    if free < needed:
        why = f"the copy may need {needed / 1e6:,.1f} MB and {free / 1e6:,.1f} MB are free"
        raise WriteFailed(database.path, why)


def _verify(old: Database, part: Path) -> int:
    """Compare the copy with the store, put it on the disk, and return how many rows it has."""
    copy = open_database(part)
    try:
        held, copied = fingerprint(old), fingerprint(copy)
    finally:
        copy.close()
    wrong = differing(held, copied)
    if wrong:
        why = f"its copy differs in {', '.join(wrong)}; the store was left as it was"
        raise StoreError(f"{old.path}: {why}; run `everest check` to see whether it is sound")
    if log_of(part).exists():
        raise WriteFailed(part, "not all of the copy came into the file")
    with part.open("rb") as file:
        sync(file.fileno())
    return sum(copied[name].rows for name in copied)


def _swap(part: Path, path: Path) -> None:
    """Put the copy under the store's name; the old log goes first, as it is of another file.

    Should the process end in between, the old file catches up from the ledger.
    """
    try:
        log_of(path).unlink(missing_ok=True)
        sync_folder(path.parent)
        passing("compact.log_removed")
        part.replace(path)
        sync_folder(path.parent)
        passing("compact.swapped")
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
