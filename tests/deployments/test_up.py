"""`everest up` as a person runs it: a process of its own, its signals, its runs, its remains."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from deployments.table import TABLE
from tasks.prefect_home import server_up
from tasks.runs import due
from tasks.store.lock import writer_lock
from tests.deployments.running import Up, running_up
from tests.prefect_server import Server, free_port, until
from tests.serving.shipped import MIDDAY, Everest

pytestmark = [pytest.mark.prefect, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Give one `everest up` for all tests that leave it running."""
    with running_up(tmp_path_factory.mktemp("up")) as one:
        one.ready()
        until(lambda: len(_deployed(one)) == len(TABLE), one.home.log("schedules").read_text)
        until(lambda: list(_nights(one).values()) == ["COMPLETED"], lambda: str(_nights(one)))
        yield one


def _deployed(up: Up) -> dict[str, dict[str, Any]]:
    found = up.ready().asks("/deployments/filter")
    return {one["name"]: one for one in found}


def _nights(up: Up) -> dict[str, str]:
    return {run["id"]: run["state"]["type"] for run in up.ready().runs("nightly")}


def test_a_night_that_is_due_is_run_as_it_starts_and_no_second_one(up: Up) -> None:
    log = up.person.home / "runs.jsonl"
    begun = [
        one for one in map(json.loads, log.read_bytes().splitlines()) if one["what"] == "begun"
    ]

    assert [one["flow"] for one in begun] == ["nightly"]
    assert not due(log, now=datetime.now(UTC), zone=UTC)
    assert up.person("night", "--if-due", **up.env).out.startswith("No night is due")


def test_it_tells_where_to_look_and_how_to_get_in_but_not_the_secret(up: Up) -> None:
    secret = up.home.credential.read_text().strip().partition(":")[2]

    assert f"http://127.0.0.1:{up.port}" in up.told
    assert str(up.home.credential) in up.told
    assert secret not in up.told
    logs = "".join(up.home.log(name).read_text() for name in ("server", "schedules"))
    assert secret not in logs
    assert httpx.post(f"http://127.0.0.1:{up.port}/api/flows/filter", json={}).status_code == 401


def test_the_proxy_runs_beside_it(up: Up) -> None:
    assert f"The proxy for your apps: http://127.0.0.1:{up.proxy_port}" in up.told
    assert httpx.get(f"http://127.0.0.1:{up.proxy_port}/health").is_success


def test_it_serves_every_flow_at_its_times_in_the_persons_zone(up: Up) -> None:
    deployed = _deployed(up)

    assert {one.name for one in TABLE} == set(deployed)
    (times,) = deployed["nightly"]["schedules"]
    assert times["schedule"]["cron"] == "30 3 * * *"
    assert times["schedule"]["timezone"] == MIDDAY
    assert times["parameters"] == {"if_due": True}
    assert deployed["nightly"]["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    assert deployed["compact"]["concurrency_options"]["collision_strategy"] == "ENQUEUE"


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="asks Linux what is mapped")
def test_what_stands_all_day_has_loaded_no_engine_of_the_night(up: Up) -> None:
    mapped = {name: _mapped(up, name) for name in ("server", "schedules", "proxy")}

    for name, files in mapped.items():
        assert "_pydantic_core" in files, name
        assert "_duckdb" not in files, name
        assert "_polars_runtime" not in files, name
    assert "numpy" in mapped["proxy"], "which compares meanings"
    assert "numpy" not in mapped["schedules"]


def _mapped(up: Up, name: str) -> str:
    (pid,) = (one for one in _children(up.process.pid) if _runs(one, name))
    return Path(f"/proc/{pid}/maps").read_text()


def test_the_server_is_not_what_made_its_database(up: Up) -> None:
    log = up.home.log("server").read_text()

    assert log.index("upgraded!") < log.index(f"127.0.0.1:{up.port}")


def test_a_night_started_through_it_is_the_persons_own_and_stands_in_the_history(up: Up) -> None:
    before = set(_nights(up))
    up.person.works_a_week(datetime.now(UTC))

    told = up.person("prefect", "deployment", "run", "nightly/nightly", "--watch", **up.env)

    assert told.code == 0, told.err + up.home.log("schedules").read_text()[-3000:]
    assert up.person.lessons()
    (run,) = (one for one in up.ready().runs("nightly") if one["id"] not in before)
    assert run["state"]["type"] == "COMPLETED"
    assert run["id"] in up.person("prefect", "flow-run", "ls", **up.env, COLUMNS="200").out
    assert "COMPLETED" in up.person("prefect", "flow-run", "inspect", run["id"], **up.env).out
    assert "Finished in state" in up.person("prefect", "flow-run", "logs", run["id"], **up.env).out


def test_a_night_in_another_terminal_reports_to_it(up: Up) -> None:
    before = set(_nights(up))

    told = up.person("night", "--json", **up.env)

    assert told.code == 0, told.err
    after = _nights(up)
    assert [after[one] for one in after if one not in before] == ["COMPLETED"]


def test_the_persons_own_prefect_is_not_used(up: Up) -> None:
    own = {"PREFECT_API_URL": "http://127.0.0.1:9/api", "PREFECT_PROFILE": "work"}

    told = up.person("prefect", "config", "view", **up.env, **own)

    assert told.code == 0, told.err
    assert f"http://127.0.0.1:{up.port}/api" in told.out
    assert up.home.credential.read_text().strip() not in told.out


@pytest.mark.slow
def test_a_second_run_is_cancelled_or_waits_as_its_deployment_says(up: Up) -> None:
    """A run that waits for the store holds its deployment's one slot."""
    server, store = up.ready(), up.person.home / "store.lock"
    with writer_lock(store, wait=60, started="now"):
        first = {name: _start(server, up, name) for name in ("sleep", "compact")}
        for run in first.values():
            until(lambda run=run: _state(server, run)["type"] == "RUNNING")
        second = {name: _start(server, up, name) for name in ("sleep", "compact")}
        until(lambda: _state(server, second["sleep"])["type"] == "CANCELLED")
        until(lambda: _state(server, second["compact"])["name"] == "AwaitingConcurrencySlot")

    for run in first.values():
        until(lambda run=run: _state(server, run)["type"] == "COMPLETED")
    until(lambda: _state(server, second["compact"])["type"] == "COMPLETED")


def _start(server: Server, up: Up, name: str) -> str:
    run: dict[str, Any] = server.asks(f"/deployments/{_deployed(up)[name]['id']}/create_flow_run")
    return str(run["id"])


def _state(server: Server, run: str) -> dict[str, Any]:
    (found,) = server.asks("/flow_runs/filter", flow_runs={"id": {"any_": [run]}})
    state: dict[str, Any] = found["state"]
    return state


def test_a_second_one_for_the_same_home_is_refused_and_names_the_first(up: Up) -> None:
    told = up.person("up", EVEREST_PREFECT_PORT=str(free_port()))

    assert told.code == 6
    assert f"process {up.process.pid}" in told.err
    assert not up.ended


@pytest.mark.parametrize("name", ["proxy", "schedules", "server"])
def test_a_service_that_dies_is_started_again_and_leaves_nothing(up: Up, name: str) -> None:
    """By SIGKILL, with what it started; the last of them is what the others ask."""
    service = next(pid for pid in _children(up.process.pid) if _runs(pid, name))
    family = {service, *_below(service)}
    told = up.told
    os.kill(service, signal.SIGKILL)

    until(lambda: f"{name} runs again" in up.told.removeprefix(told), lambda: up.told)

    assert f"{name} ended with -9" in up.told
    assert any(_runs(pid, name) for pid in _children(up.process.pid))
    assert not [pid for pid in family if _command(pid) and not _command(pid).endswith("<defunct>")]
    logged = [one["text"] for one in up.person("logs", "up", "--json").data]
    assert f"{name} runs again" in logged


def _runs(pid: int, name: str) -> bool:
    module = {"server": "deployments.prefect_server", "schedules": "deployments.schedules"}
    command = _command(pid).split()
    return "deployments.tether" in command and module.get(name, "serving") in command


def _below(pid: int) -> list[int]:
    return [one for child in _children(pid) for one in (child, *_below(child))]


def _children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = (line.split() for line in listed.stdout.splitlines())
    return [int(child) for child, parent in pairs if int(parent) == pid]


def _command(pid: int) -> str:
    words = ["ps", "-ww", "-p", str(pid), "-o", "command="]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def test_a_port_in_use_is_told_with_the_setting_that_changes_it(tmp_path: Path) -> None:
    free = {name: str(free_port()) for name in ("EVEREST_PREFECT_PORT", "EVEREST_PROXY_PORT")}
    with socket.create_server(("127.0.0.1", 0)) as other:
        for name in free:
            told = Everest(tmp_path)("up", **(free | {name: str(other.getsockname()[1])}))

            assert told.code == 6
            assert f"set {name} to a free one" in told.err


def test_it_starts_no_server_that_was_asked_to_be_open(tmp_path: Path) -> None:
    person = Everest(tmp_path)

    told = person("up", PREFECT_SERVER_API_AUTH_STRING="", EVEREST_PREFECT_PORT=str(free_port()))

    assert told.code == 6
    assert "PREFECT_SERVER_API_AUTH_STRING" in told.err
    assert not (person.home / "prefect" / "prefect.db").exists()


def test_an_unknown_zone_is_refused_before_anything_starts(tmp_path: Path) -> None:
    person = Everest(tmp_path)

    told = person("up", EVEREST_TIMEZONE="Nowhere/Town")

    assert told.code == 2
    assert "Nowhere/Town" in told.err
    assert not (person.home / "prefect").exists()


def test_a_broken_history_is_told_with_the_way_out(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    (person.home / "prefect").mkdir(mode=0o700, parents=True)
    (person.home / "prefect" / "prefect.db").write_bytes(b"no database" * 99)
    ports = {name: str(free_port()) for name in ("EVEREST_PREFECT_PORT", "EVEREST_PROXY_PORT")}

    told = person("up", **ports)

    assert told.code == 6, told.err
    assert "server ended with" in told.err
    assert "if prefect.db there is damaged, move it away" in told.err


def test_killed_it_leaves_nothing_running_and_a_night_goes_on_without_it(tmp_path: Path) -> None:
    with running_up(tmp_path) as up:
        up.ready()
        assert len(up.remains()) >= 2, "the search finds what runs"

        up.process.kill()
        up.process.wait(60)

        until(lambda: not up.remains(), lambda: str(up.remains()))
        assert server_up(up.home) is None
        told = up.person("night", "--json", **up.env)
        assert told.code == 0
        assert "Prefect" not in told.err


def test_its_logs_hold_no_word_of_the_memory(up: Up) -> None:
    told = up.person("logs", "-n", "100000").out

    assert "schedules" in told
    assert "pnpm" not in told
    assert up.home.credential.read_text().strip() not in told


def test_down_signals_nobody_who_only_happens_to_have_the_number(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    folder = person.home / "prefect"
    with writer_lock(folder / "up.lock", wait=0, started="now"):
        told = person("down")
    assert told.code == 6
    assert f"process {os.getpid()}" in told.err


def test_a_pause_is_told_and_its_end(up: Up) -> None:
    up.person("pause")
    until(lambda: "Everest is paused until `everest resume`" in up.told, lambda: up.told)
    up.person("resume")
    until(lambda: "the pause is over" in up.told, lambda: up.told)


@pytest.mark.slow
def test_interrupted_it_stops_everything_and_ends_well(tmp_path: Path) -> None:
    with running_up(tmp_path) as up:
        up.ready()
        up.process.send_signal(signal.SIGINT)

        assert up.process.wait(60) == 0
        assert up.remains() == []
        assert not up.home.state.exists()


def test_down_stops_a_foreground_one_and_waits_for_it(up: Up) -> None:
    """The last test of the file: it ends what the others look at."""
    told = up.person("down", "--json", **up.env)

    assert told.code == 0, told.err
    assert told.data["stopped"]
    assert up.process.wait(10) == 0
    assert up.remains() == []
    assert not up.home.state.exists()
    assert up.person("down", "--json", **up.env).data["stopped"] is False
