"""The real client packages, each through the shipped proxy to a scripted server of its API."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import ollama
import openai
import pytest
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from tests.serving.running import EVERY_API, RunningProxy, running_proxy
from tests.serving.shipped import Everest
from tests.serving.speech import CALLS, SIGNATURE, WORDS, speak
from tests.serving.upstream import Upstream

TEXT = "".join(WORDS)
WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(speak) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    person = Everest(tmp_path_factory.mktemp("door"))
    with running_proxy(person, EVEREST_ROUTES=EVERY_API.format(upstream.url)) as running:
        yield running


class TestOpenAI:
    @pytest.fixture
    def client(self, proxy: RunningProxy) -> Iterator[openai.OpenAI]:
        with openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="sk-mine", max_retries=0) as client:
            yield client

    def test_streamed_words(self, client: openai.OpenAI) -> None:
        stream = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        assert "".join(one.choices[0].delta.content or "" for one in stream) == TEXT

    def test_parallel_tool_calls_and_their_results(
        self, client: openai.OpenAI, upstream: Upstream
    ) -> None:
        asked: list[Any] = [{"role": "user", "content": "weather?"}]
        tools: Any = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]
        with client.chat.completions.stream(model="m--tools", messages=asked, tools=tools) as talk:
            message = talk.get_final_completion().choices[0].message
        calls = message.tool_calls or []
        made = [(one.function.name, json.loads(one.function.arguments)) for one in calls]
        assert made == CALLS
        asked.append(message.to_dict())
        asked += [{"role": "tool", "tool_call_id": one.id, "content": "rain"} for one in calls]
        closing = client.chat.completions.create(model="m--tools", messages=asked, tools=tools)
        assert closing.choices[0].message.content == TEXT
        assert upstream.received[-1].header("authorization") == "Bearer sk-mine"

    def test_responses_streamed_with_tools(self, client: openai.OpenAI) -> None:
        tools: Any = [
            {"type": "function", "name": "weather", "parameters": WEATHER, "strict": False}
        ]
        with client.responses.stream(model="m--tools", input="weather?", tools=tools) as talk:
            output = talk.get_final_response().output
        made = [(one.name, json.loads(one.arguments)) for one in output]  # type: ignore[union-attr]
        assert made == CALLS
        results: Any = [
            {"type": "function_call_output", "call_id": one.call_id, "output": "rain"}  # type: ignore[union-attr]
            for one in output
        ]
        given: Any = [*(one.to_dict() for one in output), *results]
        assert client.responses.create(model="m--tools", input=given).output_text == TEXT

    def test_sub_resources_of_responses_are_forwarded(
        self, proxy: RunningProxy, upstream: Upstream
    ) -> None:
        for method, path in [
            ("GET", "/v1/responses/resp_1?include=a&include=b"),
            ("DELETE", "/v1/responses/resp_1"),
            ("POST", "/v1/responses/resp_1/cancel"),
            ("GET", "/v1/responses/resp_1/input_items?limit=2"),
            ("PUT", "/v1/some/thing/new"),
        ]:
            assert httpx.request(method, proxy.url + path).status_code == 200
            got = upstream.received[-1]
            assert (got.method, got.target) == (method, path)

    def test_embeddings_and_models(self, client: openai.OpenAI) -> None:
        assert client.embeddings.create(model="e", input="x").data[0].embedding == [0.5, 0.25]
        assert [one.id for one in client.models.list()] == ["m"]

    def test_an_error_is_the_servers_own(self, client: openai.OpenAI) -> None:
        with pytest.raises(openai.RateLimitError) as raised:
            client.chat.completions.create(model="m--error", messages=[])
        assert raised.value.response.headers["retry-after"] == "7"
        assert "slow down" in str(raised.value)

    def test_a_stream_that_breaks_off_does_not_end_well(self, client: openai.OpenAI) -> None:
        stream = client.chat.completions.create(model="m--broken", messages=[], stream=True)
        met = []
        with pytest.raises(openai.APIConnectionError):
            met += list(stream)

    def test_a_slow_first_byte_is_waited_for(self, client: openai.OpenAI) -> None:
        done = client.chat.completions.create(model="m--slow", messages=[])
        assert done.choices[0].message.content == TEXT


class TestAnthropic:
    @pytest.fixture
    def client(self, proxy: RunningProxy) -> Iterator[anthropic.Anthropic]:
        with anthropic.Anthropic(base_url=proxy.url, api_key="sk-ant", max_retries=0) as client:
            yield client

    def test_thinking_tools_and_results_keep_their_signature(
        self, client: anthropic.Anthropic, upstream: Upstream
    ) -> None:
        tools: Any = [{"name": "weather", "input_schema": WEATHER}]
        asked: list[Any] = [{"role": "user", "content": "weather?"}]
        with client.messages.stream(
            model="m--tools", max_tokens=99, messages=asked, tools=tools
        ) as talk:
            message = talk.get_final_message()
        thinking, *calls = message.content
        assert thinking.signature == SIGNATURE  # type: ignore[union-attr]
        assert [(one.name, one.input) for one in calls] == CALLS  # type: ignore[union-attr]
        results = [
            {"type": "tool_result", "tool_use_id": one.id, "content": "rain"}  # type: ignore[union-attr]
            for one in calls
        ]
        asked += [
            {"role": "assistant", "content": [one.to_dict() for one in message.content]},
            {"role": "user", "content": results},
        ]
        done = client.messages.create(model="m--tools", max_tokens=99, messages=asked, tools=tools)
        assert done.content[-1].text == TEXT  # type: ignore[union-attr]
        assert SIGNATURE.encode() in upstream.received[-1].body
        assert upstream.received[-1].header("authorization") == "Bearer sk-ant"

    def test_an_error_in_the_stream_reaches_the_client(self, client: anthropic.Anthropic) -> None:
        asked: Any = [{"role": "user", "content": "hi"}]
        with (
            pytest.raises(anthropic.APIStatusError, match="Overloaded"),
            client.messages.stream(model="m--overloaded", max_tokens=9, messages=asked) as talk,
        ):
            talk.get_final_message()

    def test_count_tokens_models_and_errors(
        self, client: anthropic.Anthropic, upstream: Upstream
    ) -> None:
        asked: Any = [{"role": "user", "content": "hi"}]
        assert client.messages.count_tokens(model="m", messages=asked).input_tokens == 12
        assert [one.id for one in client.models.list(limit=1000)] == ["m"]
        assert upstream.received[-1].target == "/v1/models?limit=1000"
        with pytest.raises(anthropic.RateLimitError):
            client.messages.create(model="m--error", max_tokens=9, messages=asked)

    @pytest.mark.parametrize("path", ["/", "/api/hello"])
    def test_what_claude_code_knocks_at_is_forwarded(
        self, proxy: RunningProxy, upstream: Upstream, path: str
    ) -> None:
        answer = httpx.head(proxy.url + path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert (upstream.received[-1].method, upstream.received[-1].target) == ("HEAD", path)


def test_whoever_opens_the_address_itself_is_answered_here(
    proxy: RunningProxy, upstream: Upstream
) -> None:
    before = len(upstream.received)
    told = httpx.get(proxy.url)
    assert (told.status_code, "/health" in told.text) == (200, True)
    assert len(upstream.received) == before
    httpx.get(proxy.url, headers={"user-agent": "ollama/0.9"})
    assert len(upstream.received) == before + 1, "Ollama's own client knocks there"


class TestGemini:
    @pytest.fixture
    def client(self, proxy: RunningProxy) -> Iterator[genai.Client]:
        options = genai_types.HttpOptions(base_url=proxy.url)
        with genai.Client(api_key="g-key", http_options=options) as client:
            yield client

    def test_streamed_words(self, client: genai.Client, upstream: Upstream) -> None:
        pieces = client.models.generate_content_stream(model="gemini-m", contents="hi")
        assert "".join(one.text or "" for one in pieces) == TEXT
        got = upstream.received[-1]
        assert got.target == "/v1/models/gemini-m:streamGenerateContent?alt=sse"
        assert got.header("x-goog-api-key") == "g-key"

    def test_tools_keep_their_signature(self, client: genai.Client, upstream: Upstream) -> None:
        weather = genai_types.FunctionDeclaration(name="weather", parameters_json_schema=WEATHER)
        config = genai_types.GenerateContentConfig(
            tools=[genai_types.Tool(function_declarations=[weather])]
        )
        first = client.models.generate_content(
            model="gemini--tools", contents="weather?", config=config
        )
        assert [(one.name, one.args) for one in first.function_calls or []] == CALLS
        contents: Any = [
            genai_types.Content(role="user", parts=[genai_types.Part(text="weather?")]),
            first.candidates[0].content,  # type: ignore[index]
            genai_types.Content(
                role="user",
                parts=[
                    genai_types.Part.from_function_response(
                        name="weather", response={"sky": "rain"}
                    )
                ],
            ),
        ]
        done = client.models.generate_content(
            model="gemini--tools", contents=contents, config=config
        )
        assert done.text == TEXT
        sent = json.loads(upstream.received[-1].body)["contents"][1]["parts"][0]
        assert base64.urlsafe_b64decode(sent["thoughtSignature"]) == base64.b64decode(SIGNATURE)

    def test_counts_embeddings_and_errors(self, client: genai.Client) -> None:
        assert client.models.count_tokens(model="gemini-m", contents="hi").total_tokens == 12
        embedded = client.models.embed_content(model="gemini-e", contents="hi")
        assert embedded.embeddings[0].values == [0.5, 0.25]  # type: ignore[index]
        with pytest.raises(genai_errors.ClientError, match="RESOURCE_EXHAUSTED"):
            client.models.generate_content(model="gemini--error", contents="hi")


class TestOllama:
    @pytest.fixture
    def client(self, proxy: RunningProxy) -> Iterator[ollama.Client]:
        with ollama.Client(host=proxy.url) as client:
            yield client

    def test_streamed_words(self, client: ollama.Client) -> None:
        pieces = client.chat(model="m", messages=[{"role": "user", "content": "hi"}], stream=True)
        assert "".join(one.message.content or "" for one in pieces) == TEXT

    def test_tool_calls_and_their_results(self, client: ollama.Client) -> None:
        asked: list[Any] = [{"role": "user", "content": "weather?"}]
        tools: Any = [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}]
        first = client.chat(model="m--tools", messages=asked, tools=tools)
        made = [
            (one.function.name, dict(one.function.arguments))
            for one in first.message.tool_calls or []
        ]
        assert made == CALLS
        asked += [first.message, {"role": "tool", "tool_name": "weather", "content": "rain"}]
        assert client.chat(model="m--tools", messages=asked).message.content == TEXT

    def test_lists_embeddings_and_errors(self, client: ollama.Client) -> None:
        assert client.list().models == []
        assert client.embed(model="e", input="x").embeddings == [[0.5, 0.25]]
        with pytest.raises(ollama.ResponseError, match="slow down"):
            client.chat(model="m--error", messages=[])


def test_nothing_of_ours_was_kept_of_it(proxy: RunningProxy) -> None:
    """With no token the proxy is a pass-through: it wrote what its start makes, and no more."""
    made = {str(path.relative_to(proxy.person.home)) for path in _files(proxy.person.home)}
    assert made == {"door.sock", "tokens.json", "keys/door.token"}


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]
