"""What the relay is told of answers of every API: streamed or whole, packed, broken off."""

from __future__ import annotations

import gzip
import json
import sys
import threading
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from serving.metrics import Counters
from serving.proxy.apis import Api
from serving.proxy.asking import Asking
from serving.proxy.behind import Behind
from serving.proxy.calls import Call
from serving.proxy.chains import Chains
from serving.proxy.tee import Teeing
from tasks.domain.events import Event
from tasks.relays import DEFAULT, Relays
from tests.serving.asking import TALKS, agent, call, person, talk, tool_round
from tests.serving.speech import CALLS, WORDS, speak
from tests.serving.upstream import Received

PROJECT = "boat-1a2b3c4d"
TEXT = "".join(WORDS)
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


class Told:
    """A tee over a relay of its own."""

    def __init__(self, folder: Path) -> None:
        relays, self.counters = Relays(folder), Counters()
        self.relay = relays.of(DEFAULT)
        self.behind = Behind(self.counters)
        self.tee = Teeing(relays, Asking(Chains()), lambda: NOW, self.behind)

    def answer(
        self, asked: Call, answer: bytes, *, whole: bool = True, status: int = 200, **headers: str
    ) -> bool:
        """Read an answer in pieces of no sense; tell whether it was read at all."""
        listed = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
        reader = self.tee(asked, status, listed)
        for at in range(0, len(answer), 7):
            if reader is not None:
                reader.feed(answer[at : at + 7])
        if reader is not None:
            reader.done(whole=whole)
        return reader is not None

    def events(self) -> list[Event]:
        self.behind.close()
        assert self.counters.tees.value("failed") == 0
        return self.relay.tail(PROJECT, most=99)

    def said(self) -> list[tuple[str, str, str]]:
        return [(one.kind.value, one.role.value, one.text) for one in self.events()]


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    made = Told(tmp_path / "relay")
    yield made
    made.behind.close()


def ask(
    name: str, *messages: dict[str, Any], model: str = "m", stream: bool = False, **more: Any
) -> Call:
    headers = {key: more.pop(key) for key in list(more) if key.startswith(("x_", "user_"))}
    streams = {"stream": stream} if name != "gemini" else {}
    path = None
    if name == "gemini":
        path = f"/v1beta/models/{model}:{'streamGenerateContent' if stream else 'generateContent'}"
    made = call(
        name,
        talk(name, *messages, **{"model": model, **streams, **more}),
        path=path,
        project=PROJECT,
        **headers,
    )
    return Call(
        made.method,
        made.path,
        "alt=sse" if stream else "",
        made.headers,
        made.body,
        made.api,
        model,
        made.route,
        made.grant,
    )


def spoken(asked: Call) -> bytes:
    """Return what a server of the API says, cut off where it breaks."""
    line = f"POST {asked.path}?{asked.query} HTTP/1.1\r\n\r\n".encode()
    steps = speak(Received(line, asked.body or b"")).steps
    return b"".join(step for step in steps if isinstance(step, bytes))


@pytest.mark.parametrize("name", TALKS)
def test_what_waits_behind_an_answer_keeps_no_body(name: str, told: Told) -> None:
    held_up = threading.Event()
    told.behind(partial(_wait, held_up))
    asked = ask(name, person(name, "Hi there" + " and there" * 20_000))
    body, answer = asked.body, spoken(ask(name, person(name, "Hi there")))
    holds = sys.getrefcount(body)  # the call's and ours
    assert told.answer(asked, answer)
    del asked
    holds_now = sys.getrefcount(body)
    held_up.set()
    assert holds_now == holds - 1
    assert [one.role.value for one in told.events()] == ["user", "assistant"]


def _wait(event: threading.Event) -> None:
    assert event.wait(60)


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("name", TALKS)
class TestEveryApi:
    def test_what_both_said_is_told(self, name: str, way: str, told: Told) -> None:
        asked = ask(name, person(name, "Hi there"), stream=way == "streamed")
        told.answer(asked, spoken(asked))
        assert told.said() == [("turn", "user", "Hi there"), ("turn", "assistant", TEXT)]
        assert {(one.project, one.model, one.at) for one in told.events()} == {(PROJECT, "m", NOW)}
        assert len({one.session for one in told.events()}) == 1

    def test_calls_are_told_by_name_and_first_line(self, name: str, way: str, told: Told) -> None:
        asked = ask(name, person(name, "Weather?"), model="m--tools", stream=way == "streamed")
        told.answer(asked, spoken(asked))
        (_, _, text) = told.said()[-1]
        assert text.splitlines() == ["[weather]"] * len(CALLS)

    def test_packed_answers_are_unpacked(self, name: str, way: str, told: Told) -> None:
        for coding, packed in [
            ("gzip", gzip.compress),
            ("deflate", zlib.compress),
            ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ]:
            asked = ask(name, person(name, f"Hi {coding} {packed}"), stream=way == "streamed")
            told.answer(asked, packed(spoken(asked)), Content_Encoding=coding)
        assert [text for _, role, text in told.said() if role == "assistant"] == [TEXT] * 3

    def test_what_is_sent_again_is_told_once(self, name: str, way: str, told: Told) -> None:
        first = ask(name, person(name, "Hi"), stream=way == "streamed")
        later = ask(
            name,
            person(name, "Hi"),
            agent(name, TEXT),
            person(name, "More"),
            stream=way == "streamed",
        )
        for asked in (first, first, later, later):
            told.answer(asked, spoken(asked))
        assert [text for _, role, text in told.said() if role == "user"] == ["Hi", "More"]
        assert len(told.events()) == 4


@pytest.mark.parametrize("name", ["chat", "responses", "anthropic", "ollama", "gemini"])
def test_of_an_answer_that_broke_off_what_came_is_told(name: str, told: Told) -> None:
    asked = ask(name, person(name, "Hi"), model="m--broken", stream=True)
    answer = (
        spoken(asked)
        if name != "gemini"
        else spoken(ask(name, person(name, "Hi"), stream=True))[:150]
    )
    told.answer(asked, answer, whole=False)
    said = told.said()
    assert said[0] == ("turn", "user", "Hi")
    assert TEXT.startswith("".join(text for _, role, text in said if role == "assistant"))


@pytest.mark.parametrize(
    "answer", [b"", b"{", b"\xff\xfe", b"[1, 2", b"data: x\n\n", b'{"choices": 5}', b"null"]
)
def test_an_answer_of_no_shape_hurts_nobody(answer: bytes, told: Told) -> None:
    told.answer(ask("chat", person("chat", "Hi")), answer)
    told.behind.close()
    assert [one.text for one in told.relay.tail(PROJECT, most=9)] in (["Hi"], [])


def test_geminis_array_is_read_as_far_as_it_came(told: Told) -> None:
    pieces = [
        {"candidates": [{"content": {"parts": [{"text": word}]}}]}
        for word in ("one ", "two ", "three")
    ]
    asked = ask("gemini", person("gemini", "Count"), stream=True)
    told.answer(asked, json.dumps(pieces, indent=1).encode()[:-60], whole=False)
    assert told.said()[-1][2] == "one two"


class TestWhatCounts:
    def test_main_calls_alone(self, told: Told) -> None:
        title = ask(
            "anthropic",
            person("anthropic", "fix"),
            system="Write a short title for the conversation.",
        )
        inside = ask(
            "anthropic",
            person("anthropic", "fix"),
            x_claude_code_session_id="s",
            x_claude_code_agent_id="a",
        )
        for asked in (title, inside):
            told.answer(asked, spoken(asked))
        whole = ask("anthropic", person("anthropic", "fix"))
        told.answer(whole, spoken(whole), status=500)
        count = Call(
            "POST",
            "/v1/messages/count_tokens",
            "",
            [],
            whole.body,
            Api.ANTHROPIC,
            "m",
            whole.route,
            whole.grant,
        )
        assert not told.answer(count, b"{}")
        assert told.events() == []

    def test_thoughts_and_outputs_are_not_told(self, told: Told) -> None:
        asked = ask(
            "anthropic",
            person("anthropic", "ship"),
            *tool_round("anthropic", "ls", "SECRET OUTPUT"),
            model="m--thinking",
        )
        told.answer(asked, spoken(asked))
        assert told.said() == [("turn", "assistant", TEXT)]

    def test_our_own_text_is_cut_out(self, told: Told) -> None:
        ours = "<everest-memory>\nthe mast is blue\n</everest-memory>"
        asked = ask("chat", person("chat", f"{ours}\nBuild it"))
        answer = {"choices": [{"message": {"content": f"As told: {ours} done."}}]}
        told.answer(asked, json.dumps(answer).encode())
        texts = [text for _, _, text in told.said()]
        assert texts[0] == "Build it"
        assert "mast" not in texts[1]
        assert texts[1].startswith("As told:")

    def test_a_correction_is_told_as_one(self, told: Told) -> None:
        asked = ask(
            "chat",
            person("chat", "Add it"),
            agent("chat", "I used npm."),
            person("chat", "No, don't use npm, we use pnpm here."),
        )
        told.answer(asked, spoken(asked))
        assert told.said()[0] == ("correction", "user", "No, don't use npm, we use pnpm here.")

    def test_secrets_are_struck_out(self, told: Told) -> None:
        secret = "ghp_" + "a1B2c3D4e5" * 3 + "Zx9Yw8"
        asked = ask("chat", person("chat", f"use {secret} then"))
        told.answer(asked, spoken(asked))
        assert secret not in json.dumps([one.record() for one in told.events()])


class TestDeploys:
    @pytest.mark.parametrize("name", TALKS)
    def test_what_was_run_and_came_back_well(self, name: str, told: Told) -> None:
        asked = ask(
            name,
            person(name, "Ship it"),
            *tool_round(name, "npm test && git push origin main", "ok"),
        )
        told.answer(asked, spoken(asked))
        again = ask(
            name,
            person(name, "Ship it"),
            *tool_round(name, "npm test && git push origin main", "ok"),
            agent(name, TEXT),
            person(name, "Thanks"),
        )
        told.answer(again, spoken(again))
        assert [text for kind, _, text in told.said() if kind == "deploy"] == [
            "git push origin main"
        ]

    @pytest.mark.parametrize("name", TALKS)
    def test_what_failed_or_only_looked_is_none(self, name: str, told: Told) -> None:
        for command, result in [
            ("git push", "Process exited with code 1"),
            ("git status", "ok"),
            ("echo 'git push'", "ok"),
        ]:
            asked = ask(
                name,
                person(name, f"Do {command}"),
                *tool_round(name, command, result, failed="1" in result),
            )
            told.answer(asked, spoken(asked))
        assert "deploy" not in {kind for kind, _, _ in told.said()}

    def test_a_chain_that_sends_results_alone(self, told: Told) -> None:
        made = {
            "type": "function_call",
            "call_id": "c9",
            "name": "shell",
            "arguments": json.dumps({"command": ["bash", "-lc", "npm publish"]}),
        }
        first = ask("responses", person("responses", "Publish"))
        told.answer(
            first, json.dumps({"object": "response", "id": "resp_1", "output": [made]}).encode()
        )
        back = {"type": "function_call_output", "call_id": "c9", "output": "ok"}
        later = ask("responses", back, previous_response_id="resp_1")
        told.answer(later, spoken(later))
        events = told.events()
        assert [one.text for one in events if one.kind == "deploy"] == ["npm publish"]
        assert len({one.session for one in events}) == 1


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"user_agent": "claude-cli/2.1.300 (external, cli)"}, "claude_code"),
        ({"x_claude_code_session_id": "s"}, "claude_code"),
        ({"user_agent": "codex_cli_rs/0.153.0 (Ubuntu 24.4.0; x86_64) xterm"}, "codex"),
        ({"user_agent": "GeminiCLI/0.9.0/gemini-3 (linux; x64)"}, "gemini_cli"),
        ({"user_agent": "OpenAI/Python 3.57.0"}, "openai-python"),
        ({"user_agent": "ollama-python/0.6.3 (x86_64 linux) Python/3.11"}, "ollama-python"),
        ({}, ""),
    ],
)
def test_the_agent_is_told_by_its_headers(headers: dict[str, str], name: str, told: Told) -> None:
    tools = [{"name": "Bash", "input_schema": {}}]
    asked = ask("anthropic", person("anthropic", "Hi"), tools=tools, **headers)
    told.answer(asked, spoken(asked))
    assert {one.agent for one in told.events()} == {name}
