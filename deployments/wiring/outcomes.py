"""What an agent's file is to become: wired, bare again, or led through the proxy no more.

Invariant: nothing is written here; the same bytes and the same record give the same outcome.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deployments.wiring.data import Path as Steps
from deployments.wiring.data import Unwirable
from deployments.wiring.door import PLACES
from deployments.wiring.files import digest, read_copy, text_of
from deployments.wiring.jsonc import Unreadable
from deployments.wiring.owner import owner_of
from deployments.wiring.record import Note, Record, read_record
from deployments.wiring.wishes import (
    Editor,
    Entry,
    Kept,
    Option,
    Target,
    fulfil,
    ours_in,
)
from deployments.wiring.withdrawing import withdraw, withdraw_from
from tasks.errors import AgentFileInTheWay, AgentFileUnreadable, WiredDamaged
from tasks.settings import Places

_NAME: Final = b"everest"
"""Stands in everything that we write: a file without it holds nothing of ours."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a file is to become.

    Attributes:
        after: its bytes, None when it is to be no more.
        before: what an undo is to put back, None for no file.
        kept: what has to be known of it afterwards, None when nothing of ours is left in it.
    """

    after: bytes | None
    before: bytes | None
    kept: Kept | None


def wired(
    target: Target,
    seen: bytes | None,
    record: Record,
    places: Places,
    others: Sequence[Path] = (),
) -> Outcome:
    """Return what a file is to become for everything wanted to be in it.

    Args:
        target: the file and what is wanted in it.
        seen: what it holds.
        record: what this home wired.
        places: this home's.
        others: homes whose things are taken out first, as their own undo would.

    Raises:
        AgentFileUnreadable, AgentFileInTheWay: when it cannot be changed.
    """
    seen = _without(target, seen, others)
    if not target.wishes:
        return undone(target, seen, record, places)
    note = record.of(target.path)
    editor = _read(target, seen)
    with _explained(target.path):
        new, kept = fulfil(editor, target.wishes, note.kept() if note else Kept())
    after = new.text.encode()
    if note is not None and unchanged(note, seen):
        return Outcome(after, _copy(places, note), kept)
    if note is None and not ours_in(editor.text):  # what a person registered by hand is theirs
        return Outcome(after, seen, kept)
    return Outcome(after, _stripped(target, seen, note, places), kept)


def undone(target: Target, seen: bytes | None, record: Record, places: Places) -> Outcome:
    """Return what a file is to become for nothing of ours to be left in it: as it was, if it can.

    Raises:
        AgentFileUnreadable, AgentFileInTheWay: when it cannot be changed.
    """
    note = record.of(target.path)
    if note is not None and unchanged(note, seen):
        before = _copy(places, note)
        if before is not None or note.before is None:  # a copy that is gone leaves the other way
            return Outcome(before, None, None)
    return Outcome(_stripped(target, seen, note, places), None, None)


def left(target: Target, seen: bytes | None, record: Record, places: Places) -> Outcome:
    """Return what a file is to become for its agent to ask its own server again.

    Raises:
        AgentFileUnreadable, AgentFileInTheWay: when it cannot be changed.
    """
    note = record.of(target.path)
    if note is None or seen is None or not set(note.kept().put) & set(PLACES):
        return Outcome(seen, None, note.kept() if note else None)
    if not target.wishes:  # it was ours for the proxy alone
        return undone(target, seen, record, places)
    kept = note.kept().without(PLACES)
    with _explained(target.path):
        bare = withdraw_from(_read(target, seen), note.kept(), PLACES, owner_of(places))
    before = _copy(places, note) if unchanged(note, seen) else None
    return Outcome(bare.text.encode(), before, kept)


def _without(target: Target, seen: bytes | None, homes: Sequence[Path]) -> bytes | None:
    """Return a file as it is when what some homes have in it was undone."""
    for home in homes:
        other = Places(home)
        try:
            known = read_record(other.wired)
        except WiredDamaged:
            known = Record()  # it goes by the marks then
        seen = undone(target, seen, known, other).after
    return seen


def _stripped(
    target: Target, seen: bytes | None, note: Note | None, places: Places
) -> bytes | None:
    """Return a file without what is ours; None when it was ours alone, or there is none."""
    if seen is None or (note is None and _NAME not in seen.lower()):
        return seen
    editor = _read(target, seen)
    kept = note.kept() if note else Kept()
    with _explained(target.path):
        bare = withdraw(editor, kept, _places_of(target), owner_of(places))
    if note is not None and note.before is None and not bare.data:
        return None
    return bare.text.encode()


def _places_of(target: Target) -> Sequence[Steps]:
    return [*(wish.path for wish in target.wishes if isinstance(wish, Entry | Option)), *PLACES]


def _read(target: Target, seen: bytes | None) -> Editor:
    text = text_of(target.path, seen)
    try:
        return target.editor(text)
    except Unreadable as error:
        raise AgentFileUnreadable(target.path, error.line, error.column, error.why) from None


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except Unwirable as error:
        raise AgentFileInTheWay(path, str(error)) from None


def unchanged(note: Note, seen: bytes | None) -> bool:
    """Tell whether a file still is as we wrote it."""
    return seen is not None and digest(seen) == note.after


def _copy(places: Places, note: Note) -> bytes | None:
    return None if note.before is None else read_copy(places.wired_over, note.before)
