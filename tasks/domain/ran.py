"""What is known of runs of flows: begun, ended and how, read from the lines of a log.

Invariant: a run is one entry whatever its lines; of several ends the first one counts, since the
process itself knows better what happened to it than whoever watched it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

NIGHTLY: Final = "nightly"
"""The flow that is the night."""


class Outcome(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    REFUSED = "refused"
    """What was asked for could not be done as put, and who asked was told so at once."""
    FAILED = "failed"
    STOPPED = "stopped"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class RunKey:
    """Which run of which flow."""

    flow: str
    id: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A run holds the store from here on."""

    key: RunKey
    n: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Ended:
    """A run is over; one that never came to hold the store has an end alone.

    Attributes:
        error: the name of the error that ended it; "" if none did.
        why: our own words about it.
    """

    key: RunKey
    n: int
    at: datetime
    outcome: Outcome
    error: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Remarked:
    """Something about a run that the person should hear, however it ended."""

    key: RunKey
    n: int
    at: datetime
    remark: str


Line = Begun | Ended | Remarked


@dataclass(frozen=True, slots=True)
class Ran:
    """One run.

    Attributes:
        n: the number of its first line: runs are told of in this order, once.
        began: when it came to hold the store; when it ended, if it never did.
        ended: None while it runs, and for ever if it was killed.
        outcome: None likewise.
    """

    key: RunKey
    n: int
    began: datetime
    ended: datetime | None = None
    outcome: Outcome | None = None
    error: str = ""
    why: str = ""
    remark: str = ""

    @property
    def went_wrong(self) -> bool:
        """Tell whether it did not do what it should; the caller knows that it no longer runs."""
        return self.outcome not in (Outcome.COMPLETED, Outcome.REFUSED)


def runs_of(lines: Iterable[Line]) -> list[Ran]:
    """Return the runs that lines speak of, in the order of their first lines."""
    runs: dict[RunKey, Ran] = {}
    for line in lines:
        known = runs.get(line.key)
        match line:
            case Begun(key, n, at):
                runs[key] = Ran(key, known.n if known else n, at)
            case Ended(key, n, at, outcome, error, why):
                known = known or Ran(key, n, at)
                if known.outcome is None:
                    ended = replace(known, ended=at, outcome=outcome, error=error, why=why)
                    runs[key] = ended
            case Remarked(key, n, at, remark):
                runs[key] = replace(known or Ran(key, n, at), remark=remark)
    return list(runs.values())


def completed_nights(runs: Iterable[Ran]) -> list[datetime]:
    """Return when nights were completed."""
    return [
        run.ended
        for run in runs
        if run.key.flow == NIGHTLY and run.outcome is Outcome.COMPLETED and run.ended
    ]
