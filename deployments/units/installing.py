"""Put service files where a manager finds them and have it start them; take them away again.

Invariant: a second time changes nothing; a file that is not as Everest wrote it is neither
overwritten nor removed; what was done is told command by command.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deployments.units.managers import Command, Units, answers, tell
from deployments.units.sealed import State, remove, require_ours, state_of, write


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done.

    Attributes:
        written: files that came or changed; `unchanged`: those that stood as they should.
        ran: what the manager was told; `by_hand`: what it is to be told, as it does not answer.
    """

    written: tuple[Path, ...]
    unchanged: tuple[Path, ...]
    ran: tuple[Command, ...]
    by_hand: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken away: `left` are files that are not as Everest wrote them."""

    removed: tuple[Path, ...]
    left: tuple[Path, ...]
    ran: tuple[Command, ...]
    by_hand: tuple[Command, ...]


def planned(units: Units) -> Installed:
    """Return what `install` would do; changes nothing.

    Raises:
        NotOurs: as `install`.
    """
    require_ours(units.files)
    same = tuple(file.path for file in units.files if state_of(file) is State.SAME)
    fresh = tuple(file.path for file in units.files if file.path not in same)
    there = answers(units.asks)
    active = there and answers(units.active)
    if fresh:
        commands = (*(units.again if active else ()), *units.reload, *units.anew)
    else:
        commands = () if active else (*units.reload, *units.on)
    return Installed(fresh, same, commands if there else (), () if there else commands)


def install(units: Units) -> Installed:
    """Write the files, and have the manager start what they say.

    Raises:
        NotOurs: when a file of that name is not as Everest wrote it; nothing is changed then.
        ManagerFailed: when the manager refuses; the files are written.
        WriteFailed: when the disk refuses.
    """
    plan = planned(units)
    write(units.files)
    tell(plan.ran)
    return plan


def uninstall(units: Units) -> Removed:
    """Have the manager stop it for good, and remove the files; with none there, do nothing.

    Raises:
        ManagerFailed: when the manager refuses; the files are there still.
        WriteFailed: when the disk refuses.
    """
    if all(state_of(file) is State.ABSENT for file in units.files):
        return Removed((), (), (), ())
    there = answers(units.asks)
    off = units.off if there and answers(units.active) else units.off_idle
    if there:
        tell(off)
    removed, left = remove(units.files)
    if there:
        tell(units.reload)
    commands = (*off, *units.reload)
    return Removed(
        tuple(removed), tuple(left), commands if there else (), () if there else commands
    )


def runs(units: Units) -> bool:
    """Tell whether it runs as the manager's."""
    return answers(units.asks) and answers(units.active)


def is_installed(units: Units) -> bool:
    """Tell whether a file of ours is there for the manager."""
    return any(state_of(file) in (State.SAME, State.OLDER) for file in units.files)
