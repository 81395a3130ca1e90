"""What a watched run leaves behind: its name, artifacts without words, the truth on failures."""

from __future__ import annotations

import base64
import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tasks.domain.ran import Outcome
from tasks.runs import known_runs
from tests.prefect_server import Server, running_server, until
from tests.serving.shipped import Everest
from tests.store.build import home_in

pytestmark = [pytest.mark.prefect, pytest.mark.timeout(300)]

KEYS = {"night-counts": "table", "night-summary": "markdown", "night-plot": "markdown"}


@pytest.fixture(scope="module")
def night(
    prefect_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Everest, dict[str, Any], dict[str, Any]]:
    """Run a night and every other flow; give the person, the night's report and its run."""
    person = Everest(tmp_path_factory.mktemp("watched"))
    person.works_a_week(datetime.now(UTC))
    told = person("night", "--json", **prefect_server.env)
    assert told.code == 0, told.err
    (run, *_) = prefect_server.runs("nightly")
    return person, told.data, run


def artifacts(server: Server, **of: Any) -> dict[str, dict[str, Any]]:
    found = server.asks("/artifacts/filter", sort="CREATED_DESC", **of)
    return {one["key"]: one for one in reversed(found)}


def of_run(run: dict[str, Any]) -> dict[str, Any]:
    return {"artifacts": {"flow_run_id": {"any_": [run["id"]]}}}


def test_a_run_is_named_for_its_flow_and_its_local_minute_and_tagged(night: Any) -> None:
    _, _, run = night
    assert re.fullmatch(r"nightly \d{4}-\d\d-\d\d \d\d:\d\d", run["name"])
    assert run["tags"] == ["everest"]


def test_a_night_leaves_its_counts_a_summary_and_a_picture(
    prefect_server: Server, night: Any
) -> None:
    person, report, run = night
    left = artifacts(prefect_server, **of_run(run))
    assert {key: one["type"] for key, one in left.items()} == KEYS
    rows = {row["what"]: row["number"] for row in json.loads(left["night-counts"]["data"])}
    assert rows["lessons learned"] == len(report["learned"]) > 3
    assert rows["records read"] == report["ingested"]["read"] > 100
    summary = left["night-summary"]["data"]
    assert (person.home / "morning.md").as_uri() in summary
    assert report["learned"][0]["id"][:16] in summary
    picture = re.search(r"data:image/svg\+xml;base64,([^)]+)\)", left["night-plot"]["data"])
    assert picture
    words = "".join(ET.fromstring(base64.b64decode(picture[1])).itertext())
    assert "ingest" in words
    assert "morning" not in words, "the last stage has not ended when the report is made"


def test_the_log_of_a_night_tells_what_each_step_came_to(
    prefect_server: Server, night: Any
) -> None:
    _, report, run = night
    of_it = {"flow_run_id": {"any_": [run["id"]]}}
    logged = until(
        lambda: (
            (found if any(one.startswith("Finished in state") for one in found) else None)
            if (
                found := [
                    one["message"]
                    for one in prefect_server.asks("/logs/filter", logs=of_it, sort="TIMESTAMP_ASC")
                ]
            )
            else None
        )
    )
    told = [one.partition(": ") for one in logged if re.match(r"[a-z]+: ", one)]
    assert [name for name, _, _ in told] == [stage["name"] for stage in report["stages"]] + [
        "morning"
    ]
    numbers = {name: rest for name, _, rest in told}
    assert f"changed {report['ingested']['changed']}" in numbers["ingest"]
    assert f"learned {len(report['learned'])}" in numbers["morning"]
    assert sum("Finished in state" in one for one in logged) == 1, "the run's own"


def test_a_night_that_changed_nothing_says_so_though_its_days_report_tells_of_the_first(
    prefect_server: Server, night: Any
) -> None:
    person, first, run = night
    told = person("night", "--json", **prefect_server.env)
    assert told.code == 0, told.err
    assert told.data["ingested"]["changed"] == first["ingested"]["changed"] > 0
    assert len(told.data["learned"]) == len(first["learned"])
    assert "alone" not in told.data
    (again, *_) = prefect_server.runs("nightly")
    assert again["id"] != run["id"]
    left = artifacts(prefect_server, **of_run(again))
    rows = {row["what"]: row["number"] for row in json.loads(left["night-counts"]["data"])}
    assert rows["transcripts that changed"] == rows["lessons learned"] == rows["bets made"] == 0
    assert rows["transcripts"] == first["ingested"]["files"]
    assert "0 transcripts of" in left["night-summary"]["data"]


def test_artifacts_hold_no_word_of_the_memory(prefect_server: Server, night: Any) -> None:
    _, report, run = night
    kept = "".join(str(one["data"]) for one in artifacts(prefect_server, **of_run(run)).values())
    drawn = re.findall(r"base64,([^)]+)\)", kept)
    kept += "".join(base64.b64decode(one).decode() for one in drawn)
    said = [lesson[field] for lesson in report["learned"] for field in ("text", "quote")]
    assert len(said) > 6
    assert not [words for words in said if words in kept]
    assert all(lesson["id"][:16] in kept for lesson in report["learned"]), "the search finds"


@pytest.mark.parametrize("command", ["ingest", "render", "rebuild", "compact"])
def test_every_other_flow_goes_there_too_and_leaves_a_table(
    prefect_server: Server, night: Any, command: str
) -> None:
    person, _, _ = night
    told = person(command, "--json", **prefect_server.env)
    assert told.code == 0, told.err
    assert told.data
    (run, *_) = prefect_server.runs(command)
    left = artifacts(prefect_server, **of_run(run))
    assert list(left) == [f"{command}-counts"]
    assert all(
        isinstance(row["number"], int) for row in json.loads(left[f"{command}-counts"]["data"])
    )


def test_a_quiet_command_says_nothing_there_either(prefect_server: Server, tmp_path: Path) -> None:
    person = Everest(tmp_path)
    told = person("ingest", "--quiet", **prefect_server.env)
    assert (told.code, told.out, told.err) == (0, "", "")
    assert (
        known_runs(person.home / "runs.jsonl")[0].key.id == prefect_server.runs("ingest")[0]["id"]
    )


def test_an_error_of_ours_shows_no_stack_there_either(
    prefect_server: Server, tmp_path: Path, night: Any
) -> None:
    person, _, _ = night
    there = tmp_path / "there.tar.gz"
    there.touch()

    told = person("backup", str(there), **prefect_server.env)

    assert told.code == 2
    assert "it is there already; name another" in told.err
    assert "Traceback" not in told.err
    (run, *_) = prefect_server.runs("backup")
    of_it = {"flow_run_id": {"any_": [run["id"]]}}
    logged = until(
        lambda: [
            one["message"]
            for one in prefect_server.asks("/logs/filter", logs=of_it)
            if "it is there already" in one["message"]
        ],
        lambda: told.err,
    )
    assert not [message for message in logged if "Traceback" in message]


def test_a_run_that_finds_the_store_held_is_told_in_the_next_report(
    prefect_server: Server, night: Any
) -> None:
    person, _, _ = night
    with home_in(person.home).opened():
        told = person("ingest", EVEREST_LOCK_WAIT="0", **prefect_server.env)
    assert told.code == 4
    assert "is being written by" in told.err
    failed = [run for run in known_runs(person.home / "runs.jsonl") if run.went_wrong]
    assert [(run.key.flow, run.outcome, run.error) for run in failed] == [
        ("ingest", Outcome.FAILED, "StoreLocked")
    ]
    problems = person("night", "--json").data["problems"]
    assert len([one for one in problems if "The ingest of" in one]) == 1


@pytest.mark.slow
def test_a_server_that_is_killed_in_the_middle_costs_no_night(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))
    with running_server(tmp_path / "served") as server:
        running = person.start("night", **server.env)
        assert running.stderr
        for line in running.stderr:
            if b" - fold: " in line:
                break
        server.kill()
        out, err = running.communicate(timeout=120)
    assert running.returncode == 0, err[-2000:]
    assert b"learned" in out
    (run,) = known_runs(person.home / "runs.jsonl")
    assert run.outcome is Outcome.COMPLETED
    assert run.remark == "3 tables or pictures of it did not reach Prefect"
    (problem,) = person("night", "--json").data["problems"]
    assert "completed, but 3 tables or pictures" in problem


def test_a_flow_file_without_prefect_tells_its_error_in_a_line(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    for flow in ("nightly", "ingest", "sleep", "render", "measure", "rebuild"):
        told = person.run([sys.executable, "-m", f"flows.{flow}"], EVEREST_TIMEZONE="Nowhere/No")
        assert (told.code, told.out) == (2, "")
        assert told.err.startswith("everest: EVEREST_TIMEZONE: ")
        assert told.err.count("\n") == 1


_STUMBLES = """
from tasks.compose import setting
from tasks.errors import Refused
from tasks.night import opened
from tasks.orchestrated import flow, this_run

def in_a_task(run):
    raise ValueError("heirloom-of-a-task")

def refused(run):
    raise Refused("heirloom-of-ours", "nothing")

@flow("stumbling")
def stumbling(where):
    with opened(setting(), this_run("stumbling")) as run:
        if where == "flow":
            raise ValueError("heirloom-of-a-flow")
        from tasks import orchestration

        step = refused if where == "ours" else in_a_task
        orchestration.as_task([], "stumble", step)(run)

for where in ("flow", "task", "ours"):
    try:
        stumbling(where)
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_words_of_an_error_that_is_not_ours_do_not_reach_prefect(
    prefect_server: Server, tmp_path: Path
) -> None:
    person = Everest(tmp_path)
    told = person.run([sys.executable, "-c", _STUMBLES], **prefect_server.env)
    assert told.out.splitlines() == [
        "ValueError heirloom-of-a-flow",
        "ValueError heirloom-of-a-task",
        "Refused refused: heirloom-of-ours; nothing",
    ], "whoever runs it is told"
    runs = prefect_server.runs("stumbling")
    assert [run["state_type"] for run in runs] == ["FAILED"] * 3
    assert "Refused: refused: heirloom-of-ours" in runs[0]["state"]["message"]
    assert all("ValueError: its own words" in run["state"]["message"] for run in runs[1:])
    of_them = {"flow_run_id": {"any_": [run["id"] for run in runs]}}
    logged = until(
        lambda: (
            (
                found
                if sum("Finished in state Failed" in one for one in found) == 5  # flows and tasks
                else None
            )
            if (found := [x["message"] for x in prefect_server.asks("/logs/filter", logs=of_them)])
            else None
        ),
        lambda: told.err,
    )
    assert any("in in_a_task" in one for one in logged), "where it happened is there"
    files = list(prefect_server.home.folder.glob("prefect.db*"))
    stored = b"".join(one.read_bytes() for one in files)
    assert b"heirloom-of-ours" in stored
    assert b"heirloom-of-a-" not in stored
    ends = [(run.error, run.why) for run in known_runs(person.home / "runs.jsonl")]
    assert ends == [
        ("ValueError", ""),
        ("ValueError", ""),
        ("Refused", "refused: heirloom-of-ours; nothing"),
    ]
