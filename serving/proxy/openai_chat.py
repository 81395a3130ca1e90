"""OpenAI's chat completions, which most local servers speak too.

A string stays a string: the templates of many local models take no list of parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from serving.proxy.families import (
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

_MORE: Final = in_list(b'{"type":"text","text":"', b'"}')


class _Part(msgspec.Struct, gc=False):
    type: str = "text"
    text: str = ""


class _Function(msgspec.Struct, gc=False):
    name: str = ""
    arguments: str = ""


class _Call(msgspec.Struct, gc=False):
    id: str = ""
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct):
    role: str = ""
    content: msgspec.Raw = msgspec.Raw(b"null")
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Body(msgspec.Struct):
    messages: list[_Message]
    model: str = ""
    tools: msgspec.Raw = msgspec.Raw()
    functions: msgspec.Raw = msgspec.Raw()
    max_tokens: float | None = None
    max_completion_tokens: float | None = None
    prompt_cache_key: str | None = None


_BODY: Final = msgspec.json.Decoder(_Body)
_TEXT_OR_PARTS: Final = msgspec.json.Decoder(str | list[_Part] | None)


class OpenAIChat:
    """`/v1/chat/completions`."""

    def read(self, body: bytes) -> Body:
        """Return what a request says."""
        read = _BODY.decode(body)
        systems = (one for one in read.messages if one.role in ("system", "developer"))
        return Body(
            read.model,
            read_near_the_end(read.messages, _message, _early),
            system="\n".join(plain_text(one.content) for one in systems),
            conversation=read.prompt_cache_key or "",
            tools=is_filled(read.tools) or is_filled(read.functions),
            longest=read.max_completion_tokens or read.max_tokens,
        )

    def said(self, answers: Iterable[dict[str, Any]]) -> Said:
        """Return what the first choice of an answer says, reasoning left out."""
        words: list[str] = []
        calls: dict[int, list[str]] = {}
        named = ""
        for one in answers:
            named = named or str(one.get("id") or "")
            for delta in _firsts(one):
                words.append(delta.get("content") or "")
                for n, call in enumerate(delta.get("tool_calls") or ()):
                    _grow(calls.setdefault(call.get("index", n), ["", "", ""]), call)
        made = (calls[n] for n in sorted(calls))
        return Said(
            "".join(words), tuple(Made(id_, name, args.encode()) for id_, name, args in made), named
        )


def _firsts(answer: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for choice in answer.get("choices") or ():
        if choice.get("index", 0) == 0:
            yield choice.get("delta") or choice.get("message") or {}


def _grow(made: list[str], call: dict[str, Any]) -> None:
    function = call.get("function") or {}
    made[0] = call.get("id") or made[0]
    made[1] = function.get("name") or made[1]
    made[2] += function.get("arguments") or ""


def _early(one: _Message) -> Message:
    match one.role:
        case "assistant":
            return Message(Speaker.AGENT)
        case "tool" | "function":
            return Message(Speaker.TOOL)
        case _:
            return _message(one)


def _message(one: _Message) -> Message:
    match one.role:
        case "user":
            content = _TEXT_OR_PARTS.decode(one.content)
            form = IN_STRING if isinstance(content, str) else _MORE
            return of_person(_texts(content), Spot(one.content, form))
        case "assistant":
            calls = tuple(
                Made(call.id, call.function.name, call.function.arguments.encode())
                for call in one.tool_calls or ()
            )
            return Message(
                Speaker.AGENT, "\n".join(_texts(_TEXT_OR_PARTS.decode(one.content))), calls=calls
            )
        case "tool" | "function":
            failed = has_failed(plain_text(one.content))
            result = Result(one.tool_call_id or "", "", failed)
            return Message(Speaker.TOOL, results=(result,))
        case _:
            return Message(Speaker.HOST)


def _texts(content: str | list[_Part] | None) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part.text for part in content or () if part.type == "text"]
