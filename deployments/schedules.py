"""Serves every flow in one process with no worker: the default way of running nights on time.

Runs are processes of their own, at low priority, with this process's interpreter, environment and
settings. `python -m deployments.schedules` does it against the Prefect API that is configured.
"""

from __future__ import annotations

import os
from typing import Final

from tasks import orchestration as _ours  # noqa: F401  settles Prefect's home before it is imported

from prefect import serve  # isort: skip
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy  # isort: skip
from prefect.deployments.runner import RunnerDeployment  # isort: skip
from prefect.schedules import Cron, Schedule  # isort: skip

from deployments.table import TABLE, Deployed, Times
from tasks.settings import Settings
from tasks.timezone import zone_name

_AT_ONCE: Final = 4
"""Runs at work at once: a night, an ingest, and two that a person started."""
_BEHIND: Final = 10
"""How much lower the priority of runs is than the person's own programs."""


def served(deployed: Deployed, zone: str) -> RunnerDeployment:
    """Return a deployment as Prefect serves it, its times in `zone`."""
    times = deployed.times
    registered = RunnerDeployment.from_entrypoint(
        deployed.entrypoint,
        name=deployed.name,
        description=deployed.description,
        tags=list(deployed.tags),
        schedule=None if times is None else _cron(times, zone),
        concurrency_limit=ConcurrencyLimitConfig(
            limit=1, collision_strategy=ConcurrencyLimitStrategy(deployed.meeting.value)
        ),
    )
    registered.work_pool_name = None  # said, not left out: takes a deployment back from workers
    registered.work_queue_name = None
    return registered


def _cron(times: Times, zone: str) -> Schedule:
    return Cron(times.cron, timezone=zone, parameters=dict(times.given))


def main() -> None:
    """Serve until stopped; schedules stay active, for workers and for the next start."""
    os.nice(_BEHIND)
    zone = zone_name(Settings.load().timezone)
    serve(
        *(served(one, zone) for one in TABLE),
        pause_on_shutdown=False,
        print_starting_message=False,
        limit=_AT_ONCE,
    )


if __name__ == "__main__":
    main()
