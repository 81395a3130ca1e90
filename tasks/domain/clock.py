"""Time as a value passed in: only a composition root reads the wall clock.

Stored times are UTC with microseconds; a day in a report is the local date in a named zone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, tzinfo

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the present instant; the one clock handed in by the composition roots."""
    return datetime.now(UTC)


def iso(at: datetime) -> str:
    """Return `at` as ISO 8601 in UTC with microseconds and a `Z`: sorts as text in time order."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def instant(text: str) -> datetime:
    """Return the aware instant that an ISO 8601 text names; a text with no zone is read as UTC.

    Raises:
        ValueError: when the text is not ISO 8601, or names an instant outside the calendar.
    """
    at = datetime.fromisoformat(text)
    if at.tzinfo is UTC:
        return at
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(text) from error


def local_day(at: datetime, zone: tzinfo) -> date:
    """Return the calendar date of `at` in `zone`."""
    return at.astimezone(zone).date()
