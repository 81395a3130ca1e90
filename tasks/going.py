"""What a forgetting would take: the unit, what it rests on, and the lessons that rest on any of it.

Invariant: it names what the gateway erases (`tasks/store/burials.py`), as far as readers know it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.memory import Found, Memory
from tasks.store.rows import scope_of


def going(memory: Memory, found: Found) -> list[dict[str, Any]]:
    """Return the rows that would go with a unit: itself, then its sources, then further lessons.

    A source that readers do not have, since it was taken out before, is not among them.

    Args:
        memory: the reading.
        found: the unit.
    """
    known = {row["id"]: row for row in _episodes(memory, found)}
    of_unit = [known[one] for one in found.row["sources"] if one in known]
    erased = {found.row["id"], *found.row["sources"]}
    further = [
        row
        for row in _lessons(memory, found)
        if row["id"] not in erased and not erased.isdisjoint(row["sources"])
    ]
    return [found.row, *of_unit, *further]


def _episodes(memory: Memory, found: Found) -> Iterator[dict[str, Any]]:
    shelf = memory.view.scope(found.scope) if memory.view else None
    for row in shelf.rows if shelf else ():
        if row["unit"] == "passage":  # units come first
            return
        if row["unit"] != "lesson":
            yield row


def _lessons(memory: Memory, found: Found) -> Iterator[dict[str, Any]]:
    for row in memory.view.listed("lessons") if memory.view else ():
        if scope_of(row) == found.scope:
            yield {**row, "id": row["lesson_id"], "at": row["valid_from"], "unit": "lesson"}
