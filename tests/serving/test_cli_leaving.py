"""Rests and farewells by the shipped command: pause, resume, uninstall."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tasks.store.lock import writer_lock
from tests.serving.running import EVERY_API, running_proxy
from tests.serving.shipped import Everest
from tests.serving.speech import speak
from tests.serving.upstream import Upstream


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(speak) as server:
        yield server


def test_a_pause_is_told_and_ends_when_it_should(newcomer: Everest) -> None:
    assert newcomer("status", "--json").data["paused"] is None
    until = newcomer("pause", "--for", "2h", "--json").data["until"]
    assert newcomer("status", "--json").data["paused"] == {"until": until}
    assert "paused           until 2" in newcomer("status").out
    newcomer("pause")
    assert "until `everest resume`" in newcomer("status").out
    assert newcomer("resume", "--json").data == {"was_paused": True}
    assert newcomer("resume", "--json").data == {"was_paused": False}
    assert newcomer("status", "--json").data["paused"] is None


def test_a_span_that_is_none_pauses_nothing(newcomer: Everest) -> None:
    told = newcomer("pause", "--for", "a while")
    assert told.code == 2
    assert "30m" in told.err
    assert newcomer("status", "--json").data["paused"] is None


def test_a_scheduled_night_rests_and_one_that_is_asked_for_does_not(newcomer: Everest) -> None:
    newcomer("pause")
    assert "paused" in newcomer("night", "--if-due").out
    assert not (newcomer.home / "runs.jsonl").exists()
    assert newcomer("night", "--json").code == 0
    newcomer("resume")
    assert "No night is due" in newcomer("night", "--if-due").out


def test_scheduled_flows_rest(newcomer: Everest) -> None:
    newcomer("pause")
    for module, given in (("nightly", "if_due=True"), ("ingest", "unless_paused=True")):
        words = f"from flows.{module} import {module} as f; print(f({given}))"
        told = newcomer.run([sys.executable, "-c", words])
        assert told.out == "None\n", told.err
    assert not (newcomer.home / "runs.jsonl").exists()
    newcomer("resume")
    told = newcomer.run([sys.executable, "-c", "from flows.ingest import ingest as f; f()"])
    assert told.code == 0, told.err
    assert (newcomer.home / "runs.jsonl").exists()


def test_the_proxy_hands_on_untouched_while_paused_and_tells_so(
    person: Everest, upstream: Upstream
) -> None:
    body = {
        "model": "gpt-5",
        "messages": [{"role": "user", "content": "Do we use pnpm or npm in this repo?"}],
    }
    routes = EVERY_API.format(upstream.url)
    with running_proxy(person, EVEREST_ROUTES=routes, EVEREST_PROXY_BUDGET="5") as proxy:
        where = f"{proxy.url}/t/{proxy.token}/p/paperboat/v1/chat/completions"
        person("pause")
        assert _arrived(upstream, where, body) == body
        assert httpx.get(f"{proxy.url}/health").json()["paused"] == {"until": None}
        person("resume")
        assert "pnpm in this repo." in json.dumps(_arrived(upstream, where, body))
        assert httpx.get(f"{proxy.url}/health").json()["paused"] is None
    (relay,) = (person.home / "relay").glob("*.jsonl")
    assert relay.read_text().count("pnpm or npm") == 1, "what was said while paused is not kept"


def _arrived(upstream: Upstream, where: str, body: dict[str, Any]) -> Any:
    assert httpx.post(where, json=body).is_success
    return json.loads(upstream.received[-1].body)


def _hosts_files(person: Everest) -> list[Path]:
    return sorted(
        path
        for folder in person.claude.glob("projects/*/memory")
        for path in (*folder.glob("everest-*.md"), folder / "MEMORY.md")
        if path.exists()
    )


def test_an_uninstall_leaves_a_machine_as_if_it_had_never_been(person: Everest) -> None:
    own = "# Mine\n\n- use tabs \n"
    index = next(path for path in _hosts_files(person) if path.name == "MEMORY.md")
    index.write_bytes(own.encode() + b"\n" + index.read_bytes())
    before = {path for path in person.user.rglob("*") if "memory" not in path.parts}
    assert person("night", "--json").code == 0
    told = person("uninstall", "--yes")
    assert told.code == 0, told.err
    assert "pip uninstall everest-memory" in told.out
    assert not person.home.exists()
    assert _hosts_files(person) == [index]
    assert index.read_bytes() == own.encode()
    assert {path for path in person.user.rglob("*") if "memory" not in path.parts} == before
    again = person("uninstall", "--yes", "--json")
    assert again.code == 0, again.err
    assert not any("removed" in line for line in again.data["done"])


@pytest.mark.parametrize("left", ["weights.json", "model-asked.json", "vetoed.json", "spool/.lock"])
def test_a_home_of_left_overs_alone_goes_too(newcomer: Everest, left: str) -> None:
    path = newcomer.home / left
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    told = newcomer("uninstall", "--yes", "--json")
    assert (told.code, told.data["left"]) == (0, []), told.err
    assert not newcomer.home.exists()


def test_nothing_stays_of_what_the_commands_write(newcomer: Everest) -> None:
    for words in (
        ("setup", "--yes"),
        ("ingest",),
        ("remember", "the port is 9090", "--everywhere"),
        ("night",),
        ("token", "add", "--every-project"),
        ("doctor",),
        ("pause",),
    ):
        assert newcomer(*words, EVEREST_EMBED=None).code == 0, words
    assert (newcomer.home / "weights.json").exists()
    (newcomer.home / "thesis.tex").touch()
    told = newcomer("uninstall", "--yes", EVEREST_EMBED=None)
    assert [path.name for path in newcomer.home.iterdir()] == ["thesis.tex"]
    assert "thesis.tex was left" in told.out
    assert "all" not in told.out.lower().split("thesis.tex")[0].split()


def test_what_was_edited_is_kept_as_a_copy(person: Everest) -> None:
    lesson = next(path for path in _hosts_files(person) if path.name != "MEMORY.md")
    edited = lesson.read_text() + "\nAnd never on Fridays.\n"
    lesson.write_text(edited)
    told = person("uninstall", "--yes", "--json")
    assert told.code == 0, told.err
    (copy,) = map(Path, told.data["copies"])
    assert copy.is_relative_to(person.user)
    assert copy.read_text() == edited
    assert not lesson.exists()


def test_kept_data_takes_up_again_and_nothing_counts_as_rejected(person: Everest) -> None:
    lessons, files = person.lessons(), _hosts_files(person)
    digest = person.digest()
    told = person("uninstall", "--keep-data", "--yes", "--json")
    assert told.code == 0, told.err
    assert _hosts_files(person) == []
    assert person.home.exists()
    assert person("night", "--json").data is not None
    assert _hosts_files(person) == files
    assert [one["lesson_id"] for one in person.lessons()] == [one["lesson_id"] for one in lessons]
    assert person.digest() == digest


def test_it_asks_and_takes_no_for_an_answer(person: Everest) -> None:
    files = _hosts_files(person)
    assert person("uninstall").code == 2
    assert person.at_terminal("uninstall", typed="n\n").code == 130
    assert _hosts_files(person) == files
    assert person.home.exists()


def test_a_damaged_home_is_taken_away_too(person: Everest) -> None:
    files = _hosts_files(person)
    assert files
    (person.home / "written.json").write_bytes(b"{")
    (person.home / "memory.duckdb").write_bytes(b"no store")
    for segment in (person.home / "ledger").iterdir():
        segment.write_bytes(b"\xff")
    (person.home / "view" / "current").write_bytes(b"")
    told = person("uninstall", "--yes")
    assert told.code == 0, told.err
    assert _hosts_files(person) == []
    assert not person.home.exists()


def test_a_folder_that_is_no_home_is_refused_before_anything_is_undone(person: Everest) -> None:
    files = _hosts_files(person)
    told = person("uninstall", "--yes", EVEREST_HOME=str(person.user))
    assert told.code == 2
    assert "is no home of Everest's" in told.err
    assert person.user.exists()
    assert _hosts_files(person) == files


def test_a_night_at_work_is_not_cut_off(person: Everest) -> None:
    with writer_lock(person.home / "store.lock", wait=0, started="now"):
        told = person("uninstall", "--yes", EVEREST_LOCK_WAIT="0")
    assert told.code == 4
    assert "written by process" in told.err
    assert _hosts_files(person)
    assert person.home.exists()


def test_agents_files_come_back_byte_for_byte(newcomer: Everest) -> None:
    settings = newcomer.claude / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_bytes(b'{\n   "model": "opus",\n "hooks": {}\n}')
    before = settings.read_bytes()
    assert newcomer("setup", "--agent", "claude-code", "--yes").code == 0
    assert b"tasks/hooks/client.py" in settings.read_bytes()
    told = newcomer("uninstall", "--yes", "--json")
    assert told.code == 0, told.err
    assert settings.read_bytes() == before
    assert not newcomer.home.exists()
    assert told.data["left"] == []
