"""The inbox: files of events that programs leave in a folder, taken in by the next run.

Invariants: a file is put away only when every event of it is on the disk elsewhere; what cannot be
used is named; whoever may write there is an agent, so nothing in it is taken for the person's word.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from tasks.domain.proposals import Actor
from tasks.durable import make_folder, sync_folder
from tasks.errors import HomeUnreadable, WriteFailed
from tasks.memory import Memory
from tasks.relays import Relays
from tasks.segments import opened, segments
from tasks.settings import Places, Settings
from tasks.tell import Door, Told, lines, project_named, tell

DONE: Final = "done"
_MOST_NAMED: Final = 20


def take_in(places: Places, settings: Settings, *, at: datetime) -> list[str]:
    """Tell the events of every file in the inbox and put it away; return what is wrong, in words.

    Raises:
        StoreError, WriteFailed: when they cannot be told; the files that are left stay.
    """
    problems: list[str] = []
    try:
        found = segments(places.inbox)
    except HomeUnreadable as error:
        return [str(error)]
    for path in found:
        if path.is_symlink() or path.is_dir():  # nothing that a program left for us to read
            continue
        memory = Memory(places)
        door = Door(
            memory=memory,
            relay=Relays(places.relay).of(settings.app),
            project=partial(project_named, memory),
            scope=settings.scope,
            default=None,
            actor=Actor.AGENT,
            at=at,
        )
        try:
            with opened(path) as file:
                data = file.read()
        except (OSError, HomeUnreadable) as error:
            problems.append(str(error))
            continue
        told = tell(lines(data), door)
        problems += unusable(path, told)
        _put_away(path)
    return problems


def unusable(path: Path, told: Told) -> Iterator[str]:
    """Yield a sentence for each line of a file that was not taken, the first of many."""
    for number, why in told.unusable[:_MOST_NAMED]:
        yield f"{path}, line {number}: {why}"
    more = len(told.unusable) - _MOST_NAMED
    if more > 0:
        yield f"{path}: {more} more lines could not be used"


def _put_away(path: Path) -> None:
    done = make_folder(path.parent / DONE)
    target, number = done / path.name, 1
    while os.path.lexists(target):
        number += 1
        target = done / f"{path.stem}-{number}{path.suffix}"
    try:
        path.rename(target)
        sync_folder(done)
    except OSError as error:
        raise WriteFailed(target, error.strerror or str(error)) from error
