"""What would tell a held-out conversation a lesson, and what would not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from tasks.domain.events import Event, EventKind, Role
from tasks.prime import Lessons, profile_of
from tasks.taught import untaught

GIST = "pnpm, not npm. I said so: we always use pnpm in this repo."


def lessons(trust: str = "corroborated") -> Lessons:
    row: dict[str, Any] = {
        "id": "a",
        "kind": "correction",
        "trust": trust,
        "text": "We always use pnpm in this repo.",
        "gist": GIST,
    }
    return Lessons((row,), (profile_of(row, {}),), np.zeros((1, 0), dtype=np.float32))


def event(text: str, kind: EventKind, role: Role = Role.USER) -> Event:
    at = datetime(2026, 3, 4, tzinfo=UTC)
    return Event(kind, text, role, "p-1", "", "m", "s", at, text)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (event(GIST, EventKind.CORRECTION), False),
        (event("No! Always use PNPM in this repo", EventKind.CORRECTION), False),
        (event("The mast is too long.", EventKind.CORRECTION), True),
        (event("Now then. We always use pnpm in this repo!", EventKind.TURN), False),
        (event("Install what is missing with pnpm, in this repo.", EventKind.TURN), True),
        (event("We always use pnpm in this repo.", EventKind.TURN, Role.ASSISTANT), True),
        (event("pnpm publish", EventKind.DEPLOY, Role.NONE), True),
    ],
)
def test_what_tells_the_lesson_is_left_out(one: Event, told: bool) -> None:  # noqa: FBT001
    assert untaught([one], [lessons()]) == ([one] if told else [])


def test_what_could_not_be_shown_anyway_leaves_nothing_out() -> None:
    said = event(GIST, EventKind.CORRECTION)
    assert untaught([said], [lessons(trust="candidate")]) == [said]
    assert untaught([said], []) == [said]
