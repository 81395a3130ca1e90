"""Carry changes of agents' files out: plan, show, copy, note, write; and all of it backwards.

Invariant: one file that cannot be changed keeps no other from being changed.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from deployments.wiring import outcomes
from deployments.wiring.elsewhere import other_homes
from deployments.wiring.files import (
    beside_its_owner,
    check_writable,
    keep_copy,
    missing_folders,
    read,
    remove,
    replace,
)
from deployments.wiring.machine import Agent
from deployments.wiring.outcomes import Outcome, unchanged
from deployments.wiring.record import Record, note_of, read_record, write_record
from deployments.wiring.wishes import Kept, Target
from tasks.durable import locked
from tasks.errors import AgentFileInTheWay, EverestError
from tasks.settings import Places

_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is to be changed.

    Attributes:
        seen: what it held when the change was planned.
        outcome: what comes of that.
        again: plans it anew from other bytes.
    """

    agent: str
    target: Target
    seen: bytes | None
    outcome: Outcome
    again: Callable[[bytes | None], Outcome]

    @property
    def path(self) -> Path:
        """Return the file."""
        return self.target.path

    @property
    def changes(self) -> bool:
        """Tell whether the file will be another."""
        return self.outcome.after != self.seen


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be changed, and why the rest cannot."""

    changes: tuple[Change, ...]
    failures: tuple[EverestError, ...]


def plan_wiring(places: Places, agents: Iterable[Agent]) -> Plan:
    """Return what has to be changed for agents to be wired as they should be, for no other home.

    Raises:
        WiredDamaged: when the record cannot be read.
    """
    record = read_record(places.wired)

    def wired(target: Target, others: list[Path]) -> Callable[[bytes | None], Outcome]:
        return lambda seen: outcomes.wired(target, seen, record, places, others)

    return _plan(
        (agent, target, wired(target, others))
        for agent in agents
        for others in (other_homes(agent, places.home),)
        for target in agent.targets
    )


def plan_undoing(places: Places, agents: Iterable[Agent]) -> Plan:
    """Return what has to be changed for nothing of this home to be left in agents' files.

    Raises:
        WiredDamaged: when the record cannot be read.
    """
    record, known = read_record(places.wired), list(agents)

    def undone(target: Target) -> Callable[[bytes | None], Outcome]:
        return lambda seen: outcomes.undone(target, seen, record, places)

    return _plan((agent, target, undone(target)) for agent in known for target in agent.targets)


def plan_leaving(places: Places, agents: Iterable[Agent], record: Record) -> Plan:
    """Return what has to be changed for agents to ask their own servers again."""

    def left(target: Target) -> Callable[[bytes | None], Outcome]:
        return lambda seen: outcomes.left(target, seen, record, places)

    return _plan((agent, target, left(target)) for agent in agents for target in agent.targets)


def carry_out(places: Places, change: Change, *, at: datetime) -> None:
    """Change one file, durably; a file that its agent writes meanwhile is planned anew.

    Raises:
        AgentFileUnreadable, AgentFileInTheWay: when it cannot be changed after all.
        WriteFailed: when the disk refuses; the file is as it was.
    """
    held = beside_its_owner(change.path) if change.target.locked else contextlib.nullcontext()
    with locked(places.wired.with_suffix(".lock"), fcntl.LOCK_EX), held:
        for _ in range(_TRIES):
            if _carried_out(places, change, at):
                if change.outcome.kept is None:
                    forget(places, change.path)
                return
    raise AgentFileInTheWay(change.path, "it is being changed all the time; close the agent first")


def _plan(
    wanted: Iterable[tuple[Agent, Target, Callable[[bytes | None], Outcome]]],
) -> Plan:
    changes: list[Change] = []
    failures: list[EverestError] = []
    for agent, target, make in wanted:
        try:
            seen = read(target.path)
            change = Change(agent.name, target, seen, make(seen), make)
            if change.changes:
                check_writable(target.path)
            changes.append(change)
        except EverestError as failure:
            failures.append(failure)
    return Plan(tuple(changes), tuple(failures))


def _carried_out(places: Places, change: Change, at: datetime) -> bool:
    """Try once; tell whether the file still was what the change was made from."""
    path, seen = change.path, read(change.path)
    outcome = change.outcome if seen == change.seen else change.again(seen)
    if outcome.kept is not None:
        _note(places, change, outcome, seen, at)
    elif seen is not None:
        keep_copy(places.wired_over, path, seen, agent=change.agent, at=at)
    if outcome.after is not None:
        return replace(path, outcome.after, seen=seen)
    return seen is None or remove(path, seen=seen)


def _note(
    places: Places, change: Change, outcome: Outcome, seen: bytes | None, at: datetime
) -> None:
    """Keep what an undo will need, and note what the file will be, before it is changed."""
    record, path = read_record(places.wired), change.path
    known = record.of(path)

    def copy(data: bytes) -> str:
        return keep_copy(places.wired_over, path, data, agent=change.agent, at=at)

    if known is not None and unchanged(known, seen):
        before = known.before
    else:
        before = None if outcome.before is None else copy(outcome.before)
    if seen is not None and seen != outcome.before:
        copy(seen)
    note = note_of(
        change.agent,
        path,
        before=before,
        after=outcome.after or b"",
        kept=outcome.kept or Kept(),
        folders=[*map(Path, known.folders if known else ()), *missing_folders(path)],
    )
    write_record(places.wired, record.with_note(note))


def is_carried_out(change: Change) -> bool:
    """Tell whether a file is another than when its change was planned."""
    try:
        return read(change.path) != change.seen
    except EverestError:
        return False


def forget(places: Places, path: Path) -> None:
    """Note no more of a file, and remove the folders that we made for it if nothing is in them.

    Raises:
        WiredDamaged: when the record cannot be read.
        WriteFailed: when the disk refuses.
    """
    record = read_record(places.wired)
    note = record.of(path)
    if note is None:
        return
    for folder in reversed(note.folders):
        with contextlib.suppress(OSError):  # something else lies in it by now
            Path(folder).rmdir()
    write_record(places.wired, record.without([str(path)]))
