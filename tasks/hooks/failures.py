"""The hooks that could not be answered: one short line each, for `everest status`.

The stand-alone client writes the same lines. Invariant: a line holds a time and names of ours, no
words; the file stops growing when it is large, and then only tells that there are many. What failed
when `everest doctor` tried a hook out has a kind that begins with `PROBE`, and is no failure here.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from tasks.durable import append_line, make_folder

NAME: Final = "failures"
"""The file's name in the spool."""
PROBE: Final = "probe:"
LARGEST: Final = 256 * 1024
LATELY: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Failures:
    """How many hooks failed lately, and what the last one was."""

    count: int = 0
    last: str = ""
    at: datetime | None = None


def note(spool: Path, agent: str, event: str, kind: str, *, at: datetime) -> None:
    """Add a failure; `kind` is a word of ours or an error's name.

    Raises:
        WriteFailed: when the disk refuses.
    """
    path = make_folder(spool) / NAME
    if _size(path) < LARGEST:
        append_line(path, f"{at.timestamp():.0f} {agent} {event} {kind}\n".encode())


def lately(spool: Path, *, now: datetime) -> Failures:
    """Return the failures of the last days; lines that cannot be read are passed over."""
    told = failed_lately(spool, now=now)
    if not told:
        return Failures()
    at, last = max(told)
    return Failures(len(told), last, at)


def failed_lately(spool: Path, *, now: datetime) -> list[tuple[datetime, str]]:
    """Return when each of these failed, and `agent event kind`, in the order of the file."""
    try:
        lines = (spool / NAME).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [one for one in map(_read, lines) if one is not None and now - LATELY <= one[0] <= now]


def _read(line: str) -> tuple[datetime, str] | None:
    at, _, what = line.partition(" ")
    if what.rpartition(" ")[2].startswith(PROBE):
        return None
    with contextlib.suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(int(at), UTC), what
    return None


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
