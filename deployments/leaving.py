"""`everest uninstall`: takes back, one after the other, all that Everest put on a machine.

Invariants: each part is undone whatever becomes of the others; a home goes last, and only when all
else went, since it holds what an undo needs; nothing is removed that Everest did not put there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from deployments.cron import unschedule
from deployments.down import down
from deployments.units import installing, managers
from deployments.units.start import start_of
from deployments.wiring.setup import undo
from tasks import homes
from tasks.compose import Setting
from tasks.domain.clock import iso, local_day
from tasks.errors import EverestError
from tasks.prefect_home import PrefectHome
from tasks.render.withdraw import Withdrawn, withdraw
from tasks.store.lock import writer_lock


@dataclass(slots=True)
class Left:
    """What was undone, in words for a person, and what was not.

    Attributes:
        done: one line for each thing that was undone.
        by_hand: commands that the person is to run.
        stays: files and folders that were left, as they are not ours or were edited.
        copies: where what the person had edited is kept.
        failed: what could not be undone; the home stays then.
    """

    done: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    stays: list[Path] = field(default_factory=list)
    copies: list[Path] = field(default_factory=list)
    failed: list[EverestError] = field(default_factory=list)


def uninstall(where: Setting, *, keep_data: bool, at: datetime) -> Left:
    """Undo everything of a home on this machine; remove the home too unless it is to be kept.

    Raises:
        HomeRefused: when the home is to be removed and is none; nothing is undone then.
    """
    user_home, left = Path("~").expanduser(), Left()
    if not keep_data:
        homes.require_home(where.places, user_home)
    with _noting(left):
        _stop(where, left, user_home)
    with _noting(left):
        if unschedule(where, dry_run=False).changed:
            left.done.append("nights are in your crontab no more")
    with _noting(left):
        failures = undo(where)
        left.failed += failures
        if not failures:
            left.done.append("agents have no hook, server or address of Everest's any more")
    with _noting(left), _alone(where, at):
        _take_out(where, left, user_home / f"everest-kept-{local_day(at, where.settings.zone)}")
        if not keep_data and not left.failed:
            _remove(where, left, user_home)
    return left


def _stop(where: Setting, left: Left, user_home: Path) -> None:
    kind, start = managers.kind_of(sys.platform), start_of(where, os.environ)
    units = managers.units(start, kind, managers.Part.UP, environ=os.environ, user_home=user_home)
    stopped = down(PrefectHome(where.places.prefect), units)
    if stopped.by_manager or stopped.pid is not None:
        left.done.append("`everest up` was stopped")
    removed = installing.uninstall(units)
    left.done += [f"removed {path}" for path in removed.removed]
    left.stays += removed.left
    left.by_hand += [" ".join(command) for command in removed.by_hand]


def _take_out(where: Setting, left: Left, kept: Path) -> None:
    taken: Withdrawn = withdraw(where.places, where.roots, kept)
    left.done += [f"removed {path}" for path in taken.lessons]
    left.done += [f"took our section out of {path}" for path in taken.indexes]
    left.copies += taken.copies
    left.failed += taken.failed


def _remove(where: Setting, left: Left, user_home: Path) -> None:
    gone = homes.remove(where.places, user_home)
    left.stays += gone.left
    if gone.removed and not gone.left:
        left.done.append(f"removed {where.places.home} and all that was in it")
    elif gone.removed:
        left.done.append(f"removed from {where.places.home} what Everest knows as its own")


@contextmanager
def _alone(where: Setting, at: datetime) -> Iterator[None]:
    """Keep every run out while files go; a home that is not there has none."""
    if not where.places.home.is_dir():
        yield
        return
    with writer_lock(where.places.lock, wait=where.settings.lock_wait, started=iso(at)):
        yield


@contextmanager
def _noting(left: Left) -> Iterator[None]:
    """Note what could not be undone and go on."""
    try:
        yield
    except EverestError as failure:
        left.failed.append(failure)
