"""The two lists under our home: `lessons.jsonl`, the wire format, and `vetoed.json`, the vetoes.

Invariant: each is derived whole from the plan; nobody reads them back as a source.
"""

from __future__ import annotations

import json
from pathlib import Path

from tasks.domain.clock import iso
from tasks.domain.units import Lesson, Tombstone, TombstoneKind
from tasks.durable import swap_file
from tasks.errors import WriteFailed
from tasks.render.plan import RenderPlan, renderable

WIRE_VERSION = 1


def write_listings(plan: RenderPlan) -> list[WriteFailed]:
    """Write both lists where they changed; return what the disk refused."""
    failed: list[WriteFailed] = []
    for path, text in (
        (plan.places.lessons, lessons_jsonl(plan.lessons)),
        (plan.places.vetoed, vetoed_json(plan.tombstones)),
    ):
        try:
            write_if_new(path, text)
        except WriteFailed as error:
            failed.append(error)
    return failed


def lessons_jsonl(lessons: tuple[Lesson, ...]) -> str:
    """Return the lessons in use, one JSON object a line, sorted by id."""
    usable = sorted((x for x in lessons if renderable(x)), key=lambda x: x.id)
    return "".join(json.dumps(_wire(x), ensure_ascii=False) + "\n" for x in usable)


def vetoed_json(tombstones: tuple[Tombstone, ...]) -> str:
    """Return the standing vetoes: which lesson, in which scope, since when and why."""
    vetoes = sorted(
        (x for x in tombstones if x.kind is TombstoneKind.VETO), key=lambda x: (x.at, x.id)
    )
    listed = [
        {
            "lesson": x.unit_id,
            "scope": list(x.scope.keys()),
            "at": iso(x.at),
            "reason": x.reason,
            "tombstone": x.id,
        }
        for x in vetoes
    ]
    return json.dumps({"v": 1, "vetoed": listed}, ensure_ascii=False, indent=1) + "\n"


def write_if_new(path: Path, text: str) -> bool:
    """Swap a file in unless it says so already; tell whether it was written.

    Raises:
        WriteFailed: when the disk refuses.
    """
    data = text.encode()
    if path.is_file() and path.read_bytes() == data:
        return False
    swap_file(path, data)
    return True


def _wire(lesson: Lesson) -> dict[str, object]:
    return {
        "v": WIRE_VERSION,
        "id": lesson.id,
        "hash": lesson.hash,
        "text": lesson.text,
        "kind": lesson.kind.value,
        "scope": list(lesson.scope.keys()),
        "trust": lesson.trust.value,
        "valid_from": iso(lesson.valid_from),
        "valid_until": None if lesson.valid_until is None else iso(lesson.valid_until),
        "seen": lesson.seen,
        "origin": lesson.origin,
    }
