"""Anthropic's messages.

A string becomes a list of two text blocks when something is put behind it: clients send the same
turn as a string and as a block by turns, which are the same to the server and stay the same to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import msgspec
import orjson

from serving.proxy.families import (
    Body,
    Made,
    Message,
    Result,
    Said,
    Speaker,
    is_filled,
    of_person,
    plain_text,
    read_near_the_end,
)
from serving.proxy.splice import Form, Spot, as_list, in_list

_BLOCK: Final = (b'{"type":"text","text":"', b'"}')
_MORE: Final = in_list(*_BLOCK)
_WRAPPED: Final = as_list(*_BLOCK)


class _Block(msgspec.Struct, gc=False):
    type: str = "text"
    text: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw()
    tool_use_id: str = ""
    is_error: bool | None = None


class _Message(msgspec.Struct):
    role: str = ""
    content: msgspec.Raw = msgspec.Raw()


class _Body(msgspec.Struct):
    messages: list[_Message]
    model: str = ""
    system: msgspec.Raw = msgspec.Raw()
    tools: msgspec.Raw = msgspec.Raw()
    max_tokens: float | None = None


_BODY: Final = msgspec.json.Decoder(_Body)
_TEXT_OR_BLOCKS: Final = msgspec.json.Decoder(str | list[_Block])


class Anthropic:
    """`/v1/messages`."""

    def read(self, body: bytes) -> Body:
        """Return what a request says."""
        read = _BODY.decode(body)
        return Body(
            read.model,
            read_near_the_end(read.messages, _message, _early),
            system=plain_text(read.system),
            tools=is_filled(read.tools),
            longest=read.max_tokens,
        )

    def said(self, answers: Iterable[dict[str, Any]]) -> Said:
        """Return what an answer says, thoughts left out."""
        blocks: dict[int, dict[str, Any]] = {}
        named = ""
        for one in answers:
            match one:
                case {"type": "message_start", "message": {"id": str(named)}}:
                    pass
                case {"type": "content_block_start", "index": int(n), "content_block": block}:
                    blocks[n] = {**block, "input_json": ""}
                case {"type": "content_block_delta", "index": int(n), "delta": delta}:
                    _grow(blocks.setdefault(n, {}), delta)
                case {"type": "message", "id": str(named), "content": list(whole)}:
                    blocks = dict(enumerate(whole))
        found = [blocks[n] for n in sorted(blocks)]
        text = "\n".join(b["text"] for b in found if b.get("type") == "text" and b.get("text"))
        return Said(text, tuple(_made(b) for b in found if b.get("type") == "tool_use"), named)


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    match delta:
        case {"type": "text_delta", "text": str(text)}:
            block["text"] = block.get("text", "") + text
        case {"type": "input_json_delta", "partial_json": str(part)}:
            block["input_json"] = block.get("input_json", "") + part


def _made(block: dict[str, Any]) -> Made:
    given = block.get("input_json") or orjson.dumps(block.get("input", {})).decode()
    return Made(str(block.get("id", "")), str(block.get("name", "")), given.encode())


def _early(one: _Message) -> Message:
    return Message(Speaker.AGENT) if one.role == "assistant" else _message(one)


def _message(one: _Message) -> Message:
    if one.role not in ("user", "assistant"):
        return Message(Speaker.HOST)
    content = _TEXT_OR_BLOCKS.decode(one.content)
    blocks = [_Block(text=content)] if isinstance(content, str) else content
    texts = [block.text for block in blocks if block.type == "text"]
    if one.role == "assistant":
        calls = tuple(
            Made(b.id, b.name, bytes(b.input)) for b in blocks if b.type.endswith("tool_use")
        )
        return Message(Speaker.AGENT, "\n".join(texts), calls=calls)
    results = tuple(
        Result(b.tool_use_id, "", bool(b.is_error)) for b in blocks if b.type == "tool_result"
    )
    form: Form = _WRAPPED if isinstance(content, str) else _MORE
    person = of_person(texts, Spot(one.content, form))
    if person.speaker is Speaker.HOST and results:
        return Message(Speaker.TOOL, marked=person.marked, results=results)
    return replace(person, results=results)
