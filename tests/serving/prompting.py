"""A model that works as an agent's command line expects: it calls `recall`, then says what it got.

It speaks the three APIs of the real command lines, streamed. Whatever else is asked of it (titles,
topics, counts) is answered with few words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.serving.upstream import Received, Reply

QUESTION = "which port has staging"
CLOSING = "The memory was asked."
_SSE = (("content-type", "text/event-stream"),)
_JSON = (("content-type", "application/json"),)


@dataclass
class Model:
    """What the script was sent.

    Attributes:
        tools: names of tools that a request offered, of the last request that offered any.
        results: results of tool calls that came back, as text.
    """

    tools: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def speak(self, request: Received) -> Reply:
        """Answer one request as its API would."""
        path = request.path
        if request.method != "POST":
            return Reply([b'{"data": [], "models": [], "has_more": false}'], headers=_JSON)
        body = json.loads(request.body or b"{}")
        if path.endswith("/count_tokens"):
            return Reply([b'{"input_tokens": 12}'], headers=_JSON)
        if path.endswith("/messages"):
            return self._messages(body)
        if path.endswith("/responses"):
            return self._responses(body)
        return self._gemini(path, body)

    def _next(self, offered: list[str], results: list[str]) -> str | None:
        """Return the tool to call now, None to say the closing words."""
        if offered:
            self.tools = offered
        if results:
            self.results = results
            return None
        return next((name for name in offered if name.endswith("recall")), None)

    def _messages(self, body: dict[str, Any]) -> Reply:
        parts = [
            p
            for one in body["messages"]
            if isinstance(one["content"], list)
            for p in one["content"]
        ]
        results = [json.dumps(part) for part in parts if part.get("type") == "tool_result"]
        tool = self._next([one["name"] for one in body.get("tools", [])], results)
        if tool:
            block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps({"query": QUESTION})}
        else:
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": CLOSING}
        usage = {"input_tokens": 1, "output_tokens": 1}
        reason = "tool_use" if tool else "end_turn"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        message |= {
            "model": body["model"],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        if not body.get("stream"):
            filled = {**block, "input": {"query": QUESTION}} if tool else {**block, "text": CLOSING}
            whole = {**message, "content": [filled], "stop_reason": reason}
            return Reply([json.dumps(whole).encode()], headers=_JSON)
        ended = {"stop_reason": reason, "stop_sequence": None}
        return _streamed(
            [
                {"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
                {"type": "message_stop"},
            ]
        )

    def _responses(self, body: dict[str, Any]) -> Reply:
        given = [one for one in body["input"] if isinstance(one, dict)]
        results = [json.dumps(one) for one in given if one.get("type") == "function_call_output"]
        tool = self._next(list(_functions(body.get("tools", []))), results)
        if tool:
            space, _, name = tool.rpartition("/")
            item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name}
            item |= {"arguments": json.dumps({"query": QUESTION}), "status": "completed"}
            if space:
                item["namespace"] = space
        else:
            text = {"type": "output_text", "text": CLOSING, "annotations": []}
            item = {"type": "message", "id": "m_1", "role": "assistant", "status": "completed"}
            item["content"] = [text]
        whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"]}
        whole |= {"status": "completed", "output": [item]}
        whole["usage"] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return _streamed(
            [
                {"type": "response.created", "response": {**whole, "output": []}},
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": whole},
            ]
        )

    def _gemini(self, path: str, body: dict[str, Any]) -> Reply:
        if not path.endswith("enerateContent"):
            return Reply([b'{"totalTokens": 12}'], headers=_JSON)
        parts = [part for one in body["contents"] for part in one["parts"]]
        results = [json.dumps(part) for part in parts if "functionResponse" in part]
        declared = [f for one in body.get("tools", []) for f in one.get("functionDeclarations", [])]
        tool = self._next([one["name"] for one in declared], results)
        part: dict[str, Any] = {"text": CLOSING}
        if tool:
            part = {"functionCall": {"id": "f1", "name": tool, "args": {"query": QUESTION}}}
        if "responseSchema" in json.dumps(body) or "responseJsonSchema" in json.dumps(body):
            part = {"text": '{"reasoning": "short", "next_speaker": "user", "complexity_score": 1}'}
        one = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        said = {"candidates": [one], "usageMetadata": usage, "modelVersion": "g"}
        if path.endswith(":streamGenerateContent"):
            return Reply([f"data: {json.dumps(said)}\r\n\r\n".encode()], headers=_SSE)
        return Reply([json.dumps(said).encode()], headers=_JSON)


def _functions(tools: list[dict[str, Any]]) -> Iterator[str]:
    """Yield names of functions; those of a namespace as `namespace/name`."""
    for one in tools:
        if one.get("type") == "namespace":
            yield from (f"{one['name']}/{name}" for name in _functions(one.get("tools", [])))
        elif "name" in one:
            yield one["name"]


def _streamed(events: list[dict[str, Any]]) -> Reply:
    lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events]
    return Reply(lines, headers=_SSE)
