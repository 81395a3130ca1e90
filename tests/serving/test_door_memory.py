"""The shipped proxy with a memory: real clients work on, and the next model knows what was done."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import ollama
import openai
import pytest
from google import genai
from google.genai import types as genai_types

from tests.serving.running import EVERY_API, RunningProxy, running_proxy
from tests.serving.shipped import Everest
from tests.serving.speech import CALLS, SIGNATURE, WORDS, speak
from tests.serving.upstream import Upstream

TEXT = "".join(WORDS)
ASKS = "Do we use pnpm or npm in this repo?"
LESSON = "We always use pnpm in this repo."
PROJECT = "paperboat-54472414"
PATIENT = {"EVEREST_PROXY_BUDGET": "5"}
"""A machine that runs tests may be slower than the budget."""


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(speak) as server:
        yield server


@pytest.fixture(scope="module")
def kept_home(slept_once: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(slept_once[1], tmp_path_factory.mktemp("door") / "base"))


@pytest.fixture(scope="module")
def proxy(upstream: Upstream, kept_home: Path) -> Iterator[RunningProxy]:
    with opened(kept_home, upstream) as running:
        yield running


def opened(base: Path, upstream: Upstream, **env: str) -> Any:
    routes = EVERY_API.format(upstream.url)
    return running_proxy(Everest(base), EVEREST_ROUTES=routes, **{**PATIENT, **env})


def url(proxy: RunningProxy, project: str = "paperboat") -> str:
    return f"{proxy.url}/t/{proxy.token}/p/{project}"


def got(upstream: Upstream) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(upstream.received[-1].body)
    return told


def relay(proxy: RunningProxy, project: str = PROJECT) -> list[dict[str, Any]]:
    path = proxy.person.home / "relay" / f"{project}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def until_told(proxy: RunningProxy, *texts: str) -> list[dict[str, Any]]:
    """Return the relay once it holds these texts: it is told behind the answers."""
    for _ in range(200):
        events = relay(proxy)
        if all(any(text in one["text"] for one in events) for text in texts):
            return events
        time.sleep(0.05)
    raise AssertionError(texts, events)


WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


class TestClients:
    def test_openai_chat(self, proxy: RunningProxy, upstream: Upstream) -> None:
        tools: Any = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]
        asked: list[Any] = [{"role": "user", "content": f"Chat: {ASKS}"}]
        with openai.OpenAI(base_url=f"{url(proxy)}/v1", api_key="sk", max_retries=0) as client:
            with client.chat.completions.stream(
                model="m--tools", messages=asked, tools=tools
            ) as talk:
                message = talk.get_final_completion().choices[0].message
            first = upstream.received[-1].body
            calls = message.tool_calls or []
            asked.append(message.to_dict())
            asked += [{"role": "tool", "tool_call_id": one.id, "content": "rain"} for one in calls]
            done = client.chat.completions.create(model="m--tools", messages=asked, tools=tools)
        assert done.choices[0].message.content == TEXT
        later = got(upstream)["messages"]
        assert LESSON in later[0]["content"]
        assert later[0] == json.loads(first)["messages"][0]
        assert later[1:] == asked[1:]
        until_told(proxy, "Chat: ", "[weather]\n[weather]")

    def test_openai_responses(self, proxy: RunningProxy, upstream: Upstream) -> None:
        with openai.OpenAI(base_url=f"{url(proxy)}/v1", api_key="sk", max_retries=0) as client:
            with client.responses.stream(model="m", input=f"Responses: {ASKS}") as talk:
                assert talk.get_final_response().output_text == TEXT
            assert LESSON in got(upstream)["input"]
            client.responses.create(
                model="m", input=f"Again: {ASKS}", previous_response_id="resp_1"
            )
        assert got(upstream)["input"] == f"Again: {ASKS}"
        events = until_told(proxy, "Responses: ", "Again: ")
        mine = [
            one["session"] for one in events if one["text"].startswith(("Responses: ", "Again: "))
        ]
        assert len(set(mine)) == 1

    def test_anthropic(self, proxy: RunningProxy, upstream: Upstream) -> None:
        tools: Any = [{"name": "weather", "input_schema": WEATHER}]
        asked: list[Any] = [{"role": "user", "content": f"Claude: {ASKS}"}]
        with anthropic.Anthropic(base_url=url(proxy), api_key="sk-ant", max_retries=0) as client:
            with client.messages.stream(
                model="m--tools", max_tokens=99, messages=asked, tools=tools
            ) as talk:
                message = talk.get_final_message()
            first = got(upstream)["messages"][0]
            made = [one for one in message.content if one.type == "tool_use"]
            assert [(one.name, one.input) for one in made] == CALLS
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": "rain"} for one in made
            ]
            asked += [
                {"role": "assistant", "content": [one.to_dict() for one in message.content]},
                {"role": "user", "content": results},
            ]
            done = client.messages.create(
                model="m--tools", max_tokens=99, messages=asked, tools=tools
            )
            assert done.content[-1].text == TEXT  # type: ignore[union-attr]
            counted = client.messages.count_tokens(
                model="m", messages=[{"role": "user", "content": ASKS}]
            )
        later = [json.loads(one.body) for one in upstream.received[-2:]]
        assert counted.input_tokens == 12
        assert LESSON not in json.dumps(later[1])
        assert LESSON in first["content"][-1]["text"]
        assert later[0]["messages"][0] == first
        assert later[0]["messages"][1:] == asked[1:]
        assert SIGNATURE in json.dumps(later[0]["messages"][1])

    def test_gemini(self, proxy: RunningProxy, upstream: Upstream) -> None:
        options = genai_types.HttpOptions(base_url=url(proxy))
        weather = genai_types.FunctionDeclaration(name="weather", parameters_json_schema=WEATHER)
        config = genai_types.GenerateContentConfig(
            tools=[genai_types.Tool(function_declarations=[weather])]
        )
        user = genai_types.Content(role="user", parts=[genai_types.Part(text=f"Gemini: {ASKS}")])
        with genai.Client(api_key="g-key", http_options=options) as client:
            first = client.models.generate_content(
                model="gemini--tools", contents=user, config=config
            )
            sent = got(upstream)["contents"][0]
            assert [(one.name, one.args) for one in first.function_calls or []] == CALLS
            back = genai_types.Part.from_function_response(name="weather", response={"sky": "rain"})
            contents: Any = [
                user,
                first.candidates[0].content,
                genai_types.Content(role="user", parts=[back]),
            ]  # type: ignore[index]
            pieces = client.models.generate_content_stream(
                model="gemini--tools", contents=contents, config=config
            )
            assert "".join(one.text or "" for one in pieces) == TEXT
        assert LESSON in sent["parts"][-1]["text"]
        assert got(upstream)["contents"][0] == sent
        until_told(proxy, "Gemini: ")

    def test_ollama(self, proxy: RunningProxy, upstream: Upstream) -> None:
        asked = [{"role": "user", "content": f"Ollama: {ASKS}"}]
        with ollama.Client(host=url(proxy)) as client:
            pieces = client.chat(model="m", messages=asked, stream=True)
            assert "".join(one.message.content or "" for one in pieces) == TEXT
        assert LESSON in got(upstream)["messages"][0]["content"]
        events = until_told(proxy, "Ollama: ")
        assert next(one["agent"] for one in events if "Ollama: " in one["text"]) == "ollama-python"


def chat(proxy: RunningProxy, words: str, model: str, project: str = "paperboat") -> None:
    body = {"model": model, "messages": [{"role": "user", "content": words}]}
    answer = httpx.post(f"{url(proxy, project)}/v1/chat/completions", json=body, timeout=20)
    assert answer.status_code == 200


class TestHandoff:
    def test_work_goes_from_model_to_model_and_stays_in_its_project(
        self, upstream: Upstream, slept_once: tuple[Path, Path], tmp_path: Path
    ) -> None:
        base = Path(shutil.copytree(slept_once[1], tmp_path / "base"))
        with opened(base, upstream) as proxy:
            chat(proxy, "Let the mast be blue", "model-a")
            assert "everest-memory" not in json.dumps(got(upstream))
            until_told(proxy, "mast be blue")
            chat(proxy, "And the hull red", "model-b")
            assert "Let the mast be blue" in json.dumps(got(upstream))
            until_told(proxy, "hull red")
            chat(proxy, "What is left?", "model-a")
            assert "And the hull red" in json.dumps(got(upstream))
            chat(proxy, "What is left here?", "model-c", "tidewater")
            assert "everest-memory" not in json.dumps(got(upstream))

    def test_a_lesson_that_the_person_rejects_is_gone_from_the_next_request(
        self, upstream: Upstream, slept_once: tuple[Path, Path], tmp_path: Path
    ) -> None:
        base = Path(shutil.copytree(slept_once[1], tmp_path / "base"))
        person = Everest(base)
        with opened(base, upstream) as proxy:
            chat(proxy, ASKS, "model-x")
            assert LESSON in json.dumps(got(upstream))
            wrong = next(one for one in person.lessons() if one["text"] == LESSON)
            assert (
                person.at_terminal("reject", wrong["lesson_id"], "--reason", "we moved to bun").code
                == 0
            )
            chat(proxy, ASKS, "model-x")
            assert LESSON not in json.dumps(got(upstream))
            chat(proxy, f"{ASKS} Please.", "model-x")
            assert LESSON not in json.dumps(got(upstream))


def test_with_several_projects_and_none_named_nothing_is_added_and_it_is_counted(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": ASKS}]}
    httpx.post(f"{proxy.url}/t/{proxy.token}/v1/chat/completions", json=body)
    assert got(upstream) == body
    told = httpx.get(f"{proxy.url}/metrics").text
    assert 'everest_proxy_additions_total{outcome="no project"} 1\n' in told
    httpx.post(f"{url(proxy)}/v1/chat/completions", json=body)
    assert got(upstream) != body


def test_a_chain_of_answers_goes_on_in_the_next_process(
    upstream: Upstream, slept_once: tuple[Path, Path], tmp_path: Path
) -> None:
    """Both turns are of one conversation: what the first was told is not told again."""
    base = Path(shutil.copytree(slept_once[1], tmp_path / "base"))
    asked = {"model": "m", "input": ASKS}
    with opened(base, upstream) as proxy:
        first = httpx.post(f"{url(proxy)}/v1/responses", json=asked).json()["id"]
        assert LESSON in json.dumps(got(upstream))
        until_told(proxy, ASKS)
    again = {**asked, "previous_response_id": first}
    with opened(base, upstream) as proxy:
        httpx.post(f"{url(proxy)}/v1/responses", json=again)
        assert LESSON not in json.dumps(got(upstream))
        httpx.post(f"{url(proxy)}/v1/responses", json={**again, "previous_response_id": "other"})
        assert LESSON in json.dumps(got(upstream))


def test_with_no_token_nothing_is_added_or_told(proxy: RunningProxy, upstream: Upstream) -> None:
    before = relay(proxy)
    told = {"model": "m", "messages": [{"role": "user", "content": ASKS}]}
    body = json.dumps(told, indent=1).encode()
    answer = httpx.post(
        f"{proxy.url}/v1/chat/completions", content=body, headers={"x-everest-project": "paperboat"}
    )
    assert answer.status_code == 200
    assert upstream.received[-1].body == body
    chat(proxy, "With a token now", "m")
    assert "With a token now" in json.dumps(
        [one["text"] for one in until_told(proxy, "With a token now")[len(before) :]]
    )
