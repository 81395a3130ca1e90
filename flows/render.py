"""Render alone: read the files back, then bring them in line with the store."""

from __future__ import annotations

from tasks.compose import setting
from tasks.night import Run, opened
from tasks.orchestrated import flow, leave, run_as_file, steps_in_use, this_run
from tasks.reconcile import Reconciled
from tasks.render.artifacts import of_render
from tasks.render.plan import Rendered
from tasks.steps import Steps


def read_back_and_render(steps: Steps, run: Run) -> tuple[Reconciled, Rendered]:
    """Fold, take in what others changed in our files, publish, and write the files."""
    steps.fold(run)
    reconciled = steps.reconcile(run)
    steps.publish(run)
    return reconciled, steps.render(run)


@flow("render")
def render() -> tuple[Reconciled, Rendered]:
    """Run the render as a Prefect flow; its result stays in this process."""
    where, key = setting(), this_run("render")
    with opened(where, key) as run:
        reconciled, rendered = read_back_and_render(steps_in_use(), run)
    leave(where, key, of_render(reconciled, rendered))
    return reconciled, rendered


if __name__ == "__main__":
    run_as_file(render)
