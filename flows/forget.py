"""Forget: carry out now what was asked to be forgotten, down to the bytes in the store's file."""

from __future__ import annotations

from flows.render import read_back_and_render
from tasks.compose import setting
from tasks.night import Run, opened
from tasks.orchestrated import flow, leave, run_as_file, steps_in_use, this_run
from tasks.render.artifacts import counts
from tasks.shown import clear
from tasks.steps import Steps
from tasks.store.compact import Compacted


def erase(steps: Steps, run: Run) -> Compacted:
    """Fold, publish and render without what is forgotten, then copy the store without its bytes."""
    _, rendered = read_back_and_render(steps, run)
    clear(run.store.places.shown)
    compacted = steps.compact(run)
    if rendered.failed:  # a file with the words may stand there still
        raise rendered.failed[0]
    return compacted


@flow("forget")
def forget() -> Compacted:
    """Run the forgetting as a Prefect flow; its result stays in this process."""
    where, key = setting(), this_run("forget")
    with opened(where, key) as run:
        compacted = erase(steps_in_use(), run)
    told = (("bytes before", compacted.before), ("bytes after", compacted.after))
    leave(where, key, counts("forget", told))
    return compacted


if __name__ == "__main__":
    run_as_file(forget)
