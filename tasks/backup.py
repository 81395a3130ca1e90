"""Back the memory up: one file that holds all that is needed to have it again elsewhere."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path

from tasks.compose import Setting
from tasks.domain.ran import RunKey
from tasks.errors import UsageError
from tasks.progress import Progress, Quiet
from tasks.runs import recorded
from tasks.segments import segments
from tasks.settings import absolute
from tasks.store import backups
from tasks.store.backups import KEPT, Backup
from tasks.store.digest import store_digest
from tasks.store.handle import open_store


def backup(  # noqa: PLR0913  of what, as which run, where to, when, and who watches
    where: Setting,
    key: RunKey,
    named: Path | None = None,
    *,
    at: datetime,
    keep: int = KEPT,
    progress: Progress | None = None,
) -> Backup:
    """Write a backup, read it back, and remove the oldest of those that Everest named itself.

    The store is held only until its files are frozen; packing goes on beside the next night.

    Args:
        where: what to back up.
        key: under which the log of runs knows it.
        named: the file to write; one of ours under `backups/` if not given.
        at: now.
        keep: how many of our own to keep.
        progress: told how far it is.

    Raises:
        UsageError: when the file cannot be written there, or there is no memory yet.
        StoreError: when the store cannot be opened.
        WriteFailed: when the disk refuses; nothing is left of it then.
    """
    shown, places = progress or Quiet(), where.places
    if not segments(places.ledger) and not segments(places.journal):
        raise UsageError(f"there is nothing to back up in {places.home}: run `everest night` first")
    path = backups.destination(places, absolute(named) if named else None, at=at)
    held = partial(recorded, places.runs, key, at=at, attended=where.attended)
    with ExitStack() as frozen:
        with open_store(places, where.settings, at=at, waiting=shown.waiting, held=held) as store:
            digest, last = store_digest(store.database), store.ledger.last_tx
            portions = frozen.enter_context(backups.frozen(places))
        made = backups.write(
            path, portions, places, at=at, digest=digest, last_tx=last, progress=shown
        )
    backups.drop_old(places, keep)
    return made
