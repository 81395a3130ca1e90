"""Measure alone: how often the person repeats a correction, and how often an error comes back."""

from __future__ import annotations

from tasks.compose import setting
from tasks.domain.report import Measures
from tasks.night import Run, opened
from tasks.orchestration import flow, task_steps
from tasks.steps import Steps


def rates(steps: Steps, run: Run) -> Measures:
    """Work out the rates over everything stored."""
    return steps.measure(run)


@flow(name="measure")
def measure() -> None:
    """Run the measure as a Prefect flow."""
    with opened(setting()) as run:
        rates(task_steps(), run)


if __name__ == "__main__":
    measure()
