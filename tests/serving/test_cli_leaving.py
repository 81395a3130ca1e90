"""Rests and farewells by the shipped command: pause, resume."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

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
