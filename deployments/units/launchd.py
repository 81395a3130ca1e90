"""Agents of launchd, macOS's service manager: `everest up`, or a night alone, as property lists."""

from __future__ import annotations

import plistlib
from pathlib import Path
from typing import Any, Final

from deployments.units.sealed import File, sealed
from deployments.units.start import Start

_HEAD_LINES: Final = 2
"""The declarations of XML and of the document's type, before which no comment may stand."""
_UMASK: Final = 0o077


def folder(user_home: Path) -> Path:
    """Return where a person's own agents lie."""
    return user_home / "Library" / "LaunchAgents"


def label(start: Start, part: str) -> str:
    """Return the name by which launchd knows a part of it."""
    return f"memory.{start.name}.{part}"


def up_file(start: Start, where: Path) -> File:
    """Return the agent that keeps `everest up` running."""
    asked = {
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "ExitTimeOut": 60,
    }
    return _file(start, "up", start.command("up"), asked, where)


def night_file(start: Start, where: Path) -> File:
    """Return the agent that runs a night: at its time, or as soon as the machine is awake again.

    At each login it looks too, for one whose time passed while the machine was off.
    """
    asked = {
        "RunAtLoad": True,
        "StartCalendarInterval": {"Hour": 3, "Minute": 30},
        "LowPriorityIO": True,
        "Nice": 10,
    }
    return _file(start, "night", start.command("night", "--if-due"), asked, where)


def _file(start: Start, part: str, command: list[str], asked: dict[str, Any], where: Path) -> File:
    name = label(start, part)
    log = str(start.home / "prefect" / f"launchd-{part}.log")
    told = {
        "Label": name,
        "ProgramArguments": command,
        "EnvironmentVariables": dict(start.environment),
        "WorkingDirectory": str(start.home),
        "StandardOutPath": log,
        "StandardErrorPath": log,
        "Umask": _UMASK,
        **asked,
    }
    lines = plistlib.dumps(told, sort_keys=False).splitlines(keepends=True)
    head, rest = b"".join(lines[:_HEAD_LINES]), b"".join(lines[_HEAD_LINES:])
    return File(where / f"{name}.plist", sealed(head, rest, "<!-- {} -->"))
