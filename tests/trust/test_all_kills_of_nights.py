"""The kill matrix, nights: killed once at each of many steps, then run again to its end."""

from __future__ import annotations

from typing import Final

import pytest

from tests.trust.kills import NIGHTS, Bench, Scenario

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]

_LEAST: Final = 180
_PARTS: Final = 6
_POINTS: Final = {"first night": 60, "second night": 90, "night after a power cut": 40}
"""About how many steps to kill each at, evenly spread; the first of each name is one of them."""


@pytest.fixture(scope="module")
def killed() -> set[tuple[str, int]]:
    """Give the scenarios and steps that were killed at."""
    return set()


@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize("scenario", NIGHTS, ids=lambda one: one.name)
def test_a_kill_changes_nothing_in_the_end(
    bench: Bench, scenario: Scenario, part: int, killed: set[tuple[str, int]]
) -> None:
    unkilled = bench.unkilled(scenario)
    found = []
    for number in unkilled.spread(_POINTS[scenario.name])[part::_PARTS]:
        killed.add((scenario.name, number))
        found += [
            f"{scenario.name}, step {number} ({unkilled.steps[number - 1]}): {wrong}"
            for wrong in bench.killed(scenario, number)
        ]
    assert found == []


def test_there_were_enough_kills(
    killed: set[tuple[str, int]], record_property: pytest.RecordProperty
) -> None:
    record_property("kills", len(killed))
    assert len(killed) >= _LEAST
