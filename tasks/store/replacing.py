"""Put a memory that stands ready beside a home in its place, and move what was there aside, whole.

It is a row of renames after a plan that is durable, so a run that was killed is completed by
whoever takes the writer lock next. Invariant: nothing is deleted, and what is appended to the
journal meanwhile lies in the new one or beside the old one; a decision always reaches the new one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson

from tasks.durable import make_folder, swap_file, sync_folder
from tasks.errors import WriteFailed
from tasks.settings import Places
from tasks.store import journal
from tasks.store.archive import TAKEN
from tasks.store.database import log_of
from tasks.store.keys import DIGEST_KEY, kept_key
from tasks.waypoints import passing

_STAGE: Final = "restoring"
_PLAN: Final = "plan.json"
_HOME: Final = "home"
_JOURNAL: Final = "journal"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be put in place.

    Attributes:
        aside: name of the folder of the home that what was there goes to.
        new: names under the home, and of journal segments, that come from the stage.
        late: name of the segment for decisions said since the stage was made.
        folded: journal segment -> bytes that the old ledger held; `carried`: ids of decisions that
            the new memory holds already.
    """

    aside: str
    new: tuple[str, ...]
    late: str
    folded: Mapping[str, int]
    carried: tuple[str, ...]


def stage_of(places: Places) -> Places:
    """Return the places of the memory that is being made ready; nothing reads it yet."""
    return Places(places.home / _STAGE / _HOME)


def clear_stage(places: Places) -> None:
    """Remove what was being made ready; the caller holds the writer lock."""
    shutil.rmtree(places.home / _STAGE, ignore_errors=True)


def put_in_place(
    places: Places,
    *,
    aside: str,
    late: str,
    folded: Mapping[str, int],
    carried: Iterable[str],
) -> None:
    """Put the stage in the home's place; the caller holds the writer lock.

    Raises:
        WriteFailed: when the disk refuses; the next run of any command that writes completes it.
    """
    new = tuple(sorted(_staged(places)))
    plan = Plan(aside, new, late, dict(folded), tuple(carried))
    _sync_all(stage_of(places).home)
    swap_file(places.home / _STAGE / _PLAN, orjson.dumps(asdict(plan)))
    passing("restore.planned")
    complete(places)


def complete(places: Places) -> None:
    """Complete what a killed restore had begun to put in place; the caller holds the writer lock.

    What it had not made ready goes: the backup still has it.

    Raises:
        WriteFailed: when the disk refuses.
    """
    plan = _plan(places)
    if plan is None:
        clear_stage(places)
        return
    aside = places.home / plan.aside
    try:
        with journal.exclusive(places.journal):
            _carry_late(places, plan)
            passing("restore.carried")
            for old, new, kept in _moves(places, plan, aside):
                _move(old, new, kept)
                passing("restore.moved", old.name)
    except OSError as error:
        raise WriteFailed(aside, error.strerror or str(error)) from error
    for folder in (places.journal, places.keys, aside, places.home):
        if folder.is_dir():
            sync_folder(folder)
    passing("restore.placed")
    (places.home / _STAGE / _PLAN).unlink()
    sync_folder(places.home / _STAGE)
    passing("restore.cleared")
    clear_stage(places)


def _plan(places: Places) -> Plan | None:
    try:
        found = orjson.loads((places.home / _STAGE / _PLAN).read_bytes())
    except FileNotFoundError:
        return None
    return Plan(
        found["aside"],
        tuple(found["new"]),
        found["late"],
        found["folded"],
        tuple(found["carried"]),
    )


def _staged(places: Places) -> Iterator[str]:
    stage = stage_of(places)
    for name in _names(places):
        if (stage.home / name).exists():
            yield name
    if kept_key(stage.keys) != kept_key(places.keys):
        yield f"{places.keys.name}/{DIGEST_KEY}"
    for path in _segments(stage.journal):
        yield f"{_JOURNAL}/{path.name}"


def _names(places: Places) -> tuple[str, ...]:
    """Return every name under a home that is the memory's, without its journal and its key."""
    store = places.store
    rest = (name for name in TAKEN if name not in (_JOURNAL, places.keys.name))
    return (store.name, log_of(store).name, *rest, places.view.name)


def _segments(folder: Path) -> list[Path]:
    """Return what stands in a journal: its segments, and the folder of those that are applied."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _moves(places: Places, plan: Plan, aside: Path) -> Iterator[tuple[Path, Path | None, Path]]:
    """Yield where each thing stands, what takes its place, and where it goes; the key first.

    What came from the stage already stands there no more: it is what stands in the home.
    """
    stage = stage_of(places)
    segments = {f"{_JOURNAL}/{path.name}" for path in _segments(places.journal)}
    segments.discard(f"{_JOURNAL}/{plan.late}")
    parts = segments | {name for name in plan.new if "/" in name}
    for name in (*sorted(parts, reverse=True), *_names(places)):
        if name not in plan.new:
            yield places.home / name, None, aside / name
        elif os.path.lexists(stage.home / name):
            yield places.home / name, stage.home / name, aside / name


def _move(old: Path, new: Path | None, kept: Path) -> None:
    if os.path.lexists(old) and not (kept.is_file() and kept.samefile(old)):
        make_folder(kept.parent)
        if new is not None and old.is_file():  # so that it is never missing
            _free(kept).hardlink_to(old)
            passing("restore.moved", kept.name)
        else:
            old.rename(_free(kept))
            passing("restore.moved", kept.name)
    if new is not None:
        make_folder(old.parent)
        new.replace(old)


def _free(path: Path) -> Path:
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


def _carry_late(places: Places, plan: Plan) -> None:
    """Write the decisions that came after the stage was made into the new journal, durably."""
    new = {name.partition("/")[2] for name in plan.new if "/" in name}
    stage = stage_of(places).journal
    old = {
        path.name
        for path in _segments(places.journal)
        if path.name not in new or (stage / path.name).exists()
    }
    begun_again = {path.name for path in _segments(places.home / plan.aside / _JOURNAL)}
    offsets = {name: end for name, end in plan.folded.items() if name not in begun_again}
    lines = [
        line
        for read in journal.unfolded(places.journal, offsets)
        if read.segment in old - {plan.late}
        for line in read.lines
        if journal.is_decision(line) and line.id not in plan.carried
    ]
    if lines:
        journal.write_segment(places.journal, plan.late, lines)


def _sync_all(folder: Path) -> None:
    """Put every folder's entries on the disk before a plan names them."""
    try:
        for path, _, _ in os.walk(folder, topdown=False):
            sync_folder(Path(path))
        sync_folder(folder.parent)
    except OSError as error:
        raise WriteFailed(folder, error.strerror or str(error)) from error


@contextmanager
def staged(places: Places) -> Iterator[Places]:
    """Give an empty stage to make a memory ready in; it is gone afterwards, however it went.

    The caller holds the writer lock.
    """
    clear_stage(places)
    make_folder(places.home / _STAGE)
    try:
        yield stage_of(places)
    finally:
        if _plan(places) is None:
            clear_stage(places)
