"""Whether Everest is paused: one file in its home, looked at by every door before it does anything.

The file holds the second since the epoch when the pause ends, or nothing if only `everest resume`
ends it. Invariant: a file that cannot be read counts as a pause, for somebody put it there. Asking
needs the standard library alone and costs one failed opening where there is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final

from tasks.durable import swap_file
from tasks.errors import UsageError, WriteFailed

NAME: Final = "paused"
"""The file's name under the home."""

_SPAN: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?", re.ASCII)
_LONGEST: Final = timedelta(days=3660)


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause that holds now; `until` is None when only `everest resume` ends it."""

    until: datetime | None

    def in_words(self, zone: tzinfo) -> str:
        """Return it as a person reads it."""
        if self.until is None:
            return "paused until `everest resume`"
        return f"paused until {self.until.astimezone(zone):%Y-%m-%d %H:%M}"


def paused(home: Path, *, now: datetime) -> Pause | None:
    """Return the pause that holds in a home, None when there is none or it is over."""
    try:
        said = (home / NAME).read_text("ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return Pause(None)
    try:
        until = datetime.fromtimestamp(float(said), UTC)
    except (ValueError, OverflowError, OSError):
        return Pause(None)
    return Pause(until) if now < until else None


def pause(home: Path, until: datetime | None) -> None:
    """Let hooks, additions and scheduled runs of a home rest, also in place of another pause.

    Raises:
        WriteFailed: when the disk refuses.
    """
    said = "" if until is None else f"{until.timestamp():.0f}\n"
    swap_file(home / NAME, said.encode())


def resume(home: Path) -> bool:
    """End a home's pause; tell whether there was a file of one.

    Raises:
        WriteFailed: when the disk refuses.
    """
    try:
        (home / NAME).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise WriteFailed(home / NAME, error.strerror or str(error)) from error
    return True


def span(text: str) -> timedelta:
    """Return how long `90m`, `2h`, `1h30m` or `3d` is.

    Raises:
        UsageError: when the text is no such span, or one of no length or of more than ten years.
    """
    found = _SPAN.fullmatch(text.strip().lower())
    days, hours, minutes = (int(one or 0) for one in found.groups()) if found else (0, 0, 0)
    too_long = max(days, hours, minutes) > _LONGEST / timedelta(minutes=1)
    length = timedelta() if too_long else timedelta(days=days, hours=hours, minutes=minutes)
    if not timedelta() < length <= _LONGEST:
        raise UsageError(f"{text!r} is no span of time; say 30m, 2h, 1h30m or 3d")
    return length
