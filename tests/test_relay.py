"""The relay's files: whole lines, once each, from two processes at once, within its folder."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tasks.domain.events import Event, EventKind, Role
from tasks.errors import RelayNameInvalid
from tasks.relay import ROTATE, Followed, Relay

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
PROJECT = "paperboat-1a2b3c4d"

TELL = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from tasks.domain.events import Event, EventKind, Role
from tasks.relay import Relay
for n in range(int(sys.argv[3])):
    Relay(Path(sys.argv[1])).append([Event(EventKind.TURN, f"{sys.argv[2]} {n}", Role.USER,
        "paperboat-1a2b3c4d", "codex", "m", "s", datetime.now(UTC), f"{sys.argv[2]}-{n}")])
"""


def said(text: str, *, project: str = PROJECT, at: datetime = NOW) -> Event:
    return Event(EventKind.TURN, text, Role.USER, project, "codex", "m", "s", at, text[:20])


def test_the_tail_is_the_last_events_in_their_order(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "relay")
    relay.append([said(f"turn {n}") for n in range(30)])

    assert [one.text for one in relay.tail(PROJECT, most=3)] == ["turn 27", "turn 28", "turn 29"]
    assert relay.tail("other-1a2b3c4d", most=3) == []
    assert relay.projects() == [PROJECT]


def test_an_event_told_twice_stands_once(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "relay")

    first = relay.append([said("hello"), said("hello"), said("again")])
    second = relay.append([said("again"), said("more")])

    assert ([one.text for one in first], [one.text for one in second]) == (
        ["hello", "again"],
        ["more"],
    )
    assert [one.text for one in relay.tail(PROJECT, most=9)] == ["hello", "again", "more"]


def test_secrets_are_struck_out_before_they_are_written(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "Zx9Yw8"
    Relay(tmp_path / "relay").append([said(f"my key is {secret}"), said("plain words")])

    written = (tmp_path / "relay" / f"{PROJECT}.jsonl").read_text("utf-8")
    assert "plain words" in written
    assert secret not in written


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    tellers = [
        subprocess.Popen([sys.executable, "-c", TELL, str(tmp_path / "relay"), name, "60"])
        for name in ("one", "two")
    ]
    assert [teller.wait(60) for teller in tellers] == [0, 0]

    lines = (tmp_path / "relay" / f"{PROJECT}.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["text"] for line in lines} == {
        f"{name} {n}" for name in ("one", "two") for n in range(60)
    }
    assert len(lines) == 120


def test_a_line_cut_by_a_crash_takes_no_other_with_it(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "relay")
    relay.append([said("before")])
    with (tmp_path / "relay" / f"{PROJECT}.jsonl").open("ab") as file:
        file.write(b'{"v":1,"kind":"tur')
    relay.append([said("after")])

    assert [one.text for one in relay.tail(PROJECT, most=9)] == ["before", "after"]


def test_a_long_file_is_put_away_and_still_read(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "relay")
    many = [said(f"{n} " + "x" * 30_000) for n in range(ROTATE // 30_000 + 1)]
    relay.append(many)
    relay.append([said("the newest", at=NOW + timedelta(hours=1))])

    files = sorted(path.name for path in (tmp_path / "relay").glob("*.jsonl"))
    assert files == [f"{PROJECT}.20260304T050607000000Z.jsonl", f"{PROJECT}.jsonl"]
    assert [one.text[:10] for one in relay.tail(PROJECT, most=2)] == [
        many[-1].text[:10],
        "the newest",
    ]


def test_forgetting_removes_the_words_from_every_file(tmp_path: Path) -> None:
    relay = Relay(tmp_path / "relay")
    relay.append([said("keep this"), said("the zebra plan")])
    assert b"zebra" in (tmp_path / "relay" / f"{PROJECT}.jsonl").read_bytes()

    assert relay.forget(PROJECT, lambda one: "zebra" in one.text) == 1

    assert not any(b"zebra" in path.read_bytes() for path in (tmp_path / "relay").iterdir())
    assert [one.text for one in relay.tail(PROJECT, most=9)] == ["keep this"]


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".lock", "a\0b", "@global", "a.b", "x" * 300])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    relay = Relay(tmp_path / "relay")
    with pytest.raises(RelayNameInvalid):
        relay.append([said("fine"), said("words", project=name)])
    with pytest.raises(RelayNameInvalid):
        relay.tail(name, most=1)

    assert not list(tmp_path.rglob("*.jsonl"))


def test_files_are_the_persons_alone(tmp_path: Path) -> None:
    Relay(tmp_path / "relay").append([said("words")])

    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"relay": 0o700, ".lock": 0o600, f"{PROJECT}.jsonl": 0o600}


class TestFollowed:
    def test_it_grows_with_the_file(self, tmp_path: Path) -> None:
        relay = Relay(tmp_path / "relay")
        followed = Followed(relay, PROJECT, most=3)
        assert followed.newest() == []
        relay.append([said("one")])
        assert [one.text for one in followed.newest()] == ["one"]
        relay.append([said("two"), said("three"), said("four")])
        assert [one.text for one in followed.newest()] == ["two", "three", "four"]
        assert followed.newest() == relay.tail(PROJECT, most=3)

    def test_what_is_forgotten_is_gone(self, tmp_path: Path) -> None:
        relay = Relay(tmp_path / "relay")
        followed = Followed(relay, PROJECT, most=9)
        relay.append([said("one"), said("two")])
        assert len(followed.newest()) == 2
        relay.forget(PROJECT, lambda one: one.text == "one")
        assert [one.text for one in followed.newest()] == ["two"]

    def test_it_goes_on_over_a_file_that_was_put_away(self, tmp_path: Path) -> None:
        relay = Relay(tmp_path / "relay")
        followed = Followed(relay, PROJECT, most=9)
        relay.append([said("one")])
        followed.newest()
        path = tmp_path / "relay" / f"{PROJECT}.jsonl"
        path.rename(path.with_name(f"{PROJECT}.20260304.jsonl"))
        assert [one.text for one in followed.newest()] == ["one"]
        relay.append([said("two")])
        assert [one.text for one in followed.newest()] == ["one", "two"]

    def test_a_line_that_is_being_written_is_waited_for(self, tmp_path: Path) -> None:
        relay = Relay(tmp_path / "relay")
        followed = Followed(relay, PROJECT, most=9)
        relay.append([said("one")])
        followed.newest()
        path = tmp_path / "relay" / f"{PROJECT}.jsonl"
        line = json.dumps(said("two").record()).encode() + b"\n"
        for part in (line[:20], line[20:]):
            with path.open("ab") as file:
                file.write(part)
            told = [one.text for one in followed.newest()]
        assert told == ["one", "two"]
