"""A model that follows a script: what it was told last decides what it says or which tool it calls.

It speaks the three APIs of the real command lines, streamed. What else is asked of it (titles,
topics, counts) is answered with few words. The server beneath it keeps every request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.serving.upstream import Received, Reply

_SSE = (("content-type", "text/event-stream"),)
_JSON = (("content-type", "application/json"),)
_USAGE = {"input_tokens": 1, "output_tokens": 1}
_SHELLS = {"Bash": "command", "run_shell_command": "command", "exec_command": "cmd"}
_CALLED = "function_call_output"
_ids = count(1)


@dataclass(frozen=True, slots=True)
class Says:
    """The model hands back with these words."""

    text: str


@dataclass(frozen=True, slots=True)
class Calls:
    """The model calls a tool."""

    name: str
    given: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Heard:
    """What a request brings.

    Attributes:
        words: the newest user message that has any, with whatever the agent put around them.
        results: what tools gave since then.
        offered: names of tools; those of a namespace as `namespace/name`.
    """

    words: str
    results: tuple[str, ...]
    offered: tuple[str, ...]

    def shell(self, command: str) -> Calls:
        """Return a call of the shell as this agent offers one."""
        name = next(name for name in self.offered if name in _SHELLS)
        return Calls(name, {_SHELLS[name]: command, "description": "run it"})


Plan = Callable[[Heard], Says | Calls]


def follow(plan: Plan) -> Callable[[Received], Reply]:
    """Return the script of a server that answers as `plan` says."""

    def speak(request: Received) -> Reply:
        path = request.path
        if request.method != "POST":
            return _whole({"data": [], "models": [], "has_more": False})
        body = json.loads(request.body or b"{}")
        if path.endswith("/messages"):
            return _messages(body, plan)
        if path.endswith("/responses"):
            return _responses(body, plan)
        if path.endswith("enerateContent"):
            return _gemini(path, body, plan)
        return _whole({"input_tokens": 12, "totalTokens": 12})

    return speak


def _messages(body: dict[str, Any], plan: Plan) -> Reply:
    turns = [_parts(one["content"]) for one in body["messages"] if one["role"] == "user"]
    heard = _heard(turns, "text", "tool_result", [one["name"] for one in body.get("tools", [])])
    begun: dict[str, Any]
    match plan(heard):
        case Says(text):
            begun, filled = {"type": "text", "text": ""}, {"text": text}
            delta, reason = {"type": "text_delta", "text": text}, "end_turn"
        case Calls(name, given):
            begun = {"type": "tool_use", "id": f"toolu_{next(_ids)}", "name": name, "input": {}}
            filled = {"input": given}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
            reason = "tool_use"
    message = {"id": f"msg_{next(_ids)}", "type": "message", "role": "assistant", "content": []}
    message |= {"model": body["model"], "stop_reason": None, "stop_sequence": None, "usage": _USAGE}
    ended = {"stop_reason": reason, "stop_sequence": None}
    if not body.get("stream"):
        return _whole({**message, **ended, "content": [{**begun, **filled}]})
    return _streamed(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


def _responses(body: dict[str, Any], plan: Plan) -> Reply:
    told = [x for x in body["input"] if x.get("role") == "user" or x["type"] == _CALLED]
    turns = [[one] if one["type"] == _CALLED else one["content"] for one in told]
    offered = list(_functions(body.get("tools", [])))
    item: dict[str, Any]
    match plan(_heard(turns, "input_text", _CALLED, offered)):
        case Says(text):
            part = {"type": "output_text", "text": text, "annotations": []}
            item = {"type": "message", "id": f"m_{next(_ids)}", "role": "assistant"}
            item |= {"status": "completed", "content": [part]}
        case Calls(tool, given):
            space, _, name = tool.rpartition("/")
            item = {"type": "function_call", "id": f"fc_{next(_ids)}", "name": name}
            item |= {"call_id": f"call_{next(_ids)}", "status": "completed"}
            item |= {"arguments": json.dumps(given)} | ({"namespace": space} if space else {})
    whole = {"id": f"resp_{next(_ids)}", "object": "response", "created_at": 1}
    whole |= {"model": body["model"], "status": "completed", "output": [item]}
    whole["usage"] = {**_USAGE, "total_tokens": 2}
    return _streamed(
        {"type": "response.created", "response": {**whole, "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    )


def _gemini(path: str, body: dict[str, Any], plan: Plan) -> Reply:
    turns = [
        [{"type": next(iter(part)), **part} for part in one["parts"]]
        for one in body["contents"]
        if one.get("role") == "user"
    ]
    declared = [f for one in body.get("tools", []) for f in one.get("functionDeclarations", [])]
    part: dict[str, Any]
    if "responseSchema" in json.dumps(body) or "responseJsonSchema" in json.dumps(body):
        part = {"text": '{"reasoning": "short", "next_speaker": "user", "complexity_score": 1}'}
    else:
        match plan(_heard(turns, "text", "functionResponse", [one["name"] for one in declared])):
            case Says(text):
                part = {"text": text}
            case Calls(name, given):
                part = {"functionCall": {"id": f"f{next(_ids)}", "name": name, "args": given}}
    one = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    told = {"candidates": [one], "usageMetadata": usage, "modelVersion": "g"}
    if path.endswith(":streamGenerateContent"):
        return Reply([f"data: {json.dumps(told)}\r\n\r\n".encode()], headers=_SSE)
    return _whole(told)


def _heard(turns: list[list[dict[str, Any]]], words: str, result: str, offered: list[str]) -> Heard:
    """Return what user messages say; `words` and `result` are the types of such parts."""
    last, results = "", []
    for parts in turns:
        results += [json.dumps(part) for part in parts if part["type"] == result]
        if not any(part["type"] == result for part in parts):
            last, results = "\n".join(p["text"] for p in parts if p["type"] == words), []
    return Heard(last, tuple(results), tuple(offered))


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _functions(tools: list[dict[str, Any]]) -> Iterator[str]:
    """Yield names of functions; those of a namespace as `namespace/name`."""
    for one in tools:
        if one.get("type") == "namespace":
            yield from (f"{one['name']}/{name}" for name in _functions(one.get("tools", [])))
        elif "name" in one:
            yield one["name"]


def _whole(told: dict[str, Any]) -> Reply:
    return Reply([json.dumps(told).encode()], headers=_JSON)


def _streamed(*events: dict[str, Any]) -> Reply:
    lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events]
    return Reply(lines, headers=_SSE)
