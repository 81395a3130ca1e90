"""OpenAI's responses. With `previous_response_id` or `conversation` the server keeps what was said.

A body then holds new input alone, and nothing else is touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
import orjson

from serving.proxy.families import (
    AT_SERVER,
    Body,
    Made,
    Message,
    Result,
    Said,
    Speaker,
    has_failed,
    is_filled,
    of_person,
    plain_text,
    read_near_the_end,
)
from serving.proxy.splice import IN_STRING, Spot, in_list

_MORE: Final = in_list(b'{"type":"input_text","text":"', b'"}')
_TEXTS: Final = ("input_text", "output_text", "text")
_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call", "shell_call")
_OUTPUTS: Final = tuple(f"{call}_output" for call in _CALLS)
_GIVEN: Final = ("arguments", "input", "action")


class _Part(msgspec.Struct, gc=False):
    type: str = "input_text"
    text: str = ""


class _Item(msgspec.Struct):
    type: str = "message"
    role: str = ""
    content: msgspec.Raw = msgspec.Raw(b"null")
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None
    action: msgspec.Raw = msgspec.Raw(b"null")
    output: msgspec.Raw = msgspec.Raw(b"null")
    status: str | None = None


class _Conversation(msgspec.Struct):
    id: str = ""


class _Body(msgspec.Struct):
    input: msgspec.Raw = msgspec.Raw(b"null")
    model: str = ""
    instructions: msgspec.Raw = msgspec.Raw()
    tools: msgspec.Raw = msgspec.Raw()
    max_output_tokens: float | None = None
    conversation: str | _Conversation | None = None
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None


_BODY: Final = msgspec.json.Decoder(_Body)
_TEXT_OR_ITEMS: Final = msgspec.json.Decoder(str | list[_Item] | None)
_TEXT_OR_PARTS: Final = msgspec.json.Decoder(str | list[_Part] | None)


class OpenAIResponses:
    """`/v1/responses`."""

    def read(self, body: bytes) -> Body:
        """Return what a request says."""
        read = _BODY.decode(body)
        kept = read.conversation
        return Body(
            read.model,
            _messages(read.input),
            system=plain_text(read.instructions),
            conversation=(kept.id if isinstance(kept, _Conversation) else kept or "")
            or ("" if read.previous_response_id else read.prompt_cache_key or ""),
            follows=read.previous_response_id or ("" if kept is None else AT_SERVER),
            tools=is_filled(read.tools),
            longest=read.max_output_tokens,
        )

    def said(self, answers: Iterable[dict[str, Any]]) -> Said:
        """Return what an answer says: its items once they are done, of a broken one its deltas."""
        words: dict[int, str] = {}
        items: dict[int, dict[str, Any]] = {}
        named = ""
        for one in answers:
            match one:
                case {"type": "response.output_text.delta", "output_index": int(n), "delta": part}:
                    words[n] = words.get(n, "") + str(part)
                case {"type": "response.output_item.done", "output_index": int(n), "item": item}:
                    items[n] = item
                case {"response": {"id": str(named)}}:
                    pass
                case {"object": "response", "id": str(named), "output": list(whole)}:
                    items = dict(enumerate(whole))
        told = {**words, **{n: _text(item) for n, item in items.items()}}
        calls = [_made(items[n]) for n in sorted(items) if items[n].get("type") in _CALLS]
        return Said("\n".join(filter(None, (told[n] for n in sorted(told)))), tuple(calls), named)


def _messages(raw: msgspec.Raw) -> list[Message]:
    told = _TEXT_OR_ITEMS.decode(raw)
    if isinstance(told, str):
        return [of_person([told], Spot(raw, IN_STRING))]
    return read_near_the_end(told or [], _message, _early)


def _early(item: _Item) -> Message:
    if item.type in _OUTPUTS:
        return Message(Speaker.TOOL)
    if item.type != "message" or item.role == "assistant":
        return Message(Speaker.AGENT)
    return _message(item)


def _message(item: _Item) -> Message:
    if item.type in _CALLS:
        given = (item.arguments or item.input or "").encode() or bytes(item.action)
        made = Made(item.call_id or "", item.name or item.type, given)
        return Message(Speaker.AGENT, calls=(made,))
    if item.type in _OUTPUTS:
        failed = item.status == "incomplete" or has_failed(bytes(item.output).decode())
        return Message(Speaker.TOOL, results=(Result(item.call_id or "", "", failed),))
    if item.type != "message":  # thoughts, searches, and whatever else a model's turn consists of
        return Message(Speaker.AGENT)
    if item.role not in ("user", "assistant"):
        return Message(Speaker.HOST)
    content = _TEXT_OR_PARTS.decode(item.content)
    if isinstance(content, str):
        texts = [content]
    else:
        texts = [part.text for part in content or () if part.type in _TEXTS]
    if item.role == "assistant":
        return Message(Speaker.AGENT, "\n".join(texts))
    form = IN_STRING if isinstance(content, str) else _MORE
    return of_person(texts, Spot(item.content, form))


def _text(item: dict[str, Any]) -> str:
    parts = item.get("content") or () if item.get("type") == "message" else ()
    return "\n".join(str(part.get("text") or "") for part in parts)


def _made(item: dict[str, Any]) -> Made:
    given = next((item[key] for key in _GIVEN if item.get(key)), "")
    data = given.encode() if isinstance(given, str) else orjson.dumps(given)
    return Made(str(item.get("call_id") or ""), str(item.get("name") or item.get("type")), data)
