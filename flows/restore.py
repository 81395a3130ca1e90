"""Restore: the memory of a backup in the place of what is here, which is moved aside."""

from __future__ import annotations

from pathlib import Path

from tasks.compose import setting
from tasks.domain.clock import utc_now
from tasks.orchestrated import flow
from tasks.restore import Restored
from tasks.restore import restore as put_back


@flow("restore")
def restore(file: str, *, lose_decisions: bool = False) -> Restored:
    """Restore a backup as a Prefect flow; its result stays in this process.

    Args:
        file: the backup.
        lose_decisions: go on although decisions made here cannot be read or compared.
    """
    return put_back(setting(), Path(file), at=utc_now(), lose_decisions=lose_decisions)
