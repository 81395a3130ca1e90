"""Sleep alone: the six passes over what is already stored, then the view."""

from __future__ import annotations

from tasks.compose import setting
from tasks.night import Run, opened
from tasks.orchestrated import flow, leave, run_as_file, steps_in_use, this_run
from tasks.render.artifacts import of_passes
from tasks.sleep.run import Slept
from tasks.steps import Steps


def six_passes(steps: Steps, run: Run) -> tuple[Slept, ...]:
    """Run the passes in order."""
    return (
        steps.embed(run),
        steps.decay(run),
        steps.lessons(run),
        steps.merge(run),
        steps.verify(run),
        steps.predict(run),
    )


def fold_and_sleep(steps: Steps, run: Run) -> tuple[Slept, ...]:
    """Fold, sleep, and publish what that came to."""
    steps.fold(run)
    slept = six_passes(steps, run)
    steps.publish(run)
    return slept


@flow("sleep")
def sleep() -> tuple[Slept, ...]:
    """Run the passes as a Prefect flow; its result stays in this process."""
    where, key = setting(), this_run("sleep")
    with opened(where, key) as run:
        slept = fold_and_sleep(steps_in_use(), run)
    leave(where, key, of_passes(slept))
    return slept


if __name__ == "__main__":
    run_as_file(sleep)
