"""Where an agent asks too much and where it acts too soon, by kind of action: for the owner alone.

"Asked, told to act": it handed back with a question or an offer, and the person corrected it.
"Acted, stopped": the person refused a call. Pure. Invariant: no agent ever reads these counts, or
it would learn to ask and to act for their sake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta, tzinfo
from typing import Final

from tasks.domain.clock import local_day
from tasks.domain.proposals import STOPPED, SessionFacts
from tasks.domain.report import Delegated, Delegation

DAYS: Final = 14
"""Local days that are looked back over, today among them."""
_CORRECTED: Final = "corrected"
_OF_TOOL: Final = {
    "Edit": "edit",
    "Write": "edit",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "Bash": "run",
    "ExitPlanMode": "plan",
    "AskUserQuestion": "question",
    "WebFetch": "network",
    "WebSearch": "network",
}
"""The kinds of tools by whose names older sessions counted refusals."""


def delegation(sessions: Iterable[SessionFacts], *, now: datetime, zone: tzinfo) -> Delegation:
    """Return the counts of the last days, the kinds that most came up first.

    Args:
        sessions: of all projects; those that a program drove are left out.
        now: the end of what is looked back over.
        zone: where a day begins.
    """
    today = local_day(now, zone)
    since = today - timedelta(days=DAYS - 1)
    asked: Counter[str] = Counter()
    told: Counter[str] = Counter()
    stopped: Counter[str] = Counter()
    days: set[date] = set()
    count = 0
    for one in sessions:
        day = local_day(one.started, zone)
        if not one.by_person or not since <= day <= today:
            continue
        count += 1
        days.add(day)
        asked.update(kind for kind, answer in one.offers if answer != STOPPED)
        told.update(kind for kind, answer in one.offers if answer == _CORRECTED)
        for name, times in one.refusals:
            stopped[_OF_TOOL.get(name, name)] += times
    kinds = sorted(asked.keys() | stopped.keys(), key=lambda k: (-told[k] - stopped[k], k))
    return Delegation(
        tuple(Delegated(kind, asked[kind], told[kind], stopped[kind]) for kind in kinds),
        count,
        len(days),
    )
