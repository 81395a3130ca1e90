"""Set agents up, and take it back: what the commands `setup`, `doctor` and `uninstall` share.

Invariant: planning changes nothing on disk; what is carried out is what was planned, unless an
agent wrote its file in between, and then the same things are done to what it wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from deployments.wiring import claude_code
from deployments.wiring.carry import Change, Plan, carry_out, forget, plan_undoing
from deployments.wiring.data import Unwirable
from deployments.wiring.files import read, text_of
from deployments.wiring.jsonc import Unreadable
from deployments.wiring.machine import Agent, Machine, Ours, machine_of, ours_of
from deployments.wiring.record import Note, read_record
from deployments.wiring.spans import JsonText
from deployments.wiring.wishes import Target, present
from tasks.compose import Setting
from tasks.domain.clock import utc_now
from tasks.errors import EverestError, UsageError
from tasks.settings import Places

_MODULES: Final = (claude_code,)
NAMES: Final = tuple(module.NAME for module in _MODULES)


@dataclass(frozen=True, slots=True)
class Wiring:
    """One agent and whether it is wired for this home.

    Attributes:
        wired: everything is there as it should be.
        touched: something of ours was put there before.
    """

    agent: Agent
    wired: bool
    touched: bool
    failures: tuple[EverestError, ...]


def agents_of(machine: Machine, ours: Ours) -> list[Agent]:
    """Return every agent that can be wired, found or not."""
    return [module.look(machine, ours) for module in _MODULES]


def chosen(agents: Sequence[Agent], named: Sequence[str]) -> list[Agent]:
    """Return the agents that were named, else those that are here.

    Raises:
        UsageError: when a name is no agent's.
    """
    for name in named:
        if name not in NAMES:
            raise UsageError(f"no agent {name!r}; agents: {', '.join(NAMES)}")
    return [one for one in agents if (one.name in named if named else one.found)]


def wire(places: Places, changes: Iterable[Change], *, at: datetime) -> list[EverestError]:
    """Carry planned changes out; return what could not be done."""
    failures: list[EverestError] = []
    for change in changes:
        try:
            if change.changes:
                carry_out(places, change, at=at)
            elif change.outcome.kept is None:
                forget(places, change.path)
        except EverestError as failure:
            failures.append(failure)
    return failures


def wirings(where: Setting) -> list[Wiring]:
    """Return every agent that is here or was wired, and how it stands."""
    agents = agents_of(machine_of(os.environ), ours_of(where, os.environ))
    noted = {note.agent for note in read_record(where.places.wired).files}
    return [
        _standing(one, touched=one.name in noted)
        for one in agents
        if one.found or one.name in noted
    ]


def planned_undoing(where: Setting, named: Sequence[str] = ()) -> Plan:
    """Return what an undo changes, in all agents' files or in those of the agents named.

    Raises:
        UsageError: when a name is no agent's.
        WiredDamaged: when the record cannot be read.
    """
    agents = agents_of(machine_of(os.environ), ours_of(where, os.environ))
    chosen(agents, named)
    known = {target.path for agent in agents for target in agent.targets}
    moved = [
        _moved(note)
        for note in read_record(where.places.wired).files
        if Path(note.path) not in known
    ]
    picked = [one for one in [*agents, *moved] if not named or one.name in named]
    return plan_undoing(where.places, picked)


def undo(where: Setting) -> list[EverestError]:
    """Take everything of ours out of every agent's files; return what could not be done.

    Raises:
        WiredDamaged: when the record cannot be read.
    """
    plan = planned_undoing(where)
    return [*plan.failures, *wire(where.places, plan.changes, at=utc_now())]


def _moved(note: Note) -> Agent:
    """Return an agent for a file that was wired and is no longer where its agent is looked for."""
    target = Target(Path(note.path), JsonText, ())
    return Agent(note.agent, note.agent, found=False, looked=(), targets=(target,))


def _standing(agent: Agent, *, touched: bool) -> Wiring:
    there: list[bool] = []
    failures: list[EverestError] = []
    for target in agent.targets:
        try:
            editor = target.editor(text_of(target.path, read(target.path)))
            there.append(present(editor, target.wishes))
        except EverestError as failure:
            failures.append(failure)
        except (Unreadable, Unwirable):
            there.append(False)
    return Wiring(agent, bool(there) and all(there) and not failures, touched, tuple(failures))
