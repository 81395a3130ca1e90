"""The names of steps: told to an observer that a program sets, and to nobody otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.durable import swap_file
from tasks.waypoints import observe, passing


@pytest.fixture
def told() -> Iterator[list[tuple[str, str]]]:
    """Give what an observer is told while the test runs."""
    steps: list[tuple[str, str]] = []
    observe(lambda name, detail: steps.append((name, detail)))
    yield steps
    observe(None)


def test_an_observer_is_told_of_each_step_in_order(
    told: list[tuple[str, str]], tmp_path: Path
) -> None:
    swap_file(tmp_path / "lessons.jsonl", b"{}")
    assert told == [
        (name, "lessons.jsonl")
        for name in ("swap.written", "swap.synced", "swap.renamed", "swap.named")
    ]


def test_nobody_is_told_when_it_is_over(told: list[tuple[str, str]]) -> None:
    passing("fold.read")
    observe(None)
    passing("fold.committed")
    assert told == [("fold.read", "")]


def test_no_variable_of_the_environment_is_read() -> None:
    """Whatever the environment holds, a process that set no observer has none."""
    reading = "import os; os.environ = None; os.getenv = None; import tasks.waypoints as w; "
    done = subprocess.run(
        [sys.executable, "-c", reading + "w.passing('fold.read'); print(w._Watch.observer)"],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONPATH": ".", "EVEREST_WAYPOINTS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "None"
