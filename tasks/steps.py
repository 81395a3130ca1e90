"""The steps of a night, named once: plain functions, or the same functions as Prefect tasks.

A flow body takes `Steps` and calls them in order, so that it reads the same either way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from tasks import night
from tasks.domain.report import Measures, NightReport
from tasks.fold import Folded
from tasks.ingest import Ingested
from tasks.morning import Parts, morning
from tasks.night import Run
from tasks.reconcile import Reconciled, reconcile
from tasks.render.plan import Rendered
from tasks.sleep.run import Slept
from tasks.store.compact import Compacted
from tasks.store.publish import Published

R = TypeVar("R")
Stage = Callable[[Run], R]


@dataclass(frozen=True, slots=True)
class Steps:
    """Every stage by name."""

    fold: Stage[Folded]
    reconcile: Stage[Reconciled]
    ingest: Stage[Ingested]
    embed: Stage[Slept]
    decay: Stage[Slept]
    lessons: Stage[Slept]
    merge: Stage[Slept]
    verify: Stage[Slept]
    predict: Stage[Slept]
    measure: Stage[Measures]
    publish: Stage[Published]
    render: Stage[Rendered]
    morning: Callable[[Run, Parts], NightReport]
    compact: Stage[Compacted]


PLAIN = Steps(
    fold=night.fold,
    reconcile=reconcile,
    ingest=night.ingest,
    embed=night.embed,
    decay=night.sleep_pass("decay"),
    lessons=night.lessons,
    merge=night.sleep_pass("merge"),
    verify=night.sleep_pass("verify"),
    predict=night.sleep_pass("predict"),
    measure=night.measure,
    publish=night.publish_view,
    render=night.render,
    morning=morning,
    compact=night.compact,
)
"""The stage functions themselves."""


def each(steps: Steps, wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> Steps:
    """Return the steps with `wrap(name, step)` around each."""
    return Steps(
        **{field.name: wrap(field.name, getattr(steps, field.name)) for field in fields(Steps)}
    )


def watched(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a step that shows its progress and notes how long it took."""

    def run_step(run: Run, *rest: Any) -> Any:
        run.progress.begin(name)
        started = time.perf_counter()
        try:
            return step(run, *rest)
        finally:
            run.seconds[name] = time.perf_counter() - started

    return run_step


def plain_steps() -> Steps:
    """Return the steps as plain functions, watched."""
    return each(PLAIN, watched)
