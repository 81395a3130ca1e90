from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks.shown import Put, Shown, clear

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
PROJECT = "boat-1a2b3c4d"


def put(turn: str, text: str = "told") -> Put:
    return Put(turn, text, ("l1",), ("l1", "l2"), ("e1",), "m", NOW)


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    return Shown(tmp_path / "shown")


def keep(shown: Shown, conversation: str, one: Put) -> None:
    shown.told(PROJECT, conversation).take(one)
    shown.write(PROJECT, conversation, one)


def test_another_process_knows_what_was_put_where(shown: Shown, tmp_path: Path) -> None:
    keep(shown, "c", put("t1", 'a "b"\n🏔'))
    keep(shown, "c", put("t2", ""))
    told = Shown(tmp_path / "shown").told(PROJECT, "c")
    assert (told.puts["t1"].text, told.puts["t2"].text) == ('a "b"\n🏔', "")
    assert (told.settled, told.events) == ({"l1", "l2"}, {"e1"})
    assert told.puts["t1"] == put("t1", 'a "b"\n🏔')


def test_conversations_and_projects_are_apart(shown: Shown) -> None:
    keep(shown, "c", put("t1"))
    assert shown.told(PROJECT, "other").puts == {}
    assert shown.told("other-1a2b3c4d", "c").puts == {}
    assert "t1" in shown.told(PROJECT, "c").puts


def test_names_lead_nowhere_else(shown: Shown, tmp_path: Path) -> None:
    keep(shown, "../../evil\0/x", put("t1"))
    assert [path.parent for path in tmp_path.rglob("*.jsonl")] == [tmp_path / "shown"]


def test_a_torn_line_costs_that_line(shown: Shown, tmp_path: Path) -> None:
    keep(shown, "c", put("t1"))
    (path,) = (tmp_path / "shown").glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"turn": "t2", "te')
    keep(shown, "c", put("t3"))
    assert set(Shown(tmp_path / "shown").told(PROJECT, "c").puts) == {"t1", "t3"}


def test_what_is_cleared_is_gone_from_a_running_process_too(shown: Shown, tmp_path: Path) -> None:
    keep(shown, "c", put("t1", "words to forget"))
    clear(tmp_path / "shown")
    assert list((tmp_path / "shown").iterdir()) == []
    assert shown.told(PROJECT, "c").puts == {}


def test_only_the_owner_may_read_it(shown: Shown, tmp_path: Path) -> None:
    keep(shown, "c", put("t1"))
    (path,) = (tmp_path / "shown").glob("*.jsonl")
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_turn_that_never_comes_back_is_not_kept_by_key(shown: Shown) -> None:
    keep(shown, "c", put(""))
    told = shown.told(PROJECT, "c")
    assert (told.puts, told.settled) == ({}, {"l1", "l2"})


def test_what_another_process_tells_meanwhile_counts_too(shown: Shown, tmp_path: Path) -> None:
    keep(shown, "c", put("t1"))
    keep(Shown(tmp_path / "shown"), "c", put("t2"))
    assert set(shown.told(PROJECT, "c").puts) == {"t1", "t2"}
