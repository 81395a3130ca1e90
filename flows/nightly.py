"""The night: from what was said and what happened to lessons, files and a morning report."""

from __future__ import annotations

from pathlib import Path

from flows.sleep import six_passes
from tasks.compose import setting
from tasks.domain.clock import utc_now
from tasks.domain.ran import NIGHTLY
from tasks.domain.report import NightReport
from tasks.morning import Parts
from tasks.night import Run, opened
from tasks.orchestrated import flow, leave, run_as_file, steps_in_use, this_run
from tasks.paused import paused
from tasks.render.artifacts import of_night
from tasks.runs import due
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


@flow(NIGHTLY)
def nightly(transcripts: str | None = None, if_due: bool = False) -> NightReport | None:  # noqa: FBT001, FBT002  a parameter that a schedule sets
    """Run the night as a Prefect flow; its result stays in this process.

    Args:
        transcripts: a folder of transcripts to read instead of every host's root.
        if_due: run only if no night has completed since one was due, and Everest is not paused;
            None is returned otherwise.
    """
    where = setting(Path(transcripts) if transcripts else None)
    now = utc_now()
    if if_due and paused(where.places.home, now=now):
        return None
    if if_due and not due(where.places.runs, now=now, zone=where.settings.zone):
        return None
    key = this_run(NIGHTLY)
    with opened(where, key) as run:
        report = night(steps_in_use(), run)
    leave(where, key, of_night(report, where.places.morning))
    return report


if __name__ == "__main__":
    run_as_file(nightly)
