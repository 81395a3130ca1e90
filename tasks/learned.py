"""The lessons that stand: as published, less what was taken out since, in its newest wording."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tasks.domain.scope import Scope
from tasks.domain.units import RECALLABLE, Lifecycle
from tasks.memory import Memory
from tasks.store.rows import scope_of


def standing(memory: Memory, scopes: Collection[Scope]) -> list[dict[str, Any]]:
    """Return the lessons of some scopes that stand, in the order of `listed`.

    A row gains `id` and `at`, by which a unit's row of the view goes.
    """
    rows = [row for row in listed(memory, scopes) if stands(memory, row)]
    return [
        {
            **row,
            "id": row["lesson_id"],
            "at": row["valid_from"],
            "text": memory.overlay.replaced.get(row["lesson_id"], row["text"]),
        }
        for row in rows
    ]


def listed(memory: Memory, scopes: Collection[Scope]) -> list[dict[str, Any]]:
    """Return every lesson of some scopes, those rejected and retired too.

    They come by project, those seen in most sessions first.
    """
    rows = memory.view.listed("lessons") if memory.view else []
    chosen = [row for row in rows if scope_of(row) in scopes]
    return sorted(
        chosen, key=lambda row: (row["project_id"], -len(row["sessions"]), row["lesson_id"])
    )


def stands(memory: Memory, row: dict[str, Any]) -> bool:
    """Tell whether a lesson may be used: neither rejected nor disputed, retired or taken out."""
    usable = row["trust"] in RECALLABLE and row["lifecycle"] == Lifecycle.LIVE
    return usable and row["lesson_id"] not in memory.overlay.hidden
