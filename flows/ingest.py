"""Ingest alone: what was said and the transcripts that changed become episodes to recall."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tasks.compose import setting
from tasks.domain.clock import utc_now
from tasks.ingest import Ingested
from tasks.night import Run, opened
from tasks.orchestrated import flow, leave, run_as_file, steps_in_use, this_run
from tasks.paused import paused
from tasks.render.artifacts import of_ingest
from tasks.steps import Steps


def read_and_publish(steps: Steps, run: Run) -> Ingested:
    """Fold, read what changed, give it vectors and publish it."""
    folded = steps.fold(run)
    ingested = steps.ingest(run)
    steps.embed(run)
    steps.publish(run)
    return replace(ingested, problems=[*folded.problems, *ingested.problems])


@flow("ingest")
def ingest(transcripts: str | None = None, unless_paused: bool = False) -> Ingested | None:  # noqa: FBT001, FBT002  a parameter that a schedule sets
    """Run ingest as a Prefect flow; its result stays in this process.

    Args:
        transcripts: a folder of transcripts to read instead of every host's root.
        unless_paused: read nothing while Everest is paused; None is returned then.
    """
    where = setting(Path(transcripts) if transcripts else None)
    if unless_paused and paused(where.places.home, now=utc_now()):
        return None
    key = this_run("ingest")
    with opened(where, key) as run:
        found = read_and_publish(steps_in_use(), run)
    leave(where, key, of_ingest(found))
    return found


if __name__ == "__main__":
    run_as_file(ingest)
