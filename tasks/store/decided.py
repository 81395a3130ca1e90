"""What was decided in a home whose store may be broken: read from whatever of it can be read.

The ledger has every tombstone, the store and the view have copies; the journal has what no night
has folded. Invariant: nothing here writes, and a damaged part is passed over and said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tasks.domain.scope import Scope
from tasks.domain.units import Lifecycle, Tombstone, TombstoneKind, Trust
from tasks.errors import EverestError, HomeUnreadable, StoreError
from tasks.segments import segments
from tasks.settings import Places
from tasks.store import journal
from tasks.store.database import rows_of
from tasks.store.journal import Line
from tasks.store.keys import kept_key
from tasks.store.ledger import salvaged
from tasks.store.rows import scope_of, tombstone_from
from tasks.store.view import View, current

DECISIVE: Final = (TombstoneKind.REJECTED, TombstoneKind.VETO, TombstoneKind.FORGOTTEN)
"""Kinds that hold on either side of a restore. An edit does not: going back undoes it."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A unit that is kept from readers until the person decides, and what was asked."""

    verb: str
    unit: str
    unit_id: str
    scope: Scope


@dataclass(slots=True)
class Decided:
    """What was decided in a home, and what else was said since its last fold.

    Attributes:
        key: of the digests; None when it cannot be read.
        began: when the first record was made, by which a home is known again; "" if unreadable.
        stones: tombstones that bind whoever restores.
        lines: decisions that no night has folded; `said`: ids of the other lines that none has.
        withheld: what waits for the person to decide, by its id: another asked to take it out.
        folded: journal segment -> bytes folded.
        sources: parts that could be read; `damaged`: those that could not, with the reason.
    """

    key: bytes | None
    began: str = ""
    records: int = 0
    stones: dict[str, Tombstone] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    withheld: dict[str, Withheld] = field(default_factory=dict)
    folded: dict[str, int] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    @property
    def unreadable(self) -> bool:
        """Tell whether decisions may be lost with what could not be read."""
        return bool(self.damaged) and not self.sources


def has_memory(places: Places) -> bool:
    """Tell whether anything is remembered in a home, in whatever state."""
    folders = (places.ledger, places.journal, places.journal / "applied")
    said = any(map(segments, folders))
    return said or places.store.exists() or (places.view / "current").exists()


def decided_in(places: Places) -> Decided:
    """Return what was decided in a home; opens nothing for writing and repairs nothing.

    Raises:
        HomeUnreadable: when the journal cannot be read: nothing else has its decisions.
    """
    found = Decided(kept_key(places.keys))
    try:
        _from_ledger(places, found)
    except HomeUnreadable as error:
        found.damaged.append(str(error))
    _from_store(places, found)
    _from_view(places, found)
    for line in _said(places, found):
        _take(found, line)
    for stone in found.stones.values():
        found.withheld.pop(stone.unit_id, None)
    return found


def _take(found: Decided, line: Line) -> None:
    """Take in a line that no night has folded; later lines settle what earlier ones asked."""
    unit_id = line.body.get("unit_id", "") if line.op == "decide" else ""
    if journal.is_decision(line):
        found.lines.append(line)
        found.withheld.pop(unit_id, None)
    elif unit_id and line.actor not in journal.DECIDERS:
        body = line.body
        found.withheld[unit_id] = Withheld(body["verb"], body["unit"], unit_id, line.scope)
    else:
        found.said.append(line.id)
        found.withheld.pop(unit_id, None)


def _said(places: Places, found: Decided) -> Iterator[Line]:
    """Yield what no night has folded, and all that was ever said where the ledger is damaged."""
    folders = [places.journal, *([places.journal / "applied"] if found.damaged else [])]
    offsets = {} if found.damaged else found.folded
    for folder in folders:
        for read in journal.unfolded(folder, offsets):
            yield from read.lines


def _from_ledger(places: Places, found: Decided) -> None:
    if not segments(places.ledger):
        if _had_nights(places):
            found.damaged.append(f"{places.ledger} is empty")
        return
    last = 0
    whole = True
    for record in salvaged(places.ledger):
        if record is None or record.tx != last + 1:
            whole = False
        if record is not None:
            last = record.tx
            found.records += 1
            found.began = found.began or record.at
            _merge(found.folded, record.journal)
            _keep(found, (op for op in record.ops if op["op"] == "tombstone"))
    if whole:
        found.sources.append("ledger")
    else:
        found.damaged.append(f"{places.ledger} is damaged")


def _had_nights(places: Places) -> bool:
    """Tell whether records were ever made here: a note alone makes none."""
    applied = segments(places.journal / "applied")
    return bool(applied) or places.store.exists() or (places.view / "current").exists()


def _merge(folded: dict[str, int], more: Mapping[str, int]) -> None:
    for segment, length in more.items():
        folded[segment] = max(folded.get(segment, 0), length)


def _from_store(places: Places, found: Decided) -> None:
    if not places.store.exists():
        return
    try:
        _keep(found, rows_of(places.store, "tombstones"))
        for row in rows_of(places.store, "journal_offsets"):
            _merge(found.folded, {row["segment"]: row["bytes"]})
        found.sources.append("store")
    except StoreError as error:
        found.damaged.append(str(error))


def _from_view(places: Places, found: Decided) -> None:
    try:
        view = current(places.view)
        if view is not None:
            _keep(found, view.listed("tombstones"))
            _await(found, view)
            found.sources.append("view")
    except EverestError as error:
        found.damaged.append(str(error))


def _await(found: Decided, view: View) -> None:
    for row in view.listed("asked"):
        found.withheld[row["id"]] = Withheld("reject", "episode", row["id"], scope_of(row))
    for row in view.listed("lessons"):
        if row["trust"] == Trust.DISPUTED and row["lifecycle"] == Lifecycle.LIVE:
            asked = Withheld("reject", "lesson", row["lesson_id"], scope_of(row))
            found.withheld[asked.unit_id] = asked


def _keep(found: Decided, rows: Iterable[Mapping[str, Any]]) -> None:
    for stone in _decisive(rows):
        found.stones.setdefault(stone.id, stone)


def _decisive(rows: Iterable[Mapping[str, Any]]) -> Iterator[Tombstone]:
    for row in rows:
        stone = tombstone_from(dict(row))
        if stone.kind in DECISIVE:
            yield stone
