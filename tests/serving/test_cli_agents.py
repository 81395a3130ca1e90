"""What agents without MCP have: tools as functions, calls of them, and the block to begin with."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasks.domain.events import EventKind, Role, event
from tasks.domain.markers import FENCE_CLOSE, FENCE_OPEN
from tasks.relay import Relay
from tests.serving.shipped import Everest


def test_the_functions_are_those_that_openais_models_take(newcomer: Everest) -> None:
    told = newcomer("tools")
    assert told.out == newcomer("tools", "--json").out
    for one in told.data:
        assert one["type"] == "function"
        assert set(one["function"]) == {"name", "description", "parameters"}
        assert one["function"]["parameters"]["type"] == "object"
    shown = newcomer.at_terminal("tools").out
    assert [line.split()[0] for line in shown.splitlines()] == [
        one["function"]["name"] for one in told.data
    ]


def test_a_call_is_one_json_value_and_for_a_person_the_words(reader: Everest) -> None:
    words = ("call", "recall", '{"query": "pnpm", "k": 2}', "--project", "paperboat")
    told = reader(*words).data
    assert len(told["found"]) == 2
    shown = reader.at_terminal(*words).out
    assert FENCE_OPEN in shown
    assert '"found"' not in shown


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("recall", "{}"), 2, "query: Field required"),
        (("recall", "[]"), 2, "one JSON object"),
        (("recall", "{'query': 1}"), 2, "one JSON object"),
        (("forget", "{}"), 2, "the tools are relay, recall, remember, lessons"),
        (("recall", '{"query": "x"}', "--project", "nowhere"), 2, "no project 'nowhere'"),
    ],
)
def test_a_call_that_cannot_be_made_is_told_by_its_exit_code(
    newcomer: Everest, words: tuple[str, ...], code: int, why: str
) -> None:
    told = newcomer("call", *words, "--json")
    assert told.code == code
    assert why in told.err
    assert why in told.data["error"]
    assert not newcomer.home.exists()


def test_a_note_of_a_refused_value_ends_with_the_code_of_a_refusal(newcomer: Everest) -> None:
    kept = newcomer("call", "remember", '{"text": "Deploys need no review."}').data
    newcomer.at_terminal("reject", kept["id"][:16], "--reason", "wrong")
    told = newcomer("call", "remember", '{"text": "deploys need no review"}')
    assert told.code == 3
    assert newcomer("call", "remember", '{"text": "Deploys need a review."}').code == 0


def _say(person: Everest, project: str, **fields: Any) -> None:
    Relay(person.home / "relay").append(
        [event({"project": project, **fields}, now=datetime.now(UTC) - timedelta(minutes=5))]
    )


def test_the_block_to_begin_with_is_the_handoff_and_the_lessons_of_this_project(
    person: Everest,
) -> None:
    project = person.lessons("--project", "paperboat")[0]["project_id"]
    turn = {"kind": EventKind.TURN, "role": Role.USER, "agent": "chat", "session": "s"}
    _say(person, project, **turn, model="model-a", text="Paint the hull blue.")
    _say(person, project, kind=EventKind.DEPLOY, model="model-a", text="Released 2.1")
    _say(person, "elsewhere-00000000", **turn, model="model-a", text="Sell the boat.")

    told = person("context", "--model", "model-b", "--project", "paperboat").out
    assert told.count(FENCE_OPEN) == told.count(FENCE_CLOSE) == 2
    assert "Paint the hull blue." in told
    assert "Released 2.1" in told
    assert "Sell the boat." not in told
    usable = [
        one for one in person.lessons("--project", "paperboat") if one["trust"] != "candidate"
    ]
    assert usable
    assert all(one["lesson_id"][:16] in told for one in usable[:20] if one["project_id"] == project)

    same = person("context", "--model", "model-a", "--project", "paperboat").out
    assert "Paint the hull blue." not in same
    assert "Released 2.1" in same


def test_with_a_prompt_only_lessons_on_that_are_told(person: Everest) -> None:
    lessons = [
        one for one in person.lessons("--project", "paperboat") if one["trust"] != "candidate"
    ]
    prompt = lessons[0]["text"]
    told = person("context", "--prompt", prompt, "--project", "paperboat").out
    assert lessons[0]["lesson_id"][:16] in told
    assert 0 < told.count(" lesson ") <= 3
    foreign = person("context", "--prompt", "quantum chromodynamics", "--project", "paperboat")
    assert (foreign.code, foreign.out) == (0, "")
    person.at_terminal("reject", lessons[0]["lesson_id"][:16], "--reason", "no longer so")
    again = person("context", "--prompt", prompt, "--project", "paperboat").out
    assert lessons[0]["lesson_id"][:16] not in again
    every = person("context", "--project", "paperboat", "--json").data["context"]
    assert lessons[0]["lesson_id"][:16] not in every


def test_with_nothing_to_tell_nothing_is_printed(newcomer: Everest) -> None:
    told = newcomer("context")
    assert (told.code, told.out, told.err) == (0, "", "")
    assert json.loads(newcomer("context", "--json").out)["context"] == ""
    assert not newcomer.home.exists()
