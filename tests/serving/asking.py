"""Calls as the proxy sees them, for tests that need no server."""

from __future__ import annotations

import json
from typing import Any

from serving.grants import Grant
from serving.proxy.apis import Api
from serving.proxy.calls import Call
from serving.proxy.routes import Route

PATHS = {
    "chat": (Api.OPENAI, "/v1/chat/completions"),
    "responses": (Api.OPENAI, "/v1/responses"),
    "anthropic": (Api.ANTHROPIC, "/v1/messages"),
    "gemini": (Api.GEMINI, "/v1beta/models/gemini-m:generateContent"),
    "ollama": (Api.OLLAMA, "/api/chat"),
    "generate": (Api.OLLAMA, "/api/generate"),
}


def call(
    name: str,
    body: dict[str, Any] | bytes,
    *,
    path: str | None = None,
    project: str = "boat",
    **headers: str,
) -> Call:
    """Return a call of an API; underscores in headers' names stand for hyphens."""
    api, its = PATHS[name]
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    listed = [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()]
    model = "gemini-m" if name == "gemini" else json.loads(sent).get("model")
    grant = Grant("default", frozenset({project}), "test")
    route = Route("*", "http://127.0.0.1:1", "", api)
    return Call("POST", path or its, "", listed, sent, api, model, route, grant)


def person(name: str, words: str) -> dict[str, Any]:
    """Return a message of the person's as the API writes it."""
    return (
        {"role": "user", "parts": [{"text": words}]}
        if name == "gemini"
        else {"role": "user", "content": words}
    )


def agent(name: str, words: str) -> dict[str, Any]:
    """Return a model's message as the API writes it."""
    if name == "gemini":
        return {"role": "model", "parts": [{"text": words}]}
    return {"role": "assistant", "content": words}


def talk(name: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a request's body."""
    key = {"gemini": "contents", "responses": "input"}.get(name, "messages")
    return {"model": "big-1", key: list(messages), **more}


def tool_round(
    name: str, command: str, result: str, *, failed: bool = False
) -> list[dict[str, Any]]:
    """Return a call of a shell and what came back, as the API writes them."""
    given = {"command": command}
    match name:
        case "chat":
            made = {
                "id": "c1",
                "type": "function",
                "function": {"name": "shell", "arguments": json.dumps(given)},
            }
            return [
                {"role": "assistant", "content": None, "tool_calls": [made]},
                {"role": "tool", "tool_call_id": "c1", "content": result},
            ]
        case "responses":
            return [
                {"type": "reasoning", "id": "r1", "summary": []},
                {
                    "type": "function_call",
                    "call_id": "c1",
                    "name": "shell",
                    "arguments": json.dumps(given),
                },
                {"type": "function_call_output", "call_id": "c1", "output": result},
            ]
        case "anthropic":
            thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln+/=="}
            used = {"type": "tool_use", "id": "c1", "name": "Bash", "input": given}
            back = {
                "type": "tool_result",
                "tool_use_id": "c1",
                "content": result,
                "is_error": failed,
            }
            return [
                {"role": "assistant", "content": [thought, used]},
                {"role": "user", "content": [back]},
            ]
        case "gemini":
            made = {"functionCall": {"name": "shell", "args": given}, "thoughtSignature": "c2ln"}
            back = {"functionResponse": {"name": "shell", "response": {"output": result}}}
            return [{"role": "model", "parts": [made]}, {"role": "user", "parts": [back]}]
        case _:
            made = {"function": {"name": "shell", "arguments": given}}
            return [
                {"role": "assistant", "content": "", "tool_calls": [made]},
                {"role": "tool", "tool_name": "shell", "content": result},
            ]


TALKS = ["chat", "responses", "anthropic", "gemini", "ollama"]
"""The APIs that send a whole conversation each time."""
