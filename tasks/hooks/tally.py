"""What came of the hooks of the last days, by agent and moment, out of what is kept anyway.

What was decided stands in the journal, and in the spool until somebody takes it in; what got no
answer stands in the failures. Invariants: a decision counts once, wherever it stands; a line that
cannot be read counts nowhere; no word of the memory is looked at.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import orjson

from tasks import spool
from tasks.domain.clock import iso
from tasks.hooks.contract import Agent, Event, event_of
from tasks.hooks.failures import LATELY, failed_lately
from tasks.prime import Moment
from tasks.segments import read_plain, segments
from tasks.settings import Places

OTHER: Final = "other"
"""The moment of hooks at which no lesson is due: a session's beginning and end."""
_MOMENTS: Final = {
    Event.PROMPT: Moment.PROMPT,
    Event.TOOL: Moment.TOOL,
    Event.STOP: Moment.END,
}
_NAMES: Final = {one.provenance: one.value for one in Agent}
_EXPOSED: Final = b'"expose"'

What = tuple[str, str, str]
"""An agent, a moment, and what came of a hook there."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one agent's hooks at one moment.

    Attributes:
        told: something was put before the model.
        held_out: something would have been, in a conversation that is told nothing.
        silent: nothing was to be told.
        late: it took too long.
        failed: it went wrong.
    """

    agent: str
    moment: str
    told: int
    held_out: int
    silent: int
    late: int
    failed: int


def tallies(places: Places, *, now: datetime) -> list[Tally]:
    """Return what came of the hooks since `LATELY`, by agent and then by moment.

    Raises:
        HomeUnreadable: when the journal cannot be listed.
    """
    since = now - LATELY
    counts = Counter(_decided(places, iso(since), iso(now), since.timestamp()))
    counts.update(_unanswered(places.spool, now))
    wheres = sorted({(agent, moment) for agent, moment, _ in counts})
    outcomes = ("told", "held_out", "silent", "late", "failed")
    return [Tally(*where, *(counts[*where, one] for one in outcomes)) for where in wheres]


def _decided(places: Places, since: str, until: str, oldest: float) -> Iterator[What]:
    met: set[str] = set()
    for id_, at, what in (*_journalled(places.journal, oldest), *_spooled(places.spool)):
        if since <= at <= until and id_ not in met:
            met.add(id_)
            yield what


def _journalled(journal: Path, oldest: float) -> Iterator[tuple[str, str, What]]:
    """Yield the decisions of every segment that was written since, folded or not."""
    for path in (*segments(journal), *segments(journal / "applied")):
        with contextlib.suppress(OSError):  # a night may move it away just now
            if path.stat().st_mtime < oldest:
                continue
            for raw in read_plain(path).split(b"\n"):
                if _EXPOSED in raw and (found := _read(raw)):
                    yield found


def _read(raw: bytes) -> tuple[str, str, What] | None:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        told = orjson.loads(raw)
        if (told["op"], told["channel"]) == ("expose", "hook"):
            return str(told["id"]), str(told["at"]), _what(told)
    return None


def _spooled(folder: Path) -> Iterator[tuple[str, str, What]]:
    return ((line.id, line.at, _what(line.body)) for line in spool.exposures(folder))


def _what(body: object) -> What:
    match body:
        case {"agent": str(agent), "moment": str(moment), "shown": shown, "held_out": held_out}:
            outcome = "told" if shown else "held_out" if held_out else "silent"
            return _NAMES.get(agent, agent), moment, outcome
    raise ValueError


def _unanswered(folder: Path, now: datetime) -> Iterable[What]:
    for _, what in failed_lately(folder, now=now):
        agent, event, kind = (*what.split(" ", 2), "", "")[:3]
        whose = next((one for one in Agent if one == agent), None)
        if whose is not None:
            known = event_of(whose, event)
            moment = str(_MOMENTS[known]) if known in _MOMENTS else OTHER
            yield agent, moment, "late" if kind.lower() == "late" else "failed"
