"""The shipped command as a person has it: a process of its own, homes of its own, a terminal."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.demo import write_week

COMMAND = Path(sys.executable).with_name("everest")
"""The console script beside the interpreter that runs the tests."""


_WITHOUT_ROOTS_RIGHTS = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
if os.geteuid() == 0:  # root reads everything, unless it gives these two capabilities up
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        assert libc.prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP
os.execv(sys.argv[1], sys.argv[1:])
"""


def _midday_zone() -> str:
    ahead = 12 - datetime.now(UTC).hour
    return f"Etc/GMT{-ahead:+d}" if ahead else "Etc/GMT"


MIDDAY = _midday_zone()
"""A zone in which it was about noon when the tests began, on the same day as in UTC.

So no test runs over a midnight or over 03:30, at which the next night is due.
"""
_LONGEST = 110.0
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Told:
    """What a command came to; at a terminal both streams are one."""

    code: int
    out: str
    err: str = ""

    @property
    def data(self) -> Any:
        """Return standard output as the one JSON value that it must be, and nothing else."""
        return json.loads(self.out)


class Everest:
    """`everest` for one person: `home` is EVEREST_HOME, `user` is HOME, `cwd` where they stand."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.user, self.home, self.cwd = base / "user", base / "everest", base / "user" / "work"
        self.claude = self.user / ".claude"
        self.cwd.mkdir(parents=True, exist_ok=True)

    def env(self, **more: str | None) -> dict[str, str]:
        """Return a clean environment; a name given as None is left out."""
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        chosen: dict[str, str | None] = {
            **kept,
            "HOME": str(self.user),
            "EVEREST_HOME": str(self.home),
            "EVEREST_EMBED": "hashed",
            "EVEREST_TIMEZONE": MIDDAY,
            "EVEREST_HOLDOUT": "0",
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            **more,
        }
        return {name: value for name, value in chosen.items() if value is not None}

    def __call__(self, *words: str, stdin: str | bytes = b"", **env: str | None) -> Told:
        """Run the command as an agent or a script does: through pipes."""
        return self.run([str(COMMAND), *words], stdin=stdin, **env)

    def run(self, command: Sequence[str], *, stdin: str | bytes = b"", **env: str | None) -> Told:
        """Run any command in this person's place."""
        done = subprocess.run(
            command,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=self.env(**env),
            cwd=self.cwd,
            timeout=_LONGEST,
            check=False,
        )
        return Told(done.returncode, done.stdout.decode(), done.stderr.decode())

    def as_anybody(self, *words: str) -> Told:
        """Run the command without root's right to read everything; on Linux alone."""
        return self.run([sys.executable, "-c", _WITHOUT_ROOTS_RIGHTS, str(COMMAND), *words])

    def start(self, *words: str, **env: str | None) -> subprocess.Popen[bytes]:
        """Start the command and let it run."""
        return subprocess.Popen(
            [str(COMMAND), *words],
            env=self.env(**env),
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def at_terminal(self, *words: str, typed: str = "", **env: str | None) -> Told:
        """Run the command as the person does: with a terminal at both ends, 100 columns wide."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        process = subprocess.Popen(
            [str(COMMAND), *words],
            env=self.env(**{"TERM": "xterm", **env}),
            cwd=self.cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        if typed:
            os.write(ours, typed.encode())
        shown = _all_of(ours).decode("utf-8", "replace").replace("\r\n", "\n")
        return Told(process.wait(_LONGEST), _COLOURS.sub("", shown))

    def works_a_week(self, now: datetime) -> None:
        """Leave the demo week's transcripts where Claude Code leaves its own."""
        write_week(self.claude, now=now)

    def lessons(self, *words: str) -> list[dict[str, Any]]:
        """Return what `everest lessons --json` lists."""
        told = self("lessons", "--json", *words)
        assert told.code == 0, told.err
        listed: list[dict[str, Any]] = told.data
        return listed

    def recalled(self, query: str, project: str = "paperboat") -> list[str]:
        """Return the ids that a recall gives."""
        told = self("recall", query, "--project", project, "-k", "20", "--json")
        assert told.code == 0, told.err
        return [one["id"] for one in told.data]

    def digest(self) -> str:
        """Return the store's digest as published."""
        return self("status", "--digest").out.splitlines()[-1]

    def files_of(self, lesson: str) -> list[Path]:
        """Return every rendered file of a lesson."""
        return sorted(self.base.rglob(f"everest-{lesson[:16]}*.md"))

    def indexes(self) -> str:
        """Return all `MEMORY.md` files as one text."""
        return "".join(path.read_text() for path in sorted(self.base.rglob("MEMORY.md")))


def tree_of(folder: Path) -> dict[str, str]:
    """Return a folder's files with a digest of bytes and mode each, and its folders."""
    return {
        str(path.relative_to(folder)): f"{path.lstat().st_mode:o} {_digest(path)}"
        for path in sorted(folder.rglob("*"))
    }


def restore(kept: Path, base: Path) -> None:
    """Put a base back as it was kept, modification times included."""
    shutil.rmtree(base, ignore_errors=True)
    shutil.copytree(kept, base)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"


def _all_of(descriptor: int) -> bytes:
    """Read until the other side is closed; Linux tells that by an error, macOS by nothing."""
    parts: list[bytes] = []
    try:
        while part := os.read(descriptor, 65536):
            parts.append(part)
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return b"".join(parts)
