"""A progress bar on a terminal, stage by stage; silence anywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tasks.progress import Progress as Shown
from tasks.progress import Quiet

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_SAID = {
    "fold": "taking in what was said",
    "reconcile": "reading lesson files back",
    "ingest": "reading transcripts",
    "embed": "embedding",
    "decay": "letting fade",
    "lessons": "learning",
    "merge": "merging",
    "verify": "checking predictions",
    "predict": "predicting",
    "measure": "measuring",
    "publish": "publishing",
    "render": "writing lesson files",
    "morning": "writing the morning report",
    "pack": "packing",
    "compare": "reading back",
    "unpack": "unpacking",
    "replay": "replaying",
    "compact": "copying the store",
}


class Bar:
    """Progress on a terminal."""

    def __init__(self, progress: Progress, console: Console) -> None:
        self._progress, self._console = progress, console
        self._task = progress.add_task("starting", total=None)

    def begin(self, stage: str) -> None:
        """Show that a stage begins."""
        self._progress.remove_task(self._task)  # a task once given a total keeps one
        self._task = self._progress.add_task(_SAID.get(stage, stage), total=None)

    def advance(self, done: int, total: int) -> None:
        """Show how far the stage is."""
        self._progress.update(self._task, completed=done, total=total)

    def waiting(self, holder: str) -> None:
        """Say who holds the store."""
        self._console.print(f"waiting: the store is being written by {holder}")


@contextmanager
def shown(*, quiet: bool = False) -> Iterator[Shown]:
    """Show progress on standard error while it is a terminal."""
    if quiet:
        yield Quiet()
        return
    from rich.console import Console  # noqa: PLC0415  what draws waits for what lasts

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Quiet()
        return
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
    )

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(progress, console)
