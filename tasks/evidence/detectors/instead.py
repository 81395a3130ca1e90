"""Which way of running something worked where another had failed: `pnpm install` for `npm install`.

Invariant: nothing is told of a way that also worked in the session, nor of work that failed by
itself (red tests, lint findings): there the other way is no better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tasks.domain.session import AgentTurn, ResultState, Session, ToolCall
from tasks.evidence.detectors.commands import ways_of

_SOON: Final = 8  # shell calls within which the other way must have worked


def worked_instead(session: Session) -> Mapping[str, tuple[str, str]]:
    """Return id of a failed call -> (the way that failed, the way that worked soon after)."""
    calls = [
        (call, ways)
        for turn in session.turns
        if isinstance(turn, AgentTurn)
        for call in turn.calls
        if call.result and (ways := ways_of(call))
    ]
    good = {way for call, ways in calls if _worked(call) for way in ways}
    found: dict[str, tuple[str, str]] = {}
    for place, (call, ways) in enumerate(calls):
        if len(ways) == 1 and not _worked(call) and ways[0] not in good:
            after = calls[place + 1 : place + 1 + _SOON]
            later = (way for one, those in after if _worked(one) for way in those)
            if worked := _same_work(ways[0], later):
                found[call.id] = ways[0], worked
    return found


def _same_work(failed: str, ways: Iterable[str]) -> str:
    """Return the first other program's way that ends in the same word, "" when there is none."""
    program, *_, work = failed.split()
    return next((way for way in ways if way.split()[-1] == work and way.split()[0] != program), "")


def _worked(call: ToolCall) -> bool:
    return call.result is not None and call.result.state is ResultState.OK
