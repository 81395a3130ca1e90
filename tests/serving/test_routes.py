"""Which server a request is for: the list as it is written, and what it says of models and APIs."""

from __future__ import annotations

import pytest

from serving.proxy.apis import Api, Headers, api_of, model_in
from serving.proxy.heads import incoming, outgoing, readable, without_key
from serving.proxy.routes import PUBLIC, NoRoute, Route, Routes, read_routes
from tasks.errors import SettingInvalid

UP = "http://up.example:9"


def _server(routes: Routes, api: Api, model: str | None) -> str | None:
    found = routes.choose(api, model)
    return None if isinstance(found, NoRoute) else found.origin


@pytest.mark.parametrize("parted", [" ", "\n", ",", " , \n\t "])
def test_entries_are_parted_by_white_space_or_commas(parted: str) -> None:
    routes = read_routes(
        f"{parted}a*=http://a;api=openai{parted}b=http://b:1/x/;api=gemini{parted}", {}
    )
    assert [str(one) for one in routes.entries] == [
        "a*=http://a;api=openai",
        "b=http://b:1/x;api=gemini",
    ]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("nonsense", "pattern=base-url"),
        ("=http://a;api=openai", "pattern=base-url"),
        ("m=http://a", "api= is missing"),
        ("m=http://a;api=cohere", "none of openai, anthropic, gemini, ollama"),
        ("m=ftp://a;api=openai", "no http or https URL"),
        ("m=http://;api=openai", "no http or https URL"),
        ("m=http://a:99999;api=openai", "cannot be read"),
        ("m=http://a?x=1;api=openai", "query"),
        ("m=http://a;api=openai;key", "'key'"),
        ("m=http://a;api=openai;api=gemini", "'api'"),
        ("m=http://a;api=openai;keys=X", "'keys'"),
        ("m=http://a;api=openai;key=NOT_SET", "'NOT_SET' that key= names is not set"),
        ("m=http://a/v1;api=anthropic", "leave it out"),
        ("m=http://a/v1beta/;api=gemini", "leave it out"),
        ("m=http://a/api;api=ollama", "leave it out"),
        ("ok=http://b;api=openai", "has an openai route already"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_with_the_way_out(entry: str, why: str) -> None:
    with pytest.raises(SettingInvalid) as raised:
        read_routes(f"ok=http://a;api=openai {entry}", {})
    told = str(raised.value)
    assert told.startswith(f"EVEREST_ROUTES: the entry {entry!r}: ")
    assert why in told
    assert "pattern=base-url;api=" in told


@pytest.mark.parametrize(
    ("entry", "secret"),
    [
        ("m=http://me:hunter2@a;api=openai", "hunter2"),
        ("m=http://a;api=openai;key=sk-Abc123", "sk-Abc123"),
        ("m=http://a;api=openai;key=sk-Abc123;x", "sk-Abc123"),
    ],
)
def test_a_secret_put_into_an_entry_is_not_repeated(entry: str, secret: str) -> None:
    with pytest.raises(SettingInvalid) as raised:
        read_routes(entry, {})
    assert secret not in str(raised.value)


def test_a_key_is_not_in_what_a_route_says_of_itself() -> None:
    route = read_routes("m=http://a;api=openai;key=K", {"K": "sk-secret"}).entries[0]
    assert route.key == "sk-secret"
    assert "secret" not in f"{route} {route!r}"


def test_the_first_pattern_that_fits_decides() -> None:
    routes = read_routes("gpt-4*=http://a;api=openai gpt-*=http://b;api=openai", {})
    assert _server(routes, Api.OPENAI, "gpt-4o") == "http://a"
    assert _server(routes, Api.OPENAI, "gpt-5") == "http://b"
    assert _server(routes, Api.OPENAI, "o3") is None
    assert _server(routes, Api.OPENAI, "GPT-5") is None


def test_the_same_pattern_once_more_is_the_models_other_api() -> None:
    routes = read_routes("q*=http://a;api=ollama q*=http://b;api=openai *=http://c;api=openai", {})
    assert _server(routes, Api.OLLAMA, "qwen") == "http://a"
    assert _server(routes, Api.OPENAI, "qwen") == "http://b"
    assert _server(routes, Api.OPENAI, "other") == "http://c"


def test_a_request_of_another_api_is_refused_and_the_routes_are_named() -> None:
    routes = read_routes("claude*=http://a;api=anthropic *=http://b;api=openai", {})
    found = routes.choose(Api.OPENAI, "claude-x")
    assert isinstance(found, NoRoute)
    assert "anthropic API" in found.message
    assert "claude*=http://a;api=anthropic, *=http://b;api=openai" in found.message


def test_without_a_model_a_request_goes_to_its_apis_first_route() -> None:
    routes = read_routes("x=http://a;api=openai *=http://b;api=openai y=http://c;api=gemini", {})
    assert _server(routes, Api.OPENAI, None) == "http://a"
    assert _server(routes, Api.GEMINI, None) == "http://c"
    assert _server(routes, Api.OLLAMA, None) is None


@pytest.mark.parametrize(
    ("api", "model", "server"),
    [
        (Api.ANTHROPIC, "claude-opus-5", "https://api.anthropic.com"),
        (Api.OPENAI, "gpt-5.6", "https://api.openai.com"),
        (Api.OPENAI, "o3-mini", "https://api.openai.com"),
        (Api.OPENAI, "text-embedding-3-large", "https://api.openai.com"),
        (Api.GEMINI, "gemini-3-pro", "https://generativelanguage.googleapis.com"),
        (Api.OLLAMA, "llama3:8b", "http://127.0.0.1:11434"),
        (Api.OLLAMA, "gpt-oss:20b", "http://127.0.0.1:11434"),
        (Api.OLLAMA, "gemma3:4b", "http://127.0.0.1:11434"),
        (Api.OPENAI, "claude-opus-5", None),
        (Api.ANTHROPIC, "gpt-5.6", None),
        (Api.OPENAI, None, "https://api.openai.com"),
        (Api.ANTHROPIC, None, "https://api.anthropic.com"),
        (Api.GEMINI, None, "https://generativelanguage.googleapis.com"),
        (Api.OLLAMA, None, "http://127.0.0.1:11434"),
    ],
)
@pytest.mark.parametrize("setting", [None, "", " \n"])
def test_the_public_providers_are_known_by_a_models_name_and_its_api(
    setting: str | None, api: Api, model: str | None, server: str | None
) -> None:
    routes = read_routes(setting, {})
    assert _server(routes, api, model) == server
    assert len(routes.entries) == len(PUBLIC.split())


@pytest.mark.parametrize(
    ("api", "base", "path", "url"),
    [
        ("openai", "/v1", "/v1/chat/completions", "/v1/chat/completions"),
        ("openai", "", "/v1/chat/completions", "/v1/chat/completions"),
        ("openai", "/api/v1/", "/v1/models", "/api/v1/models"),
        ("openai", "/v1", "/v1", "/v1"),
        ("openai", "/v1", "/v1x/y", "/v1/v1x/y"),
        ("openai", "/v1", "//evil.example/x", "/v1//evil.example/x"),
        ("anthropic", "/api/anthropic", "/v1/messages", "/api/anthropic/v1/messages"),
        ("gemini", "", "/v1beta/models/m:generateContent", "/v1beta/models/m:generateContent"),
        ("ollama", "/below", "/api/chat", "/below/api/chat"),
    ],
)
def test_a_base_url_is_what_a_client_of_its_api_would_be_given(
    api: str, base: str, path: str, url: str
) -> None:
    route = read_routes(f"m={UP}{base};api={api}", {}).entries[0]
    assert route.url_of(path, "") == UP + url
    assert route.url_of(path, "a=%20&&b") == f"{UP}{url}?a=%20&&b"


@pytest.mark.parametrize(
    ("path", "headers", "api"),
    [
        ("/v1/chat/completions", [], Api.OPENAI),
        ("/v1/models", [], Api.OPENAI),
        ("/v1/models", [(b"anthropic-version", b"2023-06-01")], Api.ANTHROPIC),
        ("/v1/models", [(b"x-goog-api-key", b"k")], Api.GEMINI),
        ("/v1/messages", [], Api.ANTHROPIC),
        ("/v1/messages/count_tokens", [], Api.ANTHROPIC),
        ("/v1/messagesx", [], Api.OPENAI),
        ("/api/hello", [], Api.ANTHROPIC),
        ("/api/tags", [], Api.OLLAMA),
        ("/v1beta/models/m:generateContent", [], Api.GEMINI),
        ("/", [], Api.ANTHROPIC),
        ("/", [(b"user-agent", b"ollama/0.9 (arm64)")], Api.OLLAMA),
        ("/anything", [], Api.OPENAI),
    ],
)
def test_the_api_is_told_by_path_and_headers(path: str, headers: Headers, api: Api) -> None:
    assert api_of(path, headers) is api


@pytest.mark.parametrize(
    ("api", "path", "body", "model"),
    [
        (Api.OPENAI, "/v1/x", b'{"messages":[{"model":"inner"}],"model":"m"}', "m"),
        (Api.OPENAI, "/v1/x", b'{"messages":[{"model":"inner"}]}', None),
        (Api.OPENAI, "/v1/x", b'{"model":7}', None),
        (Api.OPENAI, "/v1/x", b'["model"]', None),
        (Api.OPENAI, "/v1/x", b'{"model":"m"', None),
        (Api.OPENAI, "/v1/x", b"", None),
        (Api.OPENAI, "/v1/models/ft:gpt-4o:org::id", None, "ft:gpt-4o:org::id"),
        (Api.OPENAI, "/v1/models/org%2Fname", None, "org/name"),
        (Api.OLLAMA, "/api/show", b'{"name":"m:8b"}', "m:8b"),
        (Api.GEMINI, "/v1beta/models/gemini-x:countTokens", b'{"model":"other"}', "gemini-x"),
        (Api.GEMINI, "/v1/models/gemini-x:generateContent", None, "gemini-x"),
        (Api.GEMINI, "/v1beta/models", None, None),
        (Api.GEMINI, "/v1beta/models/m/operations/1", None, "m"),
    ],
)
def test_the_model_is_read_from_where_the_api_names_it(
    api: Api, path: str, body: bytes | None, model: str | None
) -> None:
    assert model_in(api, path, body) == model


@pytest.mark.parametrize(
    ("api", "name", "value"),
    [
        (Api.OPENAI, b"authorization", b"Bearer mine"),
        (Api.OLLAMA, b"authorization", b"Bearer mine"),
        (Api.ANTHROPIC, b"x-api-key", b"mine"),
        (Api.GEMINI, b"x-goog-api-key", b"mine"),
    ],
)
def test_a_routes_own_key_replaces_every_credential_of_the_client(
    api: Api, name: bytes, value: bytes
) -> None:
    theirs: Headers = [
        (b"authorization", b"theirs"),
        (b"x-api-key", b"theirs"),
        (b"x-goog-api-key", b"theirs"),
        (b"api-key", b"theirs"),
        (b"anthropic-beta", b"kept"),
    ]
    keyed = Route("*", UP, "", api, key="mine")
    sent = outgoing(theirs, keyed, length_is_known=True)
    assert sent == [(b"anthropic-beta", b"kept"), (name, value)]
    assert outgoing(theirs, Route("*", UP, "", api), length_is_known=True) == theirs
    assert without_key("alt=sse&key=theirs&keys=kept") == "alt=sse&keys=kept"


def test_only_codings_that_can_be_undone_are_asked_for_when_an_answer_is_read() -> None:
    asked: Headers = [(b"accept-encoding", b"gzip, br;q=0.9, zstd, deflate;q=0.5"), (b"x", b"br")]
    assert readable(asked) == [(b"accept-encoding", b"gzip, deflate;q=0.5"), (b"x", b"br")]
    assert readable([(b"accept-encoding", b"br")]) == [(b"accept-encoding", b"identity")]


def test_headers_that_a_connection_names_stay_on_it() -> None:
    given: Headers = [(b"Connection", b"close, X-Hop"), (b"X-Hop", b"1"), (b"X-Kept", b"1")]
    assert incoming(200, given) == [(b"x-kept", b"1")]
