"""What `everest status` tells of hooks: what came of them lately, and since the process runs."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import tzinfo
from typing import Any, Final

from serving.endpoints import OverUnix
from tasks.compose import Setting
from tasks.domain.clock import instant, utc_now
from tasks.hooks.failures import LATELY
from tasks.hooks.tally import tallies

_PATIENCE: Final = 1.0
"""Seconds that the warm process may take to tell what it counted."""
_OUTCOMES: Final = ("told", "held_out", "silent", "late", "failed")


def as_data(where: Setting) -> dict[str, Any]:
    """Return the counts as `--json` prints them; `process` is null while no warm process runs."""
    found = tallies(where.places, now=utc_now())
    return {
        "days": LATELY.days,
        "moments": [asdict(one) for one in found],
        "process": _process(where),
    }


def in_words(told: dict[str, Any], zone: tzinfo) -> Iterator[tuple[str, str]]:
    """Yield a line for the last days, and one for the process if it runs."""
    counts: dict[str, Counter[str]] = {}
    for one in told["moments"]:
        mine = counts.setdefault(one["agent"], Counter())
        mine.update({outcome: one[outcome] for outcome in _OUTCOMES})
    agents = (f"{agent} {_listed(mine)}" for agent, mine in counts.items())
    days = told["days"]
    yield f"hooks, {days} days", "; ".join(agents) or f"no agent's hook asked in {days} days"
    if process := told["process"]:
        began = instant(process["since"]).astimezone(zone)
        asked = (f"{agent} {sum(mine.values())}" for agent, mine in process["agents"].items())
        yield "hooks, now", f"{'; '.join(asked) or 'none'} asked since {began:%Y-%m-%d %H:%M}"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[one]} {one.replace('_', ' ')}" for one in _OUTCOMES if counts[one])


def _process(where: Setting) -> dict[str, Any] | None:
    """Return what the warm process counted of hooks since it began."""
    try:
        health = json.loads(_health(where))
        return {"since": health["started"], "agents": health["hooks"]["agents"]}
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None  # none runs, or not ours


def _health(where: Setting) -> bytes:
    connection = OverUnix(where.places.socket, seconds=_PATIENCE)
    try:
        connection.request("GET", "/health", headers={"host": "localhost"})
        return connection.getresponse().read()
    finally:
        connection.close()
