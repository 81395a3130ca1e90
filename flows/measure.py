"""Measure alone: how often the person repeats a correction, and how often an error comes back."""

from __future__ import annotations

from tasks.compose import setting
from tasks.domain.report import Measures
from tasks.night import Run, opened
from tasks.orchestrated import flow, run_as_file, steps_in_use, this_run
from tasks.steps import Steps


def rates(steps: Steps, run: Run) -> Measures:
    """Work out the rates over everything stored."""
    return steps.measure(run)


@flow("measure")
def measure() -> Measures:
    """Run the measure as a Prefect flow; its result stays in this process."""
    with opened(setting(), this_run("measure")) as run:
        return rates(steps_in_use(), run)


if __name__ == "__main__":
    run_as_file(measure)
