"""Strength: how readily a unit comes to mind. It halves in 45 days, and time alone never writes it.

Decay counts whole days, so that bringing a value forward in one step or in many gives the same
value; a clock that went backwards changes nothing. Strength never moves trust.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from tasks.domain.units import Strength

START: Final = 1.0
JOIN: Final = 1.0
TOUCH: Final = 0.1
HALF_LIFE_DAYS: Final = 45
FADED_BELOW: Final = 0.15


def brought_forward(s: Strength, at: datetime, *, pinned: bool = False) -> Strength:
    """Return `s` as of its last whole day up to `at`: value·2^(−n/45) after n days.

    A pinned unit keeps its value, and decays from the day it is unpinned.
    """
    days = max((at - s.as_of) // timedelta(days=1), 0)
    value = s.value if pinned else s.value * 2.0 ** (-days / HALF_LIFE_DAYS)
    return Strength(value, s.as_of + timedelta(days=days))


def value_at(s: Strength, at: datetime, *, pinned: bool = False) -> float:
    """Return the value to rank and list by at `at`; nothing is written."""
    return brought_forward(s, at, pinned=pinned).value


def joined(s: Strength, at: datetime, *, pinned: bool = False) -> Strength:
    """Return `s` after one further independent session joined its lesson at `at`."""
    return _added(brought_forward(s, at, pinned=pinned), JOIN)


def touched(s: Strength, at: datetime, *, pinned: bool = False) -> Strength:
    """Return `s` after one deliberate recall at `at`."""
    return _added(brought_forward(s, at, pinned=pinned), TOUCH)


def faded(s: Strength, at: datetime, *, pinned: bool = False) -> bool:
    """Tell whether the unit is so weak at `at` that it is archived."""
    return value_at(s, at, pinned=pinned) < FADED_BELOW


def _added(s: Strength, amount: float) -> Strength:
    return Strength(s.value + amount, s.as_of)
