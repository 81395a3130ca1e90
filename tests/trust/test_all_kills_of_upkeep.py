"""The kill matrix, upkeep: killed once at each of many steps, then run again to its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.trust.kills import KILLS, UPKEEP, Bench, Scenario

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

_LEAST: Final = 210
_PARTS: Final = 5
_POINTS: Final = {
    "backup": 5,
    "rebuild": 25,
    "compact": 7,
    "forget": 24,
    "restore": 30,
    "first ingest": 30,
    "ingest": 30,
    "render": 25,
    "sleep": 25,
}
"""How many steps to kill each at, evenly spread; the first of each name comes to them."""


@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize("scenario", UPKEEP, ids=lambda one: one.name)
def test_a_kill_changes_nothing_in_the_end(
    bench: Bench, scenario: Scenario, part: int, record_property: Callable[[str, Any], None]
) -> None:
    numbers = bench.points(scenario, _POINTS[scenario.name])[part::_PARTS]
    record_property(KILLS, len(numbers))
    assert bench.all_wrong(scenario, numbers) == []


def test_there_were_enough_kills(bench: Bench) -> None:
    assert len(bench.kills) >= _LEAST
