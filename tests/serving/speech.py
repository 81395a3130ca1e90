"""What model servers of the four APIs say, streamed and not: words, tool calls, thought, errors.

`speak` answers a request as its API would: the end of the model's name picks the scene
(`any-name--tools`), and a request that brings tool results gets the closing words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.serving.upstream import Break, Pause, Received, Reply, Step

WORDS = ["Hello", ", ", "wörld", " 🏔", "."]
CALLS = [("weather", {"city": "Oslo"}), ("weather", {"city": "Bergen"})]
SIGNATURE = "c2lnbmF0dXJl+//+IHN0YXlz"
COMMENT = b": keep-alive\n\n"
SLOW = 0.5

JSON = (("content-type", "application/json"), ("x-request-id", "req_1"))
SSE = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))
NDJSON = (("content-type", "application/x-ndjson"),)


def speak(request: Received) -> Reply:
    """Answer as the API of the request's path does."""
    path = request.path
    if ":" in path.rpartition("/")[2] and path.startswith(("/v1beta/", "/v1/models/")):
        return _gemini(request, path)
    body = json.loads(request.body) if request.body.startswith(b"{") else {}
    scene = _scene(str(body.get("model", "")))
    if scene == "error":
        return _error(path)
    match path:
        case "/v1/chat/completions":
            reply = _chat(body, scene)
        case "/v1/responses":
            reply = _responses(body, scene)
        case "/v1/messages":
            reply = _messages(body, scene)
        case "/api/chat":
            reply = _ollama(body, scene)
        case _:
            reply = _plain(path)
    return _slow(reply) if scene == "slow" else reply


def _scene(model: str) -> str:
    return model.partition("--")[2] or "words"


def _slow(reply: Reply) -> Reply:
    return Reply(reply.steps, reply.status, reply.headers, before=(Pause(SLOW),))


def _error(path: str) -> Reply:
    said = {"error": {"message": f"slow down at {path}", "type": "rate_limit_error", "code": "x"}}
    if path.startswith("/v1/messages"):
        said = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    head = (*JSON, ("retry-after", "7"))
    return Reply([json.dumps(said, indent=3).encode()], 429, head, length=True)


def _plain(path: str) -> Reply:
    said: dict[str, Any] = {
        "/v1/messages/count_tokens": {"input_tokens": 12},
        "/v1/embeddings": {
            "object": "list",
            "model": "e",
            "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        },
        "/v1/models": {
            "object": "list",
            "data": [
                {
                    "id": "m",
                    "object": "model",
                    "created": 1,
                    "owned_by": "us",
                    "type": "model",
                    "display_name": "M",
                    "created_at": "2026-01-01T00:00:00Z",
                }
            ],
            "has_more": False,
            "first_id": "m",
            "last_id": "m",
        },
        "/api/tags": {"models": []},
        "/api/embed": {"model": "e", "embeddings": [[0.5, 0.25]]},
    }.get(path, {"path": path})
    return Reply([json.dumps(said).encode()], headers=JSON, length=True)


def _sse(
    events: Iterator[Any], *, named: bool = False, begin: bytes = COMMENT, end: bytes = b""
) -> list[Step]:
    """Return events as a stream with a comment in it, cut where no event ends."""
    text = begin
    steps: list[Step] = []
    for event in events:
        if not isinstance(event, dict):
            steps += [text, event] if text else [event]
            text = b""
            continue
        name = f"event: {event['type']}\n" if named else ""
        text += f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        cut = max(1, len(text) - 7)
        steps.append(text[:cut])
        text = text[cut:]
    return [*steps, text + end]


def _broken(events: list[Any]) -> list[Any]:
    return [*events[: len(events) // 2], Break()]


# --- OpenAI, chat completions ---


def _chat(body: dict[str, Any], scene: str) -> Reply:
    calls: list[dict[str, Any]] = [
        {
            "index": n,
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for n, (name, given) in enumerate(CALLS)
    ]
    closing = any(one.get("role") == "tool" for one in body.get("messages", []))
    tools = scene == "tools" and not closing
    finish = "tool_calls" if tools else "stop"
    if not body.get("stream"):
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if tools else "".join(WORDS),
        }
        if tools:
            message["tool_calls"] = [
                {k: v for k, v in one.items() if k != "index"} for one in calls
            ]
        said = {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        return Reply([json.dumps(said).encode()], headers=JSON, length=True)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if tools:
        deltas += _call_deltas(calls)
    else:
        deltas += [{"content": word} for word in WORDS]
    events: list[Any] = [
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": body.get("model"),
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }
        for delta in deltas
    ]
    events.append({**events[-1], "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if scene == "broken":
        events = _broken(events)
    return Reply(_sse(iter(events), end=b"data: [DONE]\n\n"), headers=SSE)


def _call_deltas(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield parallel calls as they are streamed: all begun, then the arguments in pieces."""
    for one in calls:
        yield {"tool_calls": [{**one, "function": {**one["function"], "arguments": ""}}]}
    for one in calls:
        given = one["function"]["arguments"]
        for part in (given[:4], given[4:]):
            yield {"tool_calls": [{"index": one["index"], "function": {"arguments": part}}]}


# --- OpenAI, responses ---


def _responses(body: dict[str, Any], scene: str) -> Reply:
    given = body["input"] if isinstance(body["input"], list) else []
    closing = any(one.get("type") == "function_call_output" for one in given)
    if scene == "tools" and not closing:
        output: list[dict[str, Any]] = [
            {
                "type": "function_call",
                "id": f"fc_{n}",
                "call_id": f"call_{n}",
                "name": name,
                "arguments": json.dumps(asked),
                "status": "completed",
            }
            for n, (name, asked) in enumerate(CALLS)
        ]
    else:
        text = {"type": "output_text", "text": "".join(WORDS), "annotations": []}
        output = [
            {
                "type": "message",
                "id": "m_0",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        ]
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": body.get("model"),
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "usage": {
            "input_tokens": 1,
            "output_tokens": 1,
            "total_tokens": 2,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }
    if not body.get("stream"):
        return Reply([json.dumps(whole).encode()], headers=JSON, length=True)
    events: list[Any] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}
    ]
    for n, item in enumerate(output):
        events += _item_events(n, item)
    events.append({"type": "response.completed", "response": whole})
    events = [{**event, "sequence_number": n} for n, event in enumerate(events)]
    if scene == "broken":
        events = _broken(events)
    return Reply(_sse(iter(events), named=True), headers=SSE)


def _item_events(n: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    at = {"output_index": n, "item_id": item["id"]}
    if item["type"] == "function_call":
        begun = {**item, "arguments": "", "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": n, "item": begun}
        yield {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]}
        yield {
            "type": "response.function_call_arguments.done",
            **at,
            "arguments": item["arguments"],
            "name": item["name"],
        }
    else:
        part = {"type": "output_text", "text": "", "annotations": []}
        begun = {**item, "content": [], "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": n, "item": begun}
        yield {"type": "response.content_part.added", **at, "content_index": 0, "part": part}
        for word in WORDS:
            yield {
                "type": "response.output_text.delta",
                **at,
                "content_index": 0,
                "delta": word,
                "logprobs": [],
            }
        yield {
            "type": "response.output_text.done",
            **at,
            "content_index": 0,
            "text": "".join(WORDS),
            "logprobs": [],
        }
        yield {
            "type": "response.content_part.done",
            **at,
            "content_index": 0,
            "part": item["content"][0],
        }
    yield {"type": "response.output_item.done", "output_index": n, "item": item}


# --- Anthropic ---


def _messages(body: dict[str, Any], scene: str) -> Reply:
    closing = any(
        part.get("type") == "tool_result"
        for one in body.get("messages", [])
        if isinstance(one["content"], list)
        for part in one["content"]
    )
    tools = scene == "tools" and not closing
    blocks: list[dict[str, Any]] = []
    if scene in ("thinking", "tools"):
        blocks.append({"type": "thinking", "thinking": "Let me see.", "signature": SIGNATURE})
    if tools:
        blocks += [
            {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given}
            for n, (name, given) in enumerate(CALLS)
        ]
    else:
        blocks.append({"type": "text", "text": "".join(WORDS)})
    reason = "tool_use" if tools else "end_turn"
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": blocks,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    if not body.get("stream"):
        return Reply([json.dumps(whole).encode()], headers=JSON, length=True)
    events: list[Any] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "ping"},
    ]
    for n, block in enumerate(blocks):
        events += _block_events(n, block)
    events.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        }
    )
    events.append({"type": "message_stop"})
    if scene == "broken":
        events = _broken(events)
    if scene == "overloaded":
        told = {"type": "overloaded_error", "message": "Overloaded"}
        events = [*events[:4], {"type": "error", "error": told}]
    return Reply(_sse(iter(events), named=True), headers=SSE)


def _block_events(n: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "thinking":
            begun = {**block, "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case "tool_use":
            begun = {**block, "input": {}}
            given = json.dumps(block["input"])
            deltas = [
                {"type": "input_json_delta", "partial_json": part}
                for part in ("", given[:5], given[5:])
            ]
        case _:
            begun = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": word} for word in WORDS]
    yield {"type": "content_block_start", "index": n, "content_block": begun}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": n, "delta": delta}
    yield {"type": "content_block_stop", "index": n}


# --- Gemini ---


def _gemini(request: Received, path: str) -> Reply:
    model, _, method = path.rpartition("/")[2].partition(":")
    if method == "countTokens":
        return Reply([b'{"totalTokens": 12}'], headers=JSON, length=True)
    if method in ("embedContent", "batchEmbedContents"):
        said = {"embeddings": [{"values": [0.5, 0.25]}], "embedding": {"values": [0.5, 0.25]}}
        return Reply([json.dumps(said).encode()], headers=JSON, length=True)
    scene = _scene(model)
    if scene == "error":
        told = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}
        return Reply([json.dumps(told).encode()], 429, JSON, length=True)
    body = json.loads(request.body)
    closing = any(
        "functionResponse" in part for one in body.get("contents", []) for part in one["parts"]
    )
    parts: list[dict[str, Any]] = [{"text": word} for word in WORDS]
    if scene == "tools" and not closing:
        parts = [
            {"functionCall": {"id": f"f{n}", "name": name, "args": given}}
            for n, (name, given) in enumerate(CALLS)
        ]
        parts[0]["thoughtSignature"] = SIGNATURE
    pieces: list[Any] = [
        _candidate([part], "STOP" if n == len(parts) - 1 else None) for n, part in enumerate(parts)
    ]
    if scene == "broken":
        pieces = _broken(pieces)
    if method == "generateContent":
        reply = Reply([json.dumps(_candidate(parts, "STOP")).encode()], headers=JSON, length=True)
    elif "alt=sse" in request.target:
        reply = Reply(_sse(iter(pieces), begin=b""), headers=SSE)  # its client takes no comment
    else:
        reply = Reply([json.dumps(pieces, indent=1).encode()], headers=JSON)
    return _slow(reply) if scene == "slow" else reply


def _candidate(parts: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
    one: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        one["finishReason"] = finish
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {"candidates": [one], "usageMetadata": usage, "modelVersion": "g", "responseId": "r"}


# --- Ollama ---


def _ollama(body: dict[str, Any], scene: str) -> Reply:
    closing = any(one.get("role") == "tool" for one in body.get("messages", []))
    base = {"model": body.get("model"), "created_at": "2026-01-01T00:00:00Z"}
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": word} for word in WORDS]
    if scene == "tools" and not closing:
        calls = [{"function": {"name": name, "arguments": given}} for name, given in CALLS]
        messages = [{"role": "assistant", "content": "", "tool_calls": calls}]
    end = {"done": True, "done_reason": "stop", "total_duration": 1, "eval_count": 1}
    if body.get("stream") is False:
        whole = {"role": "assistant", "content": "".join(one["content"] for one in messages)}
        if messages[0].get("tool_calls"):
            whole["tool_calls"] = messages[0]["tool_calls"]
        return Reply([json.dumps({**base, "message": whole, **end}).encode()], headers=JSON)
    lines: list[Step] = [
        json.dumps({**base, "message": one, "done": False}).encode() + b"\n" for one in messages
    ]
    if scene == "broken":
        return Reply([*lines[:1], Break()], headers=NDJSON)
    last = {**base, "message": {"role": "assistant", "content": ""}, **end}
    return Reply([*lines, json.dumps(last).encode() + b"\n"], headers=NDJSON)
