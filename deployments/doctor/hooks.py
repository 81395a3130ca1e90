"""Fire a hook as its agent would: by `sh`, with a sample of what the agent writes to it.

The sample names no conversation and no transcript, so that nothing is told or noted, and says that
it is a probe, so that it is counted as one alone.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Final

from deployments.doctor.finding import Finding, well, wrong
from tasks.hooks.failures import NAME

PATIENCE: Final = 10.0
_SLOW: Final = 1.0
"""Seconds from which on a person would notice; its own deadline is far shorter."""
_SETUP: Final = "everest setup"


def try_hook(title: str, event: str, line: str, spool: Path) -> Finding:
    """Return whether a wired command does what it should.

    Args:
        title: of the agent whose it is.
        event: as the agent calls it.
        line: the command.
        spool: where a hook that fails leaves word.
    """
    if why := _gone(line):
        return wrong(title, f"its hook for {event} does nothing: {why}", _SETUP)
    before, began = _failures(spool), time.monotonic()
    done = _fired(event, line)
    took = time.monotonic() - began
    if isinstance(done, str):
        return wrong(title, f"its hook for {event} {done}", _SETUP)
    if done.returncode or done.stdout or done.stderr:
        why = f"its hook for {event} disturbs: it said something, or ended with {done.returncode}"
        return wrong(title, why, _SETUP)
    if _failures(spool) != before:
        return wrong(title, f"its hook for {event} fails: see {spool / NAME}", "everest status")
    if took > _SLOW:
        return wrong(title, f"its hook for {event} takes {took:.1f} s", "everest up")
    return well(title, f"its hook for {event} answers in {took * 1000:.0f} ms")


def _fired(event: str, line: str) -> subprocess.CompletedProcess[bytes] | str:
    """Return what a command came to, or why it came to nothing."""
    try:
        return subprocess.run(  # noqa: S603  the command that we wired
            ["/bin/sh", "-c", line],
            input=json.dumps(_sample(event)).encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env=_environment(),
        )
    except subprocess.TimeoutExpired:
        return "does not end"
    except OSError:
        return "is too long for a command line"


def _gone(line: str) -> str:
    """Return what a command of ours needs and is not there: it is silent then, by design."""
    try:
        words = shlex.split(line)[3:]
        if len(words) < 2:
            return "it is cut short"
        interpreter, client = words[:2]
        if not os.access(interpreter, os.X_OK):
            return f"{interpreter} is no program any more"
        return "" if os.access(client, os.R_OK) else f"{client} is gone"
    except ValueError:  # quotes that do not match, or a byte that no name can hold
        return "it is no command line"


def _sample(event: str) -> dict[str, object]:
    return {"hook_event_name": event, "cwd": "/", "prompt": "", "tool_name": "", "tool_input": {}}


def _environment() -> dict[str, str]:
    """Return what an agent hands on, without what would let a hook rest, and that it is a probe."""
    given = {k: v for k, v in os.environ.items() if not k.startswith("EVEREST_")}
    return {**given, "EVEREST_PROBE": "1"}


def _failures(spool: Path) -> int:
    try:
        return (spool / NAME).stat().st_size
    except OSError:
        return 0
