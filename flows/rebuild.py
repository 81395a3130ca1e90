"""Rebuild: make the store again from the ledger, fold the journal's rest, embed and publish."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.compose import setting
from tasks.night import Run, opened
from tasks.orchestrated import flow, leave, run_as_file, steps_in_use, this_run
from tasks.rebuild import discard_store
from tasks.render.artifacts import counts
from tasks.steps import Steps
from tasks.store.publish import Published


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild came to: how many records were replayed, and what was published."""

    records: int
    published: Published


def replay_and_publish(steps: Steps, run: Run) -> Rebuilt:
    """Bring a store that opening has replayed up to date; sleep is never run again by it."""
    steps.fold(run)
    steps.embed(run)
    published = steps.publish(run)
    steps.compact(run)  # replaying wrote, and deleted again, what was forgotten since
    return Rebuilt(run.store.caught_up, published)


@flow("rebuild")
def rebuild() -> Rebuilt:
    """Run the rebuild as a Prefect flow; its result stays in this process."""
    where = setting()
    discard_store(where)
    key = this_run("rebuild")
    with opened(where, key) as run:
        rebuilt = replay_and_publish(steps_in_use(), run)
    published = rebuilt.published
    told = (("records replayed", rebuilt.records), ("scopes published", published.written))
    leave(where, key, counts("rebuild", told))
    return rebuilt


if __name__ == "__main__":
    run_as_file(rebuild)
