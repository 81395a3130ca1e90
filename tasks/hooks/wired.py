"""The command that is written into an agent's settings for a hook, and how it is known again.

Invariant: run by any shell it exits with 0 and says nothing when its interpreter, its client or the
home is gone; python's own answer to a missing file, 2, would block the agent.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from tasks.errors import UsageError

CLIENT: Final = Path(__file__).with_name("client.py")
"""The file that the command runs."""

MARK: Final = "tasks/hooks/client.py"
"""Stands in every command of ours, with the home it is for."""

_RUN: Final = 'test -x "$0" && test -r "$1" && exec "$0" -I -S "$@" 2>/dev/null || exit 0'


def command(interpreter: Path, home: Path, socket: Path, agent: str, event: str) -> str:
    """Return the command line, for `sh -c`, that hands one event of an agent to Everest.

    Args:
        interpreter: python, by its absolute path; the one that Everest is installed for.
        home: where Everest's things lie.
        socket: of the warm process, which need not run.
        agent: `claude-code`, `codex` or `gemini`.
        event: as the agent calls it.

    Raises:
        UsageError: when a path cannot stand in a command line.
    """
    words = [str(one) for one in (interpreter, CLIENT, agent, event, home, socket)]
    for word in words:
        if not word.isprintable():
            raise UsageError(
                f"{word!r} cannot stand in an agent's settings: a hook's command is one line of"
                " printable text; move it to another folder"
            )
    return shlex.join(["sh", "-c", _RUN, *words])


def is_ours(line: str, home: Path) -> bool:
    """Tell whether a command line of an agent's settings is one of ours for this home."""
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return words[:2] == ["sh", "-c"] and str(home) in words and any(MARK in one for one in words)
