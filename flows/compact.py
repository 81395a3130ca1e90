"""Compact: the store's file again without the bytes of what was deleted."""

from __future__ import annotations

from tasks.compose import setting
from tasks.night import Run, opened
from tasks.orchestrated import flow, run_as_file, steps_in_use, this_run
from tasks.steps import Steps
from tasks.store.compact import Compacted


def fold_and_compact(steps: Steps, run: Run) -> Compacted:
    """Fold, so that what was asked to be forgotten goes too; publish; copy the store and swap."""
    steps.fold(run)
    steps.publish(run)
    return steps.compact(run)


@flow("compact")
def compact() -> Compacted:
    """Run the compacting as a Prefect flow; its result stays in this process."""
    with opened(setting(), this_run("compact")) as run:
        return fold_and_compact(steps_in_use(), run)


if __name__ == "__main__":
    run_as_file(compact)
