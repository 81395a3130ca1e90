"""Names for the durable steps of a run, so that a test can stop a process at each of them.

Invariant: with no observer, which is always so outside of tests, passing a step does nothing. An
observer can be set only by a program that imports this module: no setting and no variable does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Waypoint = Literal[
    # a file swapped in whole; the detail is its name
    "swap.written",
    "swap.synced",
    "swap.renamed",
    "swap.named",
    "make.linked",
    # a line appended; the detail is its folder's name
    "append.written",
    "append.synced",
    # what is said to us
    "journal.locked",
    "journal.appended",
    "journal.acknowledged",
    "journal.retired",
    # opening the store
    "open.locked",
    "open.kept",
    "open.migrated",
    "open.caught_up",
    "open.closed",
    # one transaction
    "commit.begun",
    "commit.applied",
    "commit.durable",
    "commit.committed",
    "ledger.appending",
    "ledger.appended",
    "ledger.truncated",
    "vectors.written",
    "vectors.committed",
    # the stages of a run
    "fold.read",
    "fold.committed",
    "reconcile.read",
    "reconcile.said",
    "reconcile.folded",
    "ingest.evidence",
    "ingest.cut",
    "ingest.committed",
    "pass.proposed",
    "pass.committed",
    "publish.made",
    "publish.saved",
    "publish.sealed",
    "publish.listed",
    "publish.manifest",
    "publish.pointer",
    "publish.dropped",
    "publish.tidied",
    "render.swept",
    "render.announced",
    "render.written",
    "render.removed",
    "render.indexed",
    "render.listed",
    "render.closed",
    "render.exposed",
    "morning.written",
    "rebuild.distrusted",
    "rebuild.log_removed",
    "rebuild.discarded",
    # a backup taken, and one restored
    "backup.frozen",
    "backup.packed",
    "backup.named",
    "restore.unpacked",
    "restore.ready",
    "restore.planned",
    "restore.carried",
    "restore.moved",
    "restore.placed",
    "restore.cleared",
    "compact.copied",
    "compact.verified",
    "compact.log_removed",
    "compact.swapped",
]
"""Every step, named by where it lies and what has just been done; nothing else may be passed."""

Observer = Callable[[str, str], None]


class _Watch:
    """Who is told of each step."""

    observer: Observer | None = None


def passing(name: Waypoint, detail: str = "") -> None:
    """Say that a run has just reached a step.

    Args:
        name: the step.
        detail: which pass, or the name of which file or folder; never memory text.
    """
    if _Watch.observer is not None:
        _Watch.observer(name, detail)


def observe(observer: Observer | None) -> None:
    """Let `observer` be told of every step of this process from now on; None ends it."""
    _Watch.observer = observer
