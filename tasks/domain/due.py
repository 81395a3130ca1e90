"""When a night is due, for machines that are not always awake.

A night is due once a day at 03:30 on the local clock. Whatever was missed while a machine slept is
one night: a night reads everything since the last one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Final

DUE_AT: Final = time(3, 30)
"""The local time at which the night runs."""


def last_due(now: datetime, zone: tzinfo) -> datetime:
    """Return the last instant, `now` at the latest, at which a night was due in `zone`.

    Where the clock is put back over 03:30 it is the first of the two; where it is put forward over
    it, the instant at which 03:30 would have been.
    """
    day = now.astimezone(zone).date()
    today = _due_on(datetime.combine(day, DUE_AT), zone)
    if today <= now:
        return today
    return _due_on(datetime.combine(day - timedelta(days=1), DUE_AT), zone)


def night_due(now: datetime, zone: tzinfo, nights: Iterable[datetime]) -> bool:
    """Tell whether no night was completed since the last time one was due.

    Args:
        now: the present instant.
        zone: whose clock says when it is 03:30.
        nights: when nights were completed, in any order. One that lies in the future says that the
            clock was set back since, and nothing about this day.
    """
    due = last_due(now, zone)
    return not any(due <= night <= now for night in nights)


def _due_on(local: datetime, zone: tzinfo) -> datetime:
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)
