"""Nights without a server: lines of ours in the person's crontab, or an agent of launchd's.

Invariant: every other byte of the crontab stays as it is; what is between our marks is ours.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deployments.units import installing, managers
from deployments.units.managers import Kind, Part, Units
from deployments.units.sealed import State, state_of
from deployments.units.start import Start, start_of
from tasks.compose import Setting
from tasks.durable import make_folder
from tasks.errors import CrontabFailed

_MINUTE: Final = 41
"""Of every hour: a machine that was off at night makes up for it within one."""
_JOB: Final = b" -m serving.cli night --if-due"
_NONE: Final = re.compile(rb"no crontab for", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What became of it.

    Attributes:
        where: the crontab, or the file of launchd's.
        changed: it was another before.
        lines: what stands there now, or would; "" after an undo.
        withheld: names of settings that look like credentials and were not written.
        by_hand: what the person is to run, as the service manager does not answer.
    """

    where: str
    changed: bool
    lines: str
    withheld: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()


def schedule(where: Setting, *, dry_run: bool, platform: str = sys.platform) -> Scheduled:
    """Have due nights run with no server; a second time changes nothing.

    Raises:
        CrontabFailed: when there is no crontab program, or it refuses.
        NotOurs: when launchd's file is not as Everest wrote it.
    """
    start = start_of(where, os.environ)
    if managers.kind_of(platform) is Kind.LAUNCHD:
        return _with_launchd(start, dry_run=dry_run)
    before = _read()
    if not dry_run:
        make_folder(start.home)  # what a night says is written into it
    after = put(before, start.name, lines_of(start))
    if after != before and not dry_run:
        _write(after)
    lines = b"".join(lines_of(start)).decode()
    return Scheduled("your crontab", after != before, lines, start.withheld)


def unschedule(where: Setting, *, dry_run: bool, platform: str = sys.platform) -> Scheduled:
    """Take our lines out again; with none there, do nothing, also with no crontab program.

    Raises:
        CrontabFailed: when the crontab program refuses.
    """
    start = start_of(where, os.environ)
    if managers.kind_of(platform) is Kind.LAUNCHD:
        return _without_launchd(start, dry_run=dry_run)
    if shutil.which("crontab") is None:
        return Scheduled("your crontab", changed=False, lines="")
    before = _read()
    after = take_out(before, start.name)
    if after != before and not dry_run:
        _write(after)
    return Scheduled("your crontab", after != before, "")


def is_scheduled(where: Setting, *, platform: str = sys.platform) -> bool:
    """Tell whether due nights run with no server; also with no crontab program."""
    start = start_of(where, os.environ)
    if managers.kind_of(platform) is Kind.LAUNCHD:
        return installing.is_installed(_agent(start))
    return shutil.which("crontab") is not None and _span(_read(), start.name) is not None


def lines_of(start: Start) -> list[bytes]:
    """Return our lines of a crontab, marks included.

    What a night said last lies in `cron.log`; how it ended is in the log of runs, as ever.
    """
    settings = [f"{name}={value}" for name, value in start.environment.items()]
    words = ["env", *settings, *start.command("night", "--if-due")]
    told = f"{shlex.join(words)} > {shlex.quote(str(start.home / 'cron.log'))} 2>&1"
    there = f"test ! -x {shlex.quote(start.interpreter)} || {told}"  # removed: no mail each hour
    command = there.replace("%", "\\%").replace("\n", " ")
    begin, end = _marks(start.name)
    return [begin, f"{_MINUTE} * * * * {command}\n".encode(), end]


def put(crontab: bytes, name: str, lines: list[bytes]) -> bytes:
    """Return a crontab with our lines in it: where they were, else at its end."""
    ours, found = b"".join(lines), _span(crontab, name)
    if found is not None:
        return crontab[: found[0]] + ours + crontab[found[1] :]
    return crontab + (b"\n" if crontab and not crontab.endswith(b"\n") else b"") + ours


def take_out(crontab: bytes, name: str) -> bytes:
    """Return a crontab without our lines; every other byte stays."""
    found = _span(crontab, name)
    return crontab if found is None else crontab[: found[0]] + crontab[found[1] :]


def _marks(name: str) -> tuple[bytes, bytes]:
    begin = f"# {name}: begin (written by Everest; `everest setup --cron --undo` removes it)\n"
    return begin.encode(), f"# {name}: end\n".encode()


def _span(crontab: bytes, name: str) -> tuple[int, int] | None:
    """Return where our lines are; with a mark missing, only what is surely ours is."""
    begin, end = _marks(name)
    start = _line(crontab, begin, 0)
    if start is None:
        return None
    stop = _line(crontab, end, start)
    if stop is not None:
        return start, stop + len(end)
    after = start + len(begin)
    job = crontab[after:].partition(b"\n")[0]
    return start, after + (len(job) + 1 if _JOB in job else 0)


def _line(crontab: bytes, line: bytes, start: int) -> int | None:
    """Return where a line stands by itself, and not behind a mark that puts it out of use."""
    found = re.compile(b"^" + re.escape(line), re.MULTILINE).search(crontab, start)
    return found.start() if found else None


def _read() -> bytes:
    done = _crontab("-l")
    if done.returncode == 0:
        return done.stdout
    if _NONE.search(done.stderr + done.stdout):
        return b""
    raise CrontabFailed(_said(done))


def _write(crontab: bytes) -> None:
    done = _crontab("-", given=crontab) if crontab else _crontab("-r")
    if done.returncode:
        raise CrontabFailed(_said(done))


def _crontab(word: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("crontab")
    if program is None:
        raise CrontabFailed("there is no crontab program here")
    # In its own words it says that there is none, which is read above.
    plain: Mapping[str, str] = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(  # noqa: S603  the system's own program, words fixed here
        [program, word], input=given, capture_output=True, env=plain, check=False
    )


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    words = (done.stderr or done.stdout).decode("utf-8", "replace").split("\n")
    return f"crontab said: {words[0].strip() or 'nothing'}"


def _agent(start: Start) -> Units:
    return managers.units(
        start, Kind.LAUNCHD, Part.NIGHT, environ=os.environ, user_home=Path("~").expanduser()
    )


def _with_launchd(start: Start, *, dry_run: bool) -> Scheduled:
    units = _agent(start)
    done = installing.planned(units) if dry_run else installing.install(units)
    (file,) = units.files
    by_hand = tuple(map(shlex.join, done.by_hand))
    return Scheduled(
        str(file.path), bool(done.written), file.data.decode(), start.withheld, by_hand
    )


def _without_launchd(start: Start, *, dry_run: bool) -> Scheduled:
    units = _agent(start)
    (file,) = units.files
    if dry_run:
        return Scheduled(str(file.path), state_of(file) in (State.SAME, State.OLDER), "")
    done = installing.uninstall(units)
    by_hand = tuple(map(shlex.join, done.by_hand))
    return Scheduled(str(file.path), bool(done.removed), "", by_hand=by_hand)
