"""The one module of tasks that imports Prefect: the policy of every flow and task of ours.

Nothing is cached or persisted, since results would be a second copy of memory; parameters and logs
carry ids, counts and paths, never memory text. Prefect keeps its home under ours and sends nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from tasks.domain.ran import RunKey
from tasks.durable import make_folder
from tasks.runs import new_run
from tasks.settings import Places, Settings
from tasks.steps import PLAIN, Steps, each, watched


def _contain() -> None:
    """Keep Prefect in our home, quiet and offline; must come before it is imported."""
    home = make_folder(Places(Settings.load().home).home / "prefect")
    os.environ |= {
        "DO_NOT_TRACK": "1",
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        "PREFECT_TASKS_DEFAULT_NO_CACHE": "true",
    }


_contain()

from prefect import flow, task  # noqa: E402  after its home is set
from prefect.cache_policies import NO_CACHE  # noqa: E402
from prefect.runtime import flow_run  # noqa: E402

HOUR: Final = 3_600
TAGS: Final = ("everest",)


def as_flow(name: str) -> Callable[..., Any]:
    """Return what makes a function a flow of ours."""
    return flow(name=name, persist_result=False)


def this_run(name: str) -> RunKey:
    """Return the key of the flow run that this process is in."""
    return RunKey(name, str(flow_run.id or new_run(name).id))


def as_task(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step as a Prefect task; never retried: a step goes on by itself at the next run."""
    return task(
        name=name,
        tags=list(TAGS),
        cache_policy=NO_CACHE,
        persist_result=False,
        timeout_seconds=6 * HOUR,
    )(watched(name, step))


def task_steps() -> Steps:
    """Return the steps as Prefect tasks, for a run inside a flow."""
    return each(PLAIN, as_task)


__all__ = ["as_flow", "as_task", "task_steps", "this_run"]
