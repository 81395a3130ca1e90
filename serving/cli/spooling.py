"""Runs what hooks left behind: reads the transcripts of conversations that ended, then a due night.

Invariant: of all that are started at once one does the work, it ends by itself, and whatever was
left while it worked is worked on too.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from serving.cli.wherever import run_flow, run_here
from tasks.compose import Setting
from tasks.domain.clock import utc_now
from tasks.hooks.contract import Agent
from tasks.paused import paused
from tasks.runs import due
from tasks.spool import Ended, alone, taken, waits

SETTLE: Final = 3.0
"""Seconds to wait first: an agent still writes, and several conversations often end at once."""
_SUFFIX: Final = ".jsonl"


def run_spooled(where: Setting) -> None:
    """Work until nothing waits; return at once when another process does so already."""
    where = replace(where, attended=False)
    while waits(where.places.spool) and not _rests(where):
        with alone(where.places.spool) as mine:
            if not mine:
                return
            time.sleep(SETTLE)
            _run(where)


def transcripts(ended: Iterable[Ended], roots: Iterable[Path]) -> Iterator[Path]:
    """Yield the transcripts that are there, each as it is found under its root.

    Only Claude Code's are read so far, and only under the name that their conversation gives them.
    """
    for one in ended:
        path = Path(one.transcript)
        named = path.name == f"{one.session}{_SUFFIX}" and path.is_absolute()
        if one.agent == Agent.CLAUDE_CODE and named and _is_there(path):
            yield next(_under(roots, path), path)


def _run(where: Setting) -> None:
    from flows import ingest as reading  # noqa: PLC0415  heavy imports wait until there is work
    from flows import nightly as sleeping  # noqa: PLC0415

    with taken(where.places, at=utc_now()) as found:
        paths = tuple(dict.fromkeys(transcripts(found.ended, where.roots)))
        if paths:
            here = replace(where, roots=paths)
            run_here(here, "ingest", reading.read_and_publish, quiet=True)
    if found.ended and due(where.places.runs, now=utc_now(), zone=where.settings.zone):
        run_flow(where, sleeping.nightly, sleeping.night, quiet=True)


def _under(roots: Iterable[Path], path: Path) -> Iterator[Path]:
    """Yield the path by which a walk from its root finds a file, whatever links lead to it."""
    for root in roots:
        with contextlib.suppress(ValueError, OSError):
            yield root / path.resolve().relative_to(root.resolve())


def _is_there(path: Path) -> bool:
    """Tell whether there is such a file; a name that no disk takes names none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _rests(where: Setting) -> bool:
    return paused(where.places.home, now=utc_now()) is not None
