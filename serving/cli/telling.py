"""Events of a file, told on the command line: by whose word, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from serving.cli.context import writing_project
from serving.cli.output import at_terminal
from tasks.compose import Setting
from tasks.domain.clock import utc_now
from tasks.domain.proposals import Actor
from tasks.errors import UsageError
from tasks.inbox import unusable
from tasks.memory import Memory
from tasks.relays import Relays
from tasks.render.phrases import count
from tasks.tell import Door, Told, lines, project_named, tell


def tell_file(where: Setting, path: Path) -> Told:
    """Tell the events of a file, `-` for standard input; this folder's project is their default.

    Raises:
        UsageError: when the file cannot be read.
        WriteFailed: when the disk refuses.
    """
    memory = Memory(where.places)
    door = Door(
        memory=memory,
        relay=Relays(where.places.relay).of(where.settings.app),
        project=partial(project_named, memory),
        scope=where.settings.scope,
        default=writing_project(memory, None),
        actor=Actor.PERSON if at_terminal() else Actor.AGENT,
        at=utc_now(),
    )
    return tell(lines(_read(path)), door)


def as_data(told: Told) -> dict[str, Any]:
    """Return what a telling came to for `--json`."""
    named = [{"line": number, "why": why} for number, why in told.unusable]
    return {"accepted": told.accepted, "known": told.known, "unusable": named}


def in_words(told: Told, path: str) -> Iterator[str]:
    """Yield what a telling came to, as a person reads it."""
    known = f", {told.known} of them known" if told.known else ""
    yield f"{count(told.accepted, 'event')} accepted{known}."
    yield from unusable(Path(path), told)


def _read(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read events in {path}: {error.strerror or error}") from None
