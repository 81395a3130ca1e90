"""Who was told what, over the last days: the ground on which the effect of a lesson is counted.

Invariant: every session of a window is told, held out or in no channel, and counted once.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any, Final

from tasks.domain.clock import local_day
from tasks.domain.report import Reach, Reached
from tasks.store import reads
from tasks.store.handle import Store
from tasks.store.reaching import COUNTS, reaching

DAYS: Final = 14
"""Local days that are looked back over, today among them."""
BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Before all that is stored."""


def reached(store: Store, *, at: datetime, zone: tzinfo) -> Reached:
    """Return the counts of every project in the window, the lessons told most often first.

    Args:
        store: the open store; what was shown since its last fold is not in it.
        at: the end of the window.
        zone: where a day begins.
    """
    day = local_day(at, zone) - timedelta(days=DAYS - 1)
    return replace(_since(store, datetime.combine(day, time.min, zone)), since=day)


def ever_reached(store: Store) -> Reached:
    """Return the same counts over all sessions that are stored."""
    return _since(store, BEGINNING)


def _since(store: Store, since: datetime) -> Reached:
    rows = [
        _reach(row, scope.project_id)
        for scope in reads.scopes(store.database)
        for row in reaching(store.database, scope, since)
    ]
    whole = [one for one in rows if not one.lesson]
    lessons = (one for one in rows if one.lesson and one.sessions)
    return Reached(
        None,
        Reach(**{name: sum(getattr(one, name) for one in whole) for name in COUNTS}),
        tuple(sorted(lessons, key=lambda one: (-one.told, -one.held_out, one.lesson))),
    )


def _reach(row: dict[str, Any], project: str) -> Reach:
    counts = {name: int(row[name]) for name in COUNTS}
    return Reach(row["lesson_id"], row["text"], project, **counts)
