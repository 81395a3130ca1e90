"""The spool: what is taken in counts once, whoever takes it and however often they are killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tasks.domain.clock import iso
from tasks.settings import Places
from tasks.spool import LINES, Ended, alone, move_exposures, note_end, taken, waits
from tasks.store.journal import unfolded

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
END = Ended("claude-code", "s1", "/home/ada/.claude/projects/-boat/s1.jsonl")
SHOWN: dict[str, Any] = {
    "v": 1,
    "kind": "expose",
    "id": "2026-03-04T05:06:07Z-abc",
    "at": "2026-03-04T05:06:07Z",
    "scope": ["me", "user", "default", "boat-1a2b3c4d"],
    "channel": "hook",
    "moment": "prompt",
    "agent": "claude_code",
    "session": "s1",
    "shown": ["l1"],
    "held_out": [],
    "near": [["l2", "not relevant enough"]],
}


class Killed(Exception):
    """The process that took it in died."""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "home")


def left(places: Places, *lines: Any) -> None:
    places.spool.mkdir(parents=True, exist_ok=True)
    with (places.spool / LINES).open("ab") as file:
        for line in lines:
            file.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")


def journaled(places: Places) -> Iterator[dict[str, Any]]:
    for read in unfolded(places.journal, {}):
        for line in read.lines:
            yield {"at": line.at, "scope": list(line.scope.keys()), **line.body}


def test_what_ended_is_given_and_what_was_shown_is_in_the_journal(places: Places) -> None:
    note_end(places.spool, END, at=NOW)
    left(places, SHOWN)
    assert waits(places.spool)
    with taken(places, at=NOW) as found:
        assert (found.ended, found.exposures, found.bad) == ((END,), 1, 0)
    assert not waits(places.spool)
    told = {name: SHOWN[name] for name in SHOWN if name not in ("v", "kind", "id", "at")}
    assert list(journaled(places)) == [{**told, "at": iso(NOW)}]


def test_two_conversations_that_end_are_given_once_each(places: Places) -> None:
    other = Ended("claude-code", "s2", "/x/s2.jsonl")
    for one in (END, other, END):
        note_end(places.spool, one, at=NOW)
    with taken(places, at=NOW) as found:
        assert found.ended == (END, other)


def test_whoever_dies_while_taking_in_loses_nothing_and_doubles_nothing(places: Places) -> None:
    note_end(places.spool, END, at=NOW)
    left(places, SHOWN)
    with suppress(Killed), taken(places, at=NOW):
        raise Killed
    left(places, {**SHOWN, "id": "another"})
    with taken(places, at=NOW) as found:
        assert found.ended == (END,)
    assert len(list(journaled(places))) == 2
    assert not waits(places.spool)


def test_what_was_applied_meanwhile_is_not_written_again(places: Places) -> None:
    left(places, SHOWN)
    with suppress(Killed), taken(places, at=NOW):
        raise Killed
    (segment,) = places.journal.glob("*.jsonl")
    (places.journal / "applied").mkdir()
    segment.rename(places.journal / "applied" / segment.name)
    with taken(places, at=NOW):
        pass
    assert list(journaled(places)) == []


def test_a_night_takes_what_was_shown_and_leaves_what_ended(places: Places) -> None:
    move_exposures(places, at=NOW)
    assert not places.journal.exists()
    left(places, SHOWN)
    note_end(places.spool, END, at=NOW)
    for _ in range(2):
        move_exposures(places, at=NOW)
        assert len(list(journaled(places))) == 1
    with taken(places, at=NOW) as found:
        assert found.ended == (END,)
    assert len(list(journaled(places))) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"{\n",
        b"[]\n",
        b'{"v": 2, "kind": "session_end"}\n',
        {"v": 1, "kind": "session_end", "agent": "a"},
        {"v": 1, "kind": "other"},
        {**SHOWN, "scope": ["me"]},
        {**SHOWN, "scope": ["me", "user", "default", ""]},
        {**SHOWN, "at": "yesterday"},
        {**SHOWN, "session": 5},
        {**SHOWN, "at": "0001-01-01T00:00:00+14:00"},
        {**SHOWN, "scope": ["me", "user", "default", 3]},
        {**SHOWN, "shown": 5},
        {**SHOWN, "held_out": "l1"},
    ],
    ids=str,
)
def test_a_line_that_cannot_be_used_costs_that_line(places: Places, line: Any) -> None:
    left(places, line, SHOWN)
    note_end(places.spool, END, at=NOW)
    with taken(places, at=NOW) as found:
        assert (found.ended, found.exposures, found.bad) == ((END,), 1, 1)
    assert len(list(journaled(places))) == 1


def test_a_line_that_a_kill_cut_short_keeps_apart_from_the_next(places: Places) -> None:
    left(places, b'{"v": 1, "kind": "session_e')
    note_end(places.spool, END, at=NOW)
    with taken(places, at=NOW) as found:
        assert (found.ended, found.bad) == ((END,), 1)


def test_secrets_in_a_line_do_not_reach_the_journal(places: Places) -> None:
    secret = "sk-ant-api03-" + "a" * 95
    left(places, {**SHOWN, "session": f"s {secret}"})
    with taken(places, at=NOW):
        pass
    (line,) = journaled(places)
    assert secret not in line["session"]


def test_one_works_at_a_time(places: Places) -> None:
    with alone(places.spool) as first, alone(places.spool) as second:
        assert (first, second) == (True, False)
    with alone(places.spool) as again:
        assert again
