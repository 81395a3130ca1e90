"""Where the flow of a command runs: under the Prefect API that is set, or in this process alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from serving.cli.progress import shown
from tasks.compose import Setting
from tasks.night import Run, opened
from tasks.orchestrated import reported
from tasks.runs import new_run
from tasks.steps import Steps, plain_steps

R = TypeVar("R")


def run_flow(
    where: Setting,
    flow: Callable[..., R],
    body: Callable[[Steps, Run], R],
    *,
    first: Callable[[Setting], object] = lambda _: None,
    quiet: bool = False,
    **parameters: Any,
) -> R:
    """Run a flow where it is watched, or else its body with a bar on the terminal.

    Args:
        where: what this process works with.
        flow: the flow, which opens the store itself; named as the log of runs names it.
        body: what the flow runs between opening and closing.
        first: what the flow does before it opens the store.
        quiet: show no bar, and nothing of Prefect's but its errors.
        parameters: the flow's own.
    """
    if reported():
        if quiet:  # read when Prefect is imported, which the flow does
            os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "ERROR")
        return flow(**parameters)
    first(where)
    return run_here(where, flow.__name__, body, quiet=quiet)


def text_of(path: Path | None) -> str | None:
    """Return a path as the parameter of a flow, which is stored as JSON."""
    return None if path is None else str(path)


def run_here(
    where: Setting, name: str, body: Callable[[Steps, Run], R], *, quiet: bool = False
) -> R:
    """Run a flow's body in this process, with a bar on the terminal."""
    with shown(quiet=quiet) as progress, opened(where, new_run(name), progress=progress) as run:
        return body(plain_steps(), run)
