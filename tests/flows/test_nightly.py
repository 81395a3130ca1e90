"""The night under a real Prefect server: the same body, its runs and tasks in the history."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.prefect_server import Server, until
from tests.serving.shipped import Everest

pytestmark = [pytest.mark.prefect, pytest.mark.timeout(300)]

WORDS = "don't mock the database"
STEPS = ["fold", "reconcile", "ingest", "embed", "decay", "lessons", "merge", "verify", "predict"]
STEPS += ["measure", "publish", "render", "morning"]


def test_a_night_stands_in_the_history_with_every_step_and_no_words(
    prefect_server: Server, tmp_path: Path
) -> None:
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))

    before = _ids(prefect_server)

    told = person("night", "--json", **prefect_server.env)

    assert told.code == 0, told.err
    assert told.data["learned"]
    (run,) = [run for run in prefect_server.runs() if run["id"] not in before]
    assert run["state"]["type"] == "COMPLETED"
    ours = {"flow_runs": {"id": {"any_": [run["id"]]}}}
    tasks = until(lambda: _all_of_them(prefect_server.asks("/task_runs/filter", **ours)))
    assert [task["state"]["type"] for task in tasks] == ["COMPLETED"] * len(STEPS)
    assert {task["name"] for task in tasks} == set(STEPS)
    assert any(WORDS in lesson["text"].lower() for lesson in told.data["learned"])
    folder = prefect_server.home.folder
    assert not _holds(folder, WORDS), "memory text reached Prefect's database"
    assert _holds(folder, "nightly"), "the search finds what is there"


def test_the_flow_file_runs_as_it_is(prefect_server: Server, tmp_path: Path) -> None:
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))
    before = _ids(prefect_server)

    told = person.run([sys.executable, "-m", "flows.nightly"], **prefect_server.env)

    assert told.code == 0, told.err
    assert person("lessons", "--json").data
    assert len(_ids(prefect_server) - before) == 1


def test_a_night_runs_without_a_server_that_does_not_answer_and_says_so(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))

    told = person("night", PREFECT_API_URL="http://127.0.0.1:9/api")

    assert told.code == 0
    assert "does not answer" in told.err
    assert person("lessons", "--json").data


def test_another_machine_is_not_reported_to_unasked(tmp_path: Path) -> None:
    told = Everest(tmp_path)("night", PREFECT_API_URL="http://prefect.example.org/api")

    assert told.code == 2
    assert "EVEREST_PREFECT_REMOTE=yes" in told.err


def _ids(server: Server) -> set[str]:
    return {run["id"] for run in server.runs()}


def _all_of_them(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tasks once the server, which writes them down later, has them all as ended."""
    ended = [task for task in tasks if task["end_time"]]
    return ended if len(ended) == len(STEPS) else []


def _holds(folder: Path, words: str) -> bool:
    files = (path for path in folder.rglob("*") if path.is_file())
    return any(words.encode() in path.read_bytes().lower() for path in files)
