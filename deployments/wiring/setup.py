"""Set agents up, and take it back: what the commands `setup`, `doctor` and `uninstall` share.

Invariant: planning changes nothing on disk; what is carried out is what was planned, unless an
agent wrote its file in between, and then the same things are done to what it wrote.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from deployments.wiring import applications, claude_code, codex, gemini
from deployments.wiring.carry import (
    Change,
    Plan,
    carry_out,
    forget,
    plan_leaving,
    plan_undoing,
    plan_wiring,
)
from deployments.wiring.door import door, proxied
from deployments.wiring.dotenv import EnvText
from deployments.wiring.elsewhere import other_homes
from deployments.wiring.files import read, text_of
from deployments.wiring.jsonc import Unreadable
from deployments.wiring.machine import Agent, Machine, Ours, machine_of, ours_of
from deployments.wiring.record import Note, read_record
from deployments.wiring.spans import JsonText
from deployments.wiring.tomls import TomlText
from deployments.wiring.wishes import Editor, Target, ours_in, present
from tasks.compose import Setting
from tasks.domain.clock import utc_now
from tasks.errors import AgentFileUnreadable, EverestError, UsageError, WiredElsewhere
from tasks.settings import Places

LOOKS: Final[Mapping[str, Callable[[Machine, Ours], Agent]]] = {
    claude_code.NAME: claude_code.look,
    codex.NAME: codex.look,
    gemini.NAME: gemini.look,
    applications.DESKTOP: applications.claude_desktop,
    applications.CURSOR: applications.cursor,
    applications.WINDSURF: applications.windsurf,
    applications.VSCODE: applications.vscode,
}
NAMES: Final = tuple(LOOKS)
_EDITORS: Final[Mapping[str, Callable[[str], Editor]]] = {".toml": TomlText, ".json": JsonText}


@dataclass(frozen=True, slots=True)
class Wiring:
    """One agent and whether it is wired for this home.

    Attributes:
        wired: everything is there as it should be.
        present: something of ours is there.
        touched: something of ours was put there before.
        elsewhere: the other home that it is wired for, if it is.
    """

    agent: Agent
    wired: bool
    present: bool
    touched: bool
    failures: tuple[EverestError, ...]
    elsewhere: Path | None = None


def chosen(agents: Sequence[Agent], named: Sequence[str]) -> list[Agent]:
    """Return the agents that were named, else those that are here.

    Raises:
        UsageError: when a name is no agent's.
    """
    for name in named:
        if name not in NAMES:
            raise UsageError(f"no agent {name!r}; agents: {', '.join(NAMES)}")
    return [one for one in agents if (one.name in named if named else one.found)]


def planned_wiring(
    where: Setting,
    named: Sequence[str],
    *,
    proxy: Sequence[str] = (),
    over: Sequence[str] = (),
) -> tuple[list[Agent], Plan]:
    """Return agents, and what has to be changed for those named, or those here, to be wired.

    Args:
        where: what this process works with.
        named: the agents; none for those that are here.
        proxy: those among them that are to be pointed at the proxy.
        over: those that are taken over where they are wired for another home; else they are left.

    Raises:
        UsageError: when a name is no agent's.
        SettingInvalid, WiredDamaged: as `present_agents`.
    """
    agents = present_agents(where, proxy)
    picked = chosen(agents, named)
    others = {
        one.name: WiredElsewhere(one.title, one.name, homes[0], where.places.home)
        for one in picked
        if one.name not in over and (homes := other_homes(one, where.places.home))
    }
    plan = plan_wiring(where.places, [one for one in picked if one.name not in others])
    return picked or agents, Plan(plan.changes, (*others.values(), *plan.failures))


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


def present_agents(where: Setting, named: Sequence[str] = ()) -> list[Agent]:
    """Return every agent, with what is to be wired into it; files are read, none is changed.

    Args:
        where: what this process works with.
        named: agents that are to be pointed at the proxy, beside those that are already.

    Raises:
        SettingInvalid: when agents cannot be pointed at the proxy.
        WiredDamaged: when the record cannot be read.
    """
    machine, plain = machine_of(os.environ), ours_of(where, os.environ)
    pointed = {*named, *proxied(read_record(where.places.wired))}
    led = ours_of(where, os.environ, door(where)) if pointed else plain
    return [look(machine, led if name in pointed else plain) for name, look in LOOKS.items()]


def wirings(where: Setting) -> list[Wiring]:
    """Return every agent that is here or was wired, and how it stands.

    Raises:
        SettingInvalid, WiredDamaged: as `present_agents`.
    """
    noted = {note.agent for note in read_record(where.places.wired).files}
    return [
        _standing(one, where.places.home, touched=one.name in noted)
        for one in present_agents(where)
        if one.found or one.name in noted
    ]


def planned_leaving(where: Setting, named: Sequence[str] = ()) -> Plan:
    """Return what changes for agents to ask their own servers again, hooks and tools staying."""
    record = read_record(where.places.wired)
    return plan_leaving(where.places, _known(where, named), record)


def planned_undoing(where: Setting, named: Sequence[str] = ()) -> Plan:
    """Return what an undo changes, in all agents' files or in those of the agents named.

    Raises:
        UsageError: when a name is no agent's.
        WiredDamaged: when the record cannot be read.
    """
    return plan_undoing(where.places, _known(where, named))


def undo(where: Setting) -> list[EverestError]:
    """Take everything of ours out of every agent's files; return what could not be done.

    Raises:
        WiredDamaged: when the record cannot be read.
    """
    plan = planned_undoing(where)
    return [*plan.failures, *wire(where.places, plan.changes, at=utc_now())]


def _known(where: Setting, named: Sequence[str]) -> list[Agent]:
    """Return every agent, and beside them the files that were wired and are no agent's now."""
    machine, ours = machine_of(os.environ), ours_of(where, os.environ)
    agents = [look(machine, ours) for look in LOOKS.values()]
    chosen(agents, named)
    files = {target.path for agent in agents for target in agent.targets}
    noted = read_record(where.places.wired).files
    moved = [_moved(note) for note in noted if Path(note.path) not in files]
    return [one for one in [*agents, *moved] if not named or one.name in named]


def _moved(note: Note) -> Agent:
    """Return an agent for a file that was wired and is no longer where its agent is looked for."""
    editor = _EDITORS.get(Path(note.path).suffix, JsonText)
    target = Target(Path(note.path), EnvText if Path(note.path).name == ".env" else editor, ())
    return Agent(note.agent, note.agent, found=False, looked=(), targets=(target,))


def _standing(agent: Agent, home: Path, *, touched: bool) -> Wiring:
    as_wanted: list[bool] = []
    there = False
    failures: list[EverestError] = []
    for target in agent.targets:
        try:
            text = text_of(target.path, read(target.path))
            there = there or ours_in(text)
            as_wanted.append(present(target.editor(text), target.wishes))
        except EverestError as failure:
            failures.append(failure)
        except Unreadable as error:
            failures.append(AgentFileUnreadable(target.path, error.line, error.column, error.why))
    wired = all(as_wanted) and not failures
    other = next(iter(other_homes(agent, home)), None)
    return Wiring(agent, wired, there, touched, tuple(failures), other)
