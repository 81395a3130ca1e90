"""What looking at one thing came to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a thing is."""

    WELL = "ok"
    NOTED = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        about: whose it is: an agent's title, or a part of ours.
        what: how it is, in a sentence.
        mend: the command that mends it, "" when there is nothing to do, or no command for it.
    """

    state: State
    about: str
    what: str
    mend: str = ""


def well(about: str, what: str) -> Finding:
    """Return that a thing is as it should be."""
    return Finding(State.WELL, about, what)


def noted(about: str, what: str, mend: str = "") -> Finding:
    """Return that there is something to know of a thing."""
    return Finding(State.NOTED, about, what, mend)


def wrong(about: str, what: str, mend: str = "") -> Finding:
    """Return that a thing does not work."""
    return Finding(State.WRONG, about, what, mend)
