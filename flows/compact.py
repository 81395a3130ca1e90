"""Compact: the store's file again without the bytes of what was deleted."""

from __future__ import annotations

from tasks.compose import setting
from tasks.night import Run, opened
from tasks.orchestrated import flow, leave, run_as_file, steps_in_use, this_run
from tasks.render.artifacts import counts
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
    where, key = setting(), this_run("compact")
    with opened(where, key) as run:
        done = fold_and_compact(steps_in_use(), run)
    told = (("bytes before", done.before), ("bytes after", done.after), ("rows", done.rows))
    leave(where, key, counts("compact", told))
    return done


if __name__ == "__main__":
    run_as_file(compact)
