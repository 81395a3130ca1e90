"""Something is said and the process killed at each step: what was acknowledged is there, once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.trust.kills import KILLED, Bench

ACCEPTED = "accepted"


@pytest.fixture
def slept(bench: Bench) -> Bench:
    """Give the bench after a night."""
    bench.put("after a night")
    return bench


def _killed_everywhere(bench: Bench, *words: str, **how: Any) -> list[bool]:
    """Kill a command at each of its steps, again and again; tell which were acknowledged."""
    acknowledged: list[bool] = []
    while True:
        told = [word.replace("#", str(len(acknowledged))) for word in words]
        ended = bench.run(*told, die_at=len(acknowledged) + 1, **how)
        acknowledged.append(ACCEPTED in ended.out)
        if ended.code != KILLED:
            assert ended.code == 0, ended.err
            return acknowledged


def _notes(bench: Bench) -> list[str]:
    looked = json.loads(bench.did(function="tests.trust.looking:proved").out)
    assert not looked["litter"]
    assert not any(looked["unfolded"].values())
    rows = map(json.loads, looked["tables"]["episodes"])
    return sorted(row["words"] for row in rows if row["kind"] == "note")


def _lessons(bench: Bench) -> list[str]:
    listed = json.loads(bench.did("lessons", "--json").out)
    return [one["lesson_id"] for one in listed if one["trust"] == "corroborated"]


def test_a_note_that_was_acknowledged_is_there_once_and_no_half_one_ever(slept: Bench) -> None:
    before = _notes(slept)
    words = ("remember", "note number #", "--project", "paperboat")
    acknowledged = _killed_everywhere(slept, *words)
    assert len(acknowledged) > 5
    assert acknowledged[-1]
    at_once = json.loads(
        slept.did("recall", "note number", "--project", "paperboat", "-k", "20", "--json").out
    )
    slept.did("night")
    notes = [one for one in _notes(slept) if one not in before]
    assert len(notes) == len(set(notes))
    assert {f"note number {n}" for n, told in enumerate(acknowledged) if told} <= set(notes)
    assert set(notes) <= {f"note number {n}" for n in range(len(acknowledged))}
    assert {one["text"] for one in at_once if "note number" in one["text"]} == set(notes)
    for text in notes:  # said once more, as one who got no answer does
        slept.did("remember", text, "--project", "paperboat")
    slept.did("night")
    assert [one for one in _notes(slept) if one not in before] == notes


@pytest.mark.parametrize("verb", ["reject", "forget"])
def test_a_decision_is_whole_or_was_never_made(slept: Bench, verb: str) -> None:
    lesson = min(_lessons(slept))
    why = ("--reason", "we moved on") if verb == "reject" else ("--yes",)
    number, ended = 0, None
    while ended is None or (ended.code == KILLED and ACCEPTED not in ended.out):
        number += 1
        if lesson not in _lessons(slept):
            break  # it was written, and the kill came before the answer
        ended = slept.run(verb, lesson, *why, die_at=number, at_terminal=True)
    assert number > 2
    slept.did("night")
    assert lesson not in [
        one["lesson_id"] for one in json.loads(slept.did("lessons", "--json").out)
    ]
    looked = json.loads(slept.did(function="tests.trust.looking:proved").out)
    stones = [json.loads(row) for row in looked["tables"]["tombstones"]]
    assert [one["kind"] for one in stones if one["unit_id"] == lesson] == [
        "rejected" if verb == "reject" else "forgotten"
    ]
    assert looked["digest"] == looked["replayed"]
