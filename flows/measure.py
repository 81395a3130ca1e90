"""Measure alone: how often the person repeats a correction, and how often an error comes back."""

from __future__ import annotations

from tasks.compose import setting
from tasks.domain.report import Measures
from tasks.night import Run, opened
from tasks.orchestrated import flow, steps_in_use
from tasks.steps import Steps


def rates(steps: Steps, run: Run) -> Measures:
    """Work out the rates over everything stored."""
    return steps.measure(run)


@flow("measure")
def measure() -> None:
    """Run the measure as a Prefect flow."""
    with opened(setting()) as run:
        rates(steps_in_use(), run)


if __name__ == "__main__":
    measure()
