"""Backup: one file with all that is needed to have the memory again elsewhere."""

from __future__ import annotations

from pathlib import Path

from tasks.backup import backup as take
from tasks.compose import setting
from tasks.domain.clock import utc_now
from tasks.orchestrated import flow, leave, run_as_file, this_run
from tasks.render.artifacts import counts
from tasks.store.backups import KEPT, Backup


@flow("backup")
def backup(file: str | None = None, keep: int = KEPT) -> Backup:
    """Take a backup as a Prefect flow; its result stays in this process.

    Args:
        file: where to; a file of its own name in the home's `backups` folder if not given.
        keep: how many of those that it named itself to keep.
    """
    where, key = setting(), this_run("backup")
    taken = take(where, key, Path(file) if file else None, at=utc_now(), keep=keep)
    told = (("bytes", taken.bytes), ("files", len(taken.contents.files)))
    leave(where, key, counts("backup", told))
    return taken


if __name__ == "__main__":
    run_as_file(backup)
