from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tasks.llm.client import Budget, Client
from tasks.llm.failure import Failure, Wrong
from tasks.llm.server import Api, Server
from tests.modelserver import WRITER, ModelServer, with_models

SCHEMA = {"type": "object"}
PLENTY = Budget(calls=50, seconds=60.0, timeout=5.0)


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with with_models() as server:
        yield server


def _client(models: ModelServer, budget: Budget = PLENTY, **more: Any) -> Client:
    return Client(Server(models.url, Api.OLLAMA), WRITER, budget, **more)


def _ask(client: Client) -> dict[str, Any] | Failure:
    return client.ask("Do as told.", {"messages": ["ö"]}, SCHEMA)


def test_a_question_is_data_apart_from_the_rules(models: ModelServer) -> None:
    models.says = lambda _: '{"a": 1}'
    assert _ask(_client(models)) == {"a": 1}
    (asked,) = models.to("/v1/chat/completions")
    system, user = asked.body["messages"]
    assert system == {"role": "system", "content": "Do as told."}
    assert json.loads(user["content"]) == {"messages": ["ö"]}
    assert asked.body["temperature"] == 0
    assert asked.body["stream"] is False


@pytest.mark.parametrize(
    "said",
    [
        '```json\n{"a": 1}\n```',
        'Sure! Here it is: {"a": 1}. Anything else?',
        '<think>maybe {"a": 2}? yes</think>\n{"a": 1}',
    ],
)
def test_what_models_put_around_an_answer_is_taken_off(models: ModelServer, said: str) -> None:
    models.says = lambda _: said
    assert _ask(_client(models)) == {"a": 1}


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I cannot help with that.",
        '{"a": 1',
        "[1, 2]",
        "{" * 5_000,
        "x" * 100_000 + '{"a": 1}',
        (200, {"choices": []}),
        (200, {"choices": [{"message": {"content": None}}]}),
        (200, {"choices": "none"}),
        (200, [1]),
        (200, b"data: [DONE]"),
        (500, {"error": {"message": "out of memory"}}),
    ],
)
def test_rubbish_is_a_failure_that_is_counted(models: ModelServer, said: Any) -> None:
    models.says = lambda _: said
    client = _client(models)
    assert isinstance(_ask(client), Failure)
    assert client.server.tally.failed.total() == 1


def test_a_server_that_knows_no_schema_is_asked_without_one(models: ModelServer) -> None:
    def says(body: dict[str, Any]) -> str | tuple[int, Any]:
        return (400, {"error": "unknown field"}) if "response_format" in body else '{"a": 1}'

    models.says = says
    client = _client(models)
    assert _ask(client) == {"a": 1}
    assert _ask(client) == {"a": 1}
    assert len(models.to("/v1/chat/completions")) == 3


def test_no_more_calls_are_made_than_a_night_may(models: ModelServer) -> None:
    models.says = lambda _: "{}"
    client = _client(models, Budget(calls=2, seconds=60.0, timeout=5.0))
    answers = [_ask(client) for _ in range(4)]
    assert answers[:2] == [{}, {}]
    assert answers[2:] == [Failure(Wrong.UNASKED)] * 2
    assert client.unasked == 2
    assert len(models.asked) == 2


def _ticking(seconds: float) -> Callable[[], float]:
    """Return a clock that goes on by so much at each look."""
    times = iter(range(1_000))
    return lambda: next(times) * seconds


def test_no_more_time_is_waited_than_a_night_may(models: ModelServer) -> None:
    models.says = lambda _: "{}"
    client = _client(models, Budget(calls=50, seconds=25.0, timeout=5.0), clock=_ticking(10.0))
    answers = [_ask(client) for _ in range(5)]
    assert answers == [{}, {}, {}, Failure(Wrong.UNASKED), Failure(Wrong.UNASKED)]


def test_a_server_that_keeps_failing_is_left_alone(models: ModelServer) -> None:
    models.says = lambda _: "no"
    client = _client(models)
    for _ in range(6):
        _ask(client)
    assert len(models.asked) == 3
    assert client.unasked == 3


def test_one_good_answer_ends_a_row_of_failures(models: ModelServer) -> None:
    said = iter(["no", "no", "{}", "no", "no", "{}"])
    models.says = lambda _: next(said)
    client = _client(models)
    for _ in range(6):
        _ask(client)
    assert client.unasked == 0


def test_a_slow_model_is_left_in_time(models: ModelServer) -> None:
    models.pause = 3.0
    client = _client(models, Budget(calls=5, seconds=60.0, timeout=0.2))
    assert _ask(client) == Failure(Wrong.SLOW)
