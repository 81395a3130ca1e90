"""Killed at every kind of step, one after the other: each next run goes on, and nothing is lost.

`test_all_kills_*` kill once at each of hundreds of steps, each time from the start.
"""

from __future__ import annotations

import ast
import json
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
    "night after a power cut",
)
"""Those that between them come by every step, the quickest first."""
_BY_NAME: Final = {one.name: one for one in (*UPKEEP, *NIGHTS)}
_OF_ONE_KIND: Final = {"first night", "night after a power cut", "first ingest", "sleep"}
"""Those that come by the steps that another comes by, too."""
_SAMPLE: Final = [
    pytest.param(one, id=name, marks=[pytest.mark.slow] if name in _OF_ONE_KIND else [])
    for name, one in _BY_NAME.items()
]
_REPOSITORY: Final = Path(__file__).parents[2]
_NEWER: Final = "tests.trust.material:opened_by_a_newer_release"


@pytest.mark.parametrize("scenario", _SAMPLE)
def test_killed_at_three_kinds_of_step_it_comes_to_the_same(
    bench: Bench, scenario: Scenario
) -> None:
    names = list(bench.unkilled(scenario).first_of_each())
    chosen = [names[len(names) * part // 4] for part in (1, 2, 3)]
    assert bench.in_turn(scenario, chosen) == []


@pytest.fixture(scope="module")
def died_at() -> set[str]:
    """Give the names of the steps that some command of this module was killed at."""
    return set()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", _QUICKEST)
def test_killed_at_every_kind_of_step_it_comes_to_the_same(
    bench: Bench, name: str, died_at: set[str]
) -> None:
    scenario = _BY_NAME[name]
    names = [one for one in bench.unkilled(scenario).first_of_each() if one not in died_at]
    assert bench.in_turn(scenario, names) == []
    died_at.update(names)


def test_a_change_of_schema_that_is_killed_is_made_by_the_next_opening(
    bench: Bench, died_at: set[str]
) -> None:
    bench.put("after a night")
    digest = bench.did("status", "--digest").out.splitlines()[-1]
    for name in ("open.kept", "open.migrated"):
        bench.put("after a night")
        ended = bench.run(function=_NEWER, die_on=name)
        assert ended.code == KILLED, ended.err
        assert name_of(ended.steps[-1]) == name
        died_at.add(name)
        assert json.loads(bench.did(function=_NEWER).out) == digest
        assert len(list(bench.person.home.glob("backups/*.tar.gz"))) == 1
        assert not list(bench.person.home.glob("backups/.*"))


def test_every_name_in_the_code_is_known() -> None:
    assert _passed_in_the_code() == set(get_args(Waypoint))


@pytest.mark.slow
def test_every_name_was_killed_at(died_at: set[str]) -> None:
    """A step that no scenario comes by needs one that does; the kills are those of this module."""
    assert {name.split()[0] for name in died_at} == set(get_args(Waypoint))
    assert {name.split()[-1] for name in died_at if name.startswith("pass.")} == set(PASSES)


def _passed_in_the_code() -> set[str]:
    found = set()
    for path in _REPOSITORY.joinpath("tasks").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name("passing"), args=[ast.Constant(str(name)), *_]):
                    found.add(name)
    return found
