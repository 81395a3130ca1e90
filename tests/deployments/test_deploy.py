"""`everest deploy` and a worker, against the real server."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from deployments import prefect_yaml
from deployments.table import TABLE
from tests.prefect_server import Server
from tests.serving.shipped import Everest, Told

pytestmark = [pytest.mark.prefect, pytest.mark.timeout(300)]

ZONE = "Europe/Berlin"


@pytest.fixture(scope="module")
def person(prefect_server: Server) -> Everest:
    """Give the person whose server it is."""
    return Everest(prefect_server.home.folder.parents[1])


@pytest.fixture(scope="module")
def deployed(person: Everest) -> Told:
    """Deploy once for the tests of this file."""
    told = person("deploy", EVEREST_TIMEZONE=ZONE)
    assert told.code == 0, told.err
    return told


def _at_the_checkout(person: Everest) -> Everest:
    there = Everest(person.base)
    there.cwd = prefect_yaml.FILE.parent
    return there


def _differences(server: Server, wanted: dict[str, Any]) -> list[str]:
    return list(prefect_yaml.differences(wanted, server.asks("/deployments/filter"), ZONE))


def test_it_says_what_runs_when_and_how_to_start_a_worker(deployed: Told) -> None:
    lines = deployed.out.splitlines()

    assert [line.partition("/")[0] for line in lines[: len(TABLE)]] == [one.name for one in TABLE]
    assert lines[0].endswith(" 03:30")
    times, meanwhile = lines[len(TABLE) :]
    assert ZONE in times
    assert "everest prefect worker start --pool everest" in times
    assert "no night runs by itself" in meanwhile


def test_what_is_deployed_is_what_the_file_says(prefect_server: Server, deployed: Told) -> None:
    assert _differences(prefect_server, prefect_yaml.read(prefect_yaml.FILE)) == []


def test_a_worker_runs_what_was_deployed(
    prefect_server: Server, person: Everest, deployed: Told
) -> None:
    started = person("prefect", "deployment", "run", "measure/measure")
    assert started.code == 0, started.err

    told = person("prefect", "worker", "start", "--pool", "everest", "--run-once")

    assert told.code == 0, told.err
    (run,) = [run for run in prefect_server.runs("measure") if run["deployment_id"]]
    assert run["state"]["type"] == "COMPLETED", told.out[-3000:]
    assert run["work_pool_name"] == "everest"


def test_by_hand_without_a_zone_it_fails_and_changes_nothing(
    prefect_server: Server, person: Everest, deployed: Told
) -> None:
    told = _at_the_checkout(person)(
        "prefect", "--no-prompt", "deploy", "--all", EVEREST_TIMEZONE=None
    )

    assert told.code != 0
    assert "EVEREST_TIMEZONE" in told.out + told.err
    assert _differences(prefect_server, prefect_yaml.read(prefect_yaml.FILE)) == []


def test_prefect_passes_over_a_misspelt_key_and_the_comparison_does_not(
    prefect_server: Server, person: Everest, deployed: Told, tmp_path: Path
) -> None:
    wanted = prefect_yaml.read(prefect_yaml.FILE)
    misspelt = copy.deepcopy(wanted)
    measure = next(one for one in misspelt["deployments"] if one["name"] == "measure")
    measure["descripton"], measure["name"] = measure.pop("description"), "misspelt"
    file = prefect_server.home.folder / "misspelt.yaml"
    file.write_text(yaml.safe_dump(misspelt))
    told = _at_the_checkout(person)(
        "prefect",
        "--no-prompt",
        "deploy",
        "--name",
        "misspelt",
        "--prefect-file",
        str(file),
        EVEREST_TIMEZONE=ZONE,
    )

    assert told.code == 0, told.err
    meant = copy.deepcopy(wanted)
    next(one for one in meant["deployments"] if one["name"] == "measure")["name"] = "misspelt"
    assert any(
        one.startswith("misspelt.description") for one in _differences(prefect_server, meant)
    )


def test_without_a_server_it_says_how_to_start_one(tmp_path: Path) -> None:
    told = Everest(tmp_path)("deploy")

    assert told.code == 6
    assert "`everest up`" in told.err
