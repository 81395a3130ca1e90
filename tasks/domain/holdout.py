"""What is held back, so that the effect of memory can be measured against its absence.

The choice is a hash of an id alone: the same everywhere, repeatable, and blind to the content.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, tzinfo
from typing import Final

from tasks.domain.clock import local_day

_SALT: Final = "everest-holdout-1:"
_RANGE: Final = 2**32


def held_out(unit_id: str, share: float) -> bool:
    """Tell whether `unit_id` falls in the held-out `share` (0 to 1).

    The id is the session's for prime, hooks and proxy, and `line_id` for a rendered line.
    """
    first = hashlib.sha256(f"{_SALT}{unit_id}".encode()).digest()[:4]
    return int.from_bytes(first, "big") < share * _RANGE


def line_id(lesson_id: str, at: datetime, zone: tzinfo) -> str:
    """Return a rendered line's hold-out id: `<lesson>:<YYYY-Www>`, the ISO week in `zone`."""
    year, week, _ = local_day(at, zone).isocalendar()
    return f"{lesson_id}:{year:04d}-W{week:02d}"
