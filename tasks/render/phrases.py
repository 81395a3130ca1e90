"""Numbers, dates and enumerations as a reader expects them, the same in every locale."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def long_date(day: date) -> str:
    """Return a date as people write it: `24 November 2026`."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def short_day(day: date, today: date) -> str:
    """Return a date as a table names it: `Tue 24 November`, and its year if that is not today's."""
    named = long_date(day) if day.year != today.year else long_date(day).rsplit(" ", 1)[0]
    return f"{WEEKDAYS[day.weekday()][:3]} {named}"


def tiny_day(day: date, today: date) -> str:
    """Return a date for where there is little room: `24 Nov`, and `24 Nov ’25` of another year."""
    year = f" ’{day:%y}" if day.year != today.year else ""
    return f"{day.day} {_MONTHS[day.month - 1][:3]}{year}"


def duration(seconds: float) -> str:
    """Return a duration in seconds as people write it."""
    if seconds >= 60:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{grouped(number)} {one if number == 1 else many or one + 's'}"


def grouped(number: int) -> str:
    """Return a number with thousands set apart."""
    return f"{number:,}"


def listing(parts: Iterable[str]) -> str:
    """Return parts as an enumeration: `a, b and c`."""
    *most, last = [*parts] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def hours_ago(age: timedelta) -> str:
    """Return how long ago something was, in whole hours."""
    hours = round(age / timedelta(hours=1))
    return f"{count(hours, 'hour')} ago" if age >= timedelta(hours=1) else "less than an hour ago"
