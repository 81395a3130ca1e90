"""Sleep alone: the six passes over what is already stored, then the view."""

from __future__ import annotations

from tasks.compose import setting
from tasks.night import Run, opened
from tasks.orchestrated import flow, steps_in_use
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
def sleep() -> None:
    """Run the passes as a Prefect flow."""
    with opened(setting()) as run:
        fold_and_sleep(steps_in_use(), run)


if __name__ == "__main__":
    sleep()
