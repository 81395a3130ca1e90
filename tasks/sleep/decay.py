"""The decay pass: what has faded is archived. Nothing else happens here.

Decay is computed, never written: no strength, trust, source or tombstone changes. A transcript that
is old when it is read begins at full strength, because `as_of` starts when we recorded it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import polars as pl

from tasks.domain.frames import INSTANT
from tasks.domain.proposals import Action, Actor, Archive, Proposal, UnitName
from tasks.domain.scope import Scope
from tasks.domain.strength import FADED_BELOW, HALF_LIFE_DAYS
from tasks.domain.units import Lesson, Lifecycle, Trust
from tasks.sleep.material import Cuts, Material, PassReport, PassResult


def decay(material: Material, *, at: datetime, cuts: Cuts) -> PassResult:  # noqa: ARG001  every pass is called alike
    """Propose to archive each live, unpinned unit whose strength at `at` is below 0.15.

    A rejected lesson is history already and stays as it is.
    """
    episodes = _faded(material.episodes.filter(pl.col("archived_at").is_null()), at)
    lessons = _faded(_strengths(material.lessons), at)
    proposals = (
        *(_archive("episode", unit, material.scope, at) for unit in episodes),
        *(_archive("lesson", unit, material.scope, at) for unit in lessons),
    )
    counts = {"episodes": len(episodes), "lessons": len(lessons)}
    return PassResult(proposals, PassReport("decay", counts))


def faded(at: datetime) -> pl.Expr:
    """Return the predicate value·2^(−whole days/45) < 0.15 over columns `strength` and `as_of`."""
    days = (pl.lit(at, dtype=INSTANT) - pl.col("as_of")).dt.total_days().clip(lower_bound=0)
    value = pl.col("strength") * pl.lit(2.0).pow(days * (-1.0 / HALF_LIFE_DAYS))
    return value < FADED_BELOW


def _faded(frame: pl.DataFrame, at: datetime) -> list[str]:
    return frame.filter(faded(at)).get_column("id").sort().to_list()


def _strengths(lessons: Iterable[Lesson]) -> pl.DataFrame:
    rows = [
        (lesson.id, lesson.strength.value, lesson.strength.as_of)
        for lesson in lessons
        if lesson.lifecycle is Lifecycle.LIVE
        and not lesson.pinned
        and lesson.trust is not Trust.REJECTED
    ]
    schema = {"id": pl.String(), "strength": pl.Float64(), "as_of": INSTANT}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _archive(unit: UnitName, unit_id: str, scope: Scope, at: datetime) -> Proposal:
    change = Archive(unit, unit_id, at)
    return Proposal(change, Action.ARCHIVE, scope, Actor.SLEEP, "sleep.decay", "faded")
