"""The night under a real Prefect server: the same body, its runs and tasks in the history."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from tests.serving.shipped import Everest

pytestmark = [pytest.mark.prefect, pytest.mark.timeout(300)]

WORDS = "don't mock the database"
STEPS = ["fold", "reconcile", "ingest", "embed", "decay", "lessons", "merge", "verify", "predict"]
STEPS += ["measure", "publish", "render", "morning"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Start a Prefect server of our own; give its API and its home."""
    home = tmp_path_factory.mktemp("prefect")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    api = f"http://127.0.0.1:{port}/api"
    env = os.environ | {
        "DO_NOT_TRACK": "1",
        "PREFECT_API_URL": api,
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_UI_ENABLED": "false",
    }
    log = (home / "server.log").open("wb")
    command = [str(Path(sys.executable).with_name("prefect")), "server", "start"]
    process = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait_for(api, home)
        yield api, home
    finally:
        os.killpg(process.pid, 15)
        process.wait(30)
        log.close()


def _wait_for(api: str, home: Path) -> None:
    deadline = time.monotonic() + 150
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{api}/health", timeout=2).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.5)
    pytest.fail((home / "server.log").read_text("utf-8", "replace")[-2000:])


def test_a_night_stands_in_the_history_with_every_step_and_no_words(
    server: tuple[str, Path], tmp_path: Path
) -> None:
    api, prefect_home = server
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))

    told = person("night", "--json", PREFECT_API_URL=api)

    assert told.code == 0, told.err
    assert told.data["learned"]
    runs = httpx.post(f"{api}/flow_runs/filter", json={}).json()
    assert [run["state"]["type"] for run in runs] == ["COMPLETED"]
    tasks = httpx.post(f"{api}/task_runs/filter", json={"sort": "ID_DESC"}).json()
    assert sorted(task["state"]["type"] for task in tasks) == ["COMPLETED"] * len(STEPS)
    assert {task["name"].rpartition("-")[0] for task in tasks} == set(STEPS)
    assert any(WORDS in lesson["text"].lower() for lesson in told.data["learned"])
    assert not _holds(prefect_home, WORDS), "memory text reached Prefect's database"
    assert _holds(prefect_home, "nightly"), "the search finds what is there"


def test_the_flow_file_runs_as_it_is(server: tuple[str, Path], tmp_path: Path) -> None:
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))

    told = person.run([sys.executable, "-m", "flows.nightly"], PREFECT_API_URL=server[0])

    assert told.code == 0, told.err
    assert person("lessons", "--json").data


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


def _holds(folder: Path, words: str) -> bool:
    files = (path for path in folder.rglob("*") if path.is_file())
    return any(words.encode() in path.read_bytes().lower() for path in files)
