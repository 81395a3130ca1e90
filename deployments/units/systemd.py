"""Units of systemd's user manager: the service that is `everest up`, and a night's timer.

The timer makes up for a night when the service does not run; while it does, the night is its own.
Only such hardening stands here as needs no mount namespace: user managers often may make none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from deployments.units.sealed import File, sealed
from deployments.units.start import Start

_HARDENING: Final = (
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "SystemCallArchitectures=native",
    "SystemCallFilter=~@clock @cpu-emulation @debug @module @mount @obsolete @raw-io @reboot @swap",
    "SystemCallErrorNumber=EPERM",
    "UMask=0077",
)


def folder(environ: Mapping[str, str], user_home: Path) -> Path:
    """Return where a person's own units lie."""
    configured = environ.get("XDG_CONFIG_HOME", "")
    base = Path(configured) if configured.startswith("/") else user_home / ".config"
    return base / "systemd" / "user"


def files(start: Start, where: Path) -> tuple[File, ...]:
    """Return the unit files, sealed."""
    made = {
        f"{start.name}.service": _service(start),
        f"{start.name}-night.service": _night(start),
        f"{start.name}-night.timer": _timer(start),
    }
    return tuple(
        File(where / name, sealed(b"", "\n".join(lines).encode() + b"\n", "# {}"))
        for name, lines in made.items()
    )


def running(start: Start) -> tuple[str, ...]:
    """Return the names of what is started: the service and the timer."""
    return f"{start.name}.service", f"{start.name}-night.timer"


def quoted(word: str) -> str:
    """Return a word as systemd reads it back: quoted, its specifiers and odd bytes escaped."""
    escaped = {"\\": "\\\\", '"': '\\"', "%": "%%", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escaped.get(one, one) for one in word) + '"'


def _service(start: Start) -> Iterator[str]:
    yield from _head(start, "Everest: its server, schedules and proxy")
    yield from ("StartLimitIntervalSec=600", "StartLimitBurst=5", "", "[Service]", "Type=exec")
    yield _exec(start, "up")
    yield from _environment(start)
    # 2: a setting that cannot be used is not mended by another start.
    yield from ("Restart=on-failure", "RestartSec=30", "RestartPreventExitStatus=2")
    yield from ("KillMode=mixed", "TimeoutStopSec=60", "OOMPolicy=continue", *_HARDENING)
    yield from ("", "[Install]", "WantedBy=default.target")


def _night(start: Start) -> Iterator[str]:
    yield from _head(start, "A night of Everest's, if one is due")
    yield from ("", "[Service]", "Type=oneshot")
    up = f"! systemctl --user --quiet is-active {start.name}.service"
    yield f'ExecCondition=/bin/sh -c "{up}"'
    yield _exec(start, "night", "--if-due")
    yield from _environment(start)
    yield from ("Nice=10", *_HARDENING)


def _timer(start: Start) -> Iterator[str]:
    yield from ("[Unit]", "Description=Nights of Everest's while `everest up` does not run", "")
    zone = f" {start.zone}" if start.zone else ""
    yield from ("[Timer]", f"OnCalendar=*-*-* 03:30:00{zone}", "Persistent=true", "")
    yield from ("[Install]", "WantedBy=timers.target")


def _head(start: Start, description: str) -> Iterator[str]:
    yield from ("[Unit]", f"Description={description}")
    # A removed environment is then no failure at every login.
    yield f"ConditionFileIsExecutable={start.interpreter.replace('%', '%%')}"


def _exec(start: Start, *words: str) -> str:
    return "ExecStart=" + " ".join(
        quoted(word).replace("$", "$$") for word in start.command(*words)
    )


def _environment(start: Start) -> Iterator[str]:
    for name, value in start.environment.items():
        yield f"Environment={quoted(f'{name}={value}')}"
    yield "EnvironmentFile=-" + str(start.credentials).replace("%", "%%")
