"""Writes what of the table is registered with Prefect to standard output, pickled.

Registering a flow takes its parameters, and so all that it imports; that is done in this process,
which ends, and not in the one that keeps the schedules: it holds half as much for it.
"""

from __future__ import annotations

import pickle
import sys

from tasks import orchestration as _ours  # noqa: F401  settles Prefect's home before it is imported

from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy  # isort: skip
from prefect.deployments.runner import RunnerDeployment  # isort: skip
from prefect.schedules import Cron, Schedule  # isort: skip

from deployments.table import TABLE, Deployed, Times


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
    """Write the list of deployments, their times in the zone that is named on the command line."""
    found = pickle.dumps([served(one, sys.argv[1]) for one in TABLE])
    sys.stdout.buffer.write(found)


if __name__ == "__main__":
    main()
