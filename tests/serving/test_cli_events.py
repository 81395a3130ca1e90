"""Events on the command line: a file of them, the inbox, and the relay that they stand in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.serving.shipped import Everest


def line(kind: str, text: str, **more: Any) -> str:
    return json.dumps({"kind": kind, "text": text, "agent": "chat", "session": "s", **more})


TOLD = "\n".join(
    [
        line("turn", "Add a test for the parser.", role="user"),
        line("turn", "Done, with a mocked database.", role="assistant"),
        line("correction", "Never mock the database in tests."),
        "{broken",
        line("deploy", "released 1.4 to production"),
    ]
)


def test_events_of_a_file_are_taken_in_and_what_cannot_be_used_is_named(
    newcomer: Everest,
) -> None:
    (newcomer.cwd / "told.jsonl").write_text(TOLD)
    told = newcomer("ingest", "--events", "told.jsonl", "--json")
    assert told.code == 0, told.err
    events = told.data["events"]
    assert (events["accepted"], events["known"]) == (4, 0)
    assert [one["line"] for one in events["unusable"]] == [4]
    again = newcomer("ingest", "--events", "-", stdin=TOLD)
    assert "4 events accepted, 4 of them known." in again.out
    assert "line 4: " in again.out
    recalled = newcomer("recall", "what was released to production", "--json").data
    assert [one["text"] for one in recalled][:1] == ["released 1.4 to production"]


def test_a_file_with_no_usable_line_is_refused(newcomer: Everest) -> None:
    told = newcomer("ingest", "--events", "-", stdin='{broken\n{"kind": "guess"}\n')
    assert (told.code, told.out) == (2, "")
    assert "0 events accepted" in told.err
    assert "line 1: " in told.err
    assert "line 2: " in told.err
    assert newcomer("ingest", "--events", "-", stdin="").code == 0


def test_a_program_tells_notes_and_a_person_at_a_terminal_what_was_said(newcomer: Everest) -> None:
    (newcomer.cwd / "told.jsonl").write_text(TOLD)
    assert newcomer("ingest", "--events", "told.jsonl").code == 0
    assert {one["kind"] for one in newcomer("relay", "--json").data} == {"note", "deploy"}
    assert newcomer("night").code == 0
    assert newcomer.lessons() == []
    other = Everest(newcomer.base / "other")
    (other.cwd / "told.jsonl").write_text(TOLD)
    shown = other.at_terminal("ingest", "--events", "told.jsonl")
    assert (shown.code, "4 events accepted." in shown.out) == (0, True), shown.out
    assert other("night").code == 0
    assert [one["trust"] for one in other.lessons()] == ["corroborated"]


@pytest.mark.parametrize("name", ["nowhere.jsonl", "folder"])
def test_a_file_that_cannot_be_read_is_named(newcomer: Everest, name: str) -> None:
    (newcomer.cwd / "folder").mkdir()
    told = newcomer("ingest", "--events", name)
    assert told.code == 2
    assert told.err.startswith(f"everest: cannot read events in {name}: ")


def test_the_inbox_is_taken_in_by_the_next_run(newcomer: Everest) -> None:
    inbox = newcomer.home / "inbox"
    inbox.mkdir(parents=True)
    note = line("note", "the staging port is 9090", project="paperboat")
    (inbox / "chat.jsonl").write_text(f"{note}\nbroken\n")
    told = newcomer("ingest", "--json")
    assert any("chat.jsonl, line 2" in one for one in told.data["problems"])
    assert [path.name for path in inbox.rglob("*.jsonl")] == ["chat.jsonl"]
    assert (inbox / "done" / "chat.jsonl").exists()
    found = newcomer("recall", "staging port", "--project", "paperboat", "--json").data
    assert [one["text"] for one in found] == ["the staging port is 9090"]


def test_the_relay_shows_the_last_events_of_one_project(newcomer: Everest) -> None:
    events = [line("deploy", f"v{n} is out", project="paperboat") for n in range(5)]
    events.append(line("deploy", "not of paperboat", project="tidepool"))
    assert newcomer("ingest", "--events", "-", stdin="\n".join(events)).code == 0
    told = newcomer("relay", "--project", "paperboat", "--tail", "2", "--json").data
    assert [one["text"] for one in told] == ["v3 is out", "v4 is out"]
    fenced = newcomer("relay", "--project", "paperboat").out
    assert fenced.startswith("<everest-memory>")
    assert "v0 is out" in fenced
    assert "not of paperboat" not in fenced
    seen = newcomer.at_terminal("relay", "--project", "tidepool").out
    assert "deploy by chat" in seen
    assert "not of paperboat" in seen
    unknown = newcomer("relay", "--project", "nowhere")
    assert (unknown.code, unknown.out) == (2, "")
