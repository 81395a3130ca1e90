"""Rebuild: make the store again from the ledger, fold the journal's rest, embed and publish."""

from __future__ import annotations

from tasks.compose import setting
from tasks.night import Run, opened
from tasks.orchestrated import flow, steps_in_use
from tasks.rebuild import discard_store
from tasks.steps import Steps
from tasks.store.publish import Published


def replay_and_publish(steps: Steps, run: Run) -> Published:
    """Bring a store that opening has replayed up to date; sleep is never run again by it."""
    steps.fold(run)
    steps.embed(run)
    return steps.publish(run)


@flow("rebuild")
def rebuild() -> None:
    """Run the rebuild as a Prefect flow."""
    where = setting()
    discard_store(where)
    with opened(where) as run:
        replay_and_publish(steps_in_use(), run)


if __name__ == "__main__":
    rebuild()
