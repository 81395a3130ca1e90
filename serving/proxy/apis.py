"""The four APIs that models are spoken to in: how a request of each is known and refused.

Pure. A request is known by its shape alone, before any server is chosen; what the shape tells is
who could have sent it, never who should get it.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, Final, assert_never
from urllib.parse import unquote

import msgspec

CREDENTIALS: Final = frozenset((b"authorization", b"x-api-key", b"x-goog-api-key", b"api-key"))
"""Headers in which the APIs' clients send their key."""

Headers = list[tuple[bytes, bytes]]
"""Names in small letters, as ASGI gives them, in the order in which they came."""


class Api(StrEnum):
    """An API family; a route names the one that its server speaks."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    OLLAMA = "ollama"


class _Named(msgspec.Struct):
    """What of a body its server is chosen by: all else of a long one is passed over unread."""

    model: Any = msgspec.UNSET
    name: Any = msgspec.UNSET
    """Ollama's older paths say name."""


_NAMED: Final = msgspec.json.Decoder(_Named)
_ANTHROPIC_PATHS: Final = ("/v1/messages", "/v1/complete", "/api/hello")
_MODEL_PATHS: Final = ("/v1/models/", "/v1beta/models/", "/v1beta/tunedModels/")
_ROOT: Final = "/"
_MAYBE_JSON: Final = (b"json", b"x-www-form-urlencoded", b"text/plain")
_ANTHROPIC_KINDS: Final[dict[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    413: "request_too_large",
    426: "invalid_request_error",
}
_GOOGLE_STATUSES: Final[dict[int, str]] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    413: "INVALID_ARGUMENT",
    426: "FAILED_PRECONDITION",
    502: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def header(headers: Headers, name: bytes) -> bytes | None:
    """Return the first value of a header, None when it is not there."""
    for found, value in headers:
        if found == name:
            return value
    return None


def api_of(path: str, headers: Headers) -> Api:
    """Return the API that a request is of, by its path and headers.

    `/` is what Claude Code and Ollama's own client knock at before they begin.
    """
    names = {name for name, _ in headers}
    if path.startswith("/v1beta") or b"x-goog-api-key" in names:
        return Api.GEMINI
    if b"anthropic-version" in names or _is_under(path, _ANTHROPIC_PATHS):
        return Api.ANTHROPIC
    if path.startswith("/api/"):
        return Api.OLLAMA
    if path == _ROOT:
        agent = header(headers, b"user-agent") or b""
        return Api.OLLAMA if agent.startswith(b"ollama") else Api.ANTHROPIC
    return Api.OPENAI


def is_looked_at(method: str, path: str, headers: Headers) -> bool:
    """Tell whether somebody opens the address itself, as a browser does: no model's API has that.

    Clients that knock there ask for the head alone, or say which they are.
    """
    agent = header(headers, b"user-agent") or b""
    knocks = header(headers, b"anthropic-version") or agent.startswith(b"ollama")
    return method == "GET" and path == _ROOT and not knocks


def carries_json(headers: Headers) -> bool:
    """Tell whether a body may be JSON that names its model: it says so, or it says nothing else.

    What `curl -d` sends says that it is a form.
    """
    kind = (header(headers, b"content-type") or b"application/json").lower()
    encoded = header(headers, b"content-encoding") or b"identity"
    return encoded.lower() == b"identity" and any(one in kind for one in _MAYBE_JSON)


def model_in(api: Api, path: str, body: bytes | None) -> str | None:
    """Return the model that a request names in its path or its body, None when it names none."""
    for begin in _MODEL_PATHS:
        if path.startswith(begin):
            return _named_in(api, unquote(path[len(begin) :])) or None
    if not body:
        return None
    try:
        read = _NAMED.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return None
    named = read.name if read.model is msgspec.UNSET else read.model
    return named if isinstance(named, str) and named else None


def _named_in(api: Api, rest: str) -> str:
    """Return the model at the begin of a path's rest; only Gemini puts a method behind it."""
    return rest.partition("/")[0].partition(":")[0] if api is Api.GEMINI else rest


def error_body(api: Api, status: int, message: str) -> bytes:
    """Return an error as the API's own clients read it."""
    match api:
        case Api.OPENAI:
            kind = "invalid_request_error" if status < 500 else "api_error"
            told = {"message": message, "type": kind, "param": None, "code": None}
            return _json({"error": told})
        case Api.ANTHROPIC:
            named = _ANTHROPIC_KINDS.get(status, "api_error")
            return _json({"type": "error", "error": {"type": named, "message": message}})
        case Api.GEMINI:
            name = _GOOGLE_STATUSES.get(status, "INTERNAL")
            return _json({"error": {"code": status, "message": message, "status": name}})
        case Api.OLLAMA:
            return _json({"error": message})
    assert_never(api)


def _is_under(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
