"""The service manager of a platform: what to write for it, and what to tell it.

Invariant: a manager is told only what is returned, word for word; with none that answers, the
commands are for the person to run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import assert_never

from deployments.units import launchd, systemd
from deployments.units.sealed import File
from deployments.units.start import Start
from tasks.errors import ManagerFailed, UsageError

Command = tuple[str, ...]


class Kind(Enum):
    """The service managers that are known."""

    SYSTEMD = "systemd"
    LAUNCHD = "launchd"


class Part(Enum):
    """What can be started by itself: all that `everest up` runs, or due nights alone."""

    UP = "up"
    NIGHT = "night"


@dataclass(frozen=True, slots=True)
class Units:
    """What is written for a manager, and what it is told.

    Attributes:
        asks: succeeds when the manager answers in this session.
        active: succeeds when what was installed runs.
        reload: to be told whenever files came or went.
        on: starts it, now and at every login; `anew` does so after its files changed, and `again`
            comes before that while it runs.
        stop: stops it until the next login; `stop_idle` does where it waits to be started again.
        off: stops it for good while its files are there; `off_idle` does when it does not run.
        hint: what a person may want to know besides.
    """

    files: tuple[File, ...]
    asks: Command
    active: Command
    reload: tuple[Command, ...]
    on: tuple[Command, ...]
    anew: tuple[Command, ...]
    again: tuple[Command, ...]
    stop: tuple[Command, ...]
    stop_idle: tuple[Command, ...]
    off: tuple[Command, ...]
    off_idle: tuple[Command, ...]
    hint: str


def kind_of(platform: str) -> Kind:
    """Return the manager of a platform as `sys.platform` names it.

    Raises:
        UsageError: when none is known for it.
    """
    if platform == "darwin":
        return Kind.LAUNCHD
    if platform.startswith("linux"):
        return Kind.SYSTEMD
    raise UsageError(f"no service manager is known for {platform}; run `everest up` yourself")


def units(
    start: Start, kind: Kind, part: Part, *, environ: Mapping[str, str], user_home: Path
) -> Units:
    """Return what a manager is given to start a part of Everest.

    Raises:
        UsageError: when nights alone are asked of systemd: a crontab does those.
    """
    match kind:
        case Kind.SYSTEMD if part is Part.NIGHT:
            raise UsageError("nights alone are a crontab's on this system")
        case Kind.SYSTEMD:
            return _of_systemd(start, systemd.folder(environ, user_home))
        case Kind.LAUNCHD:
            made = launchd.up_file if part is Part.UP else launchd.night_file
            return _of_launchd(start, part, made(start, launchd.folder(user_home)))
        case _:
            assert_never(kind)


def answers(command: Command) -> bool:
    """Tell whether a command is there and succeeds."""
    return shutil.which(command[0]) is not None and _run(command).returncode == 0


def tell(commands: Sequence[Command]) -> None:
    """Tell the manager.

    Raises:
        ManagerFailed: when it refuses one; those before it were carried out.
    """
    for command in commands:
        done = _run(command)
        if done.returncode:
            raise ManagerFailed(" ".join(command), (done.stderr or done.stdout).strip())


def _run(command: Command) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  the words of a manager, fixed here
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )


def _of_systemd(start: Start, folder: Path) -> Units:
    names = systemd.running(start)
    ctl = ("systemctl", "--user")
    return Units(
        files=systemd.files(start, folder),
        asks=(*ctl, "show-environment"),
        active=(*ctl, "--quiet", "is-active", names[0]),
        reload=((*ctl, "daemon-reload"),),
        on=((*ctl, "enable", "--now", *names),),
        anew=((*ctl, "enable", *names), (*ctl, "restart", *names)),
        again=(),
        stop=((*ctl, "stop", *names),),
        stop_idle=((*ctl, "stop", *names),),
        off=((*ctl, "disable", "--now", *names),),
        off_idle=((*ctl, "disable", "--now", *names),),
        hint="It runs while you are logged in. To have it run always: loginctl enable-linger",
    )


def _of_launchd(start: Start, part: Part, file: File) -> Units:
    domain = f"gui/{os.getuid()}"
    target = f"{domain}/{launchd.label(start, part.value)}"
    load = ("launchctl", "bootstrap", domain, str(file.path))
    unload = ("launchctl", "bootout", target)
    return Units(
        files=(file,),
        asks=("launchctl", "print", domain),
        active=("launchctl", "print", target),
        reload=(),
        on=(load,),
        anew=(load,),
        again=(unload,),
        stop=(unload,),
        stop_idle=(),
        off=(unload,),
        off_idle=(),
        hint="It runs while you are logged in.",
    )
