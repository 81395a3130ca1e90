"""Killed at every kind of step, one after the other: each next run goes on, and nothing is lost.

Every command is killed again and again at the first step of each name that no other test was
killed at, with no repair in between. `test_all_kills_*` kill once at each of hundreds of steps.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final, get_args

import pytest

from tasks.sleep.run import PASSES
from tasks.waypoints import Waypoint
from tests.trust.kills import KILLED, NIGHTS, UPKEEP, Bench, Scenario, name_of

_QUICKEST: Final = (
    "backup",
    "rebuild",
    "compact",
    "forget",
    "restore",
    "first ingest",
    "second night",
)
"""Those that between them come by every step, the quickest first; the power cut's come after."""
_CHAINS: Final = (
    *(one for name in _QUICKEST for one in (*UPKEEP, *NIGHTS) if one.name == name),
    NIGHTS[-1],
)
_REPOSITORY: Final = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def died_at() -> set[str]:
    """Give the names of the steps that some command of this module was killed at."""
    return set()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("scenario", _CHAINS, ids=lambda one: one.name)
def test_killed_again_and_again_it_comes_to_the_same(
    bench: Bench, scenario: Scenario, died_at: set[str]
) -> None:
    names = [name for name in bench.unkilled(scenario).first_of_each() if name not in died_at]
    bench.put(scenario.start)
    for name in names:
        died_at.add(_killed_at(bench, scenario, name))
    assert bench.wrong_after(scenario) == []


def _killed_at(bench: Bench, scenario: Scenario, name: str) -> str:
    """Kill the act at the first step of a name; begin anew if what is left does not come by it."""
    ended = bench.act(scenario, die_on=name)
    if ended.code in scenario.again:
        bench.put(scenario.start)
        ended = bench.act(scenario, die_on=name)
    assert ended.code == KILLED, f"{name}: {ended.code} {ended.err}"
    assert name_of(ended.steps[-1]) == name
    return name


def test_every_name_in_the_code_is_known_and_was_killed_at(died_at: set[str]) -> None:
    """A step that no scenario comes by needs one that does."""
    known = set(get_args(Waypoint))
    assert _passed_in_the_code() == known
    if died_at:  # the kills above ran in this process
        assert {name.split()[0] for name in died_at} == known
        assert {name.split()[-1] for name in died_at if name.startswith("pass.")} == set(PASSES)


def _passed_in_the_code() -> set[str]:
    found = set()
    for path in _REPOSITORY.joinpath("tasks").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name("passing"), args=[ast.Constant(str(name)), *_]):
                    found.add(name)
    return found
