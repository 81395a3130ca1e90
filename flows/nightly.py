"""The night: from what was said and what happened to lessons, files and a morning report."""

from __future__ import annotations

from pathlib import Path

from flows.sleep import six_passes
from tasks.compose import setting
from tasks.domain.report import NightReport
from tasks.morning import Parts
from tasks.night import Run, opened
from tasks.orchestrated import flow, steps_in_use
from tasks.steps import Steps


def night(steps: Steps, run: Run) -> NightReport:
    """Run every stage of a night in order; a night that was killed goes on where it was."""
    folded = steps.fold(run)
    reconciled = steps.reconcile(run)
    ingested = steps.ingest(run)
    slept = six_passes(steps, run)
    measures = steps.measure(run)
    steps.publish(run)
    rendered = steps.render(run)
    return steps.morning(run, Parts(folded, reconciled, ingested, slept, measures, rendered))


@flow("nightly")
def nightly(transcripts: str | None = None) -> NightReport:
    """Run the night as a Prefect flow; its result stays in this process.

    Args:
        transcripts: a folder of transcripts to read instead of every host's root.
    """
    with opened(setting(Path(transcripts) if transcripts else None)) as run:
        return night(steps_in_use(), run)


if __name__ == "__main__":
    nightly()
