"""Ollama's own chat and generate. Its contents are plain strings, and stay so."""

from __future__ import annotations

from collections.abc import Iterable
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
    has_failed,
    is_filled,
    of_person,
    read_near_the_end,
)
from serving.proxy.splice import IN_STRING, Spot

_CONTEXT: Final = 4096
"""Tokens that a model is run with when the client does not say; what is too long is cut off."""
_CHARACTERS: Final = 3


class _Function(msgspec.Struct):
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw()


class _Call(msgspec.Struct):
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct):
    role: str = ""
    content: msgspec.Raw = msgspec.Raw(b'""')
    tool_calls: list[_Call] | None = None
    tool_name: str | None = None


class _Options(msgspec.Struct):
    num_predict: float | None = None
    num_ctx: float | None = None


class _Chat(msgspec.Struct):
    messages: list[_Message]
    model: str = ""
    tools: msgspec.Raw = msgspec.Raw()
    options: _Options | None = None


class _Generate(msgspec.Struct):
    prompt: msgspec.Raw = msgspec.Raw(b'""')
    model: str = ""
    system: str | None = None
    suffix: str | None = None
    raw: bool | None = None
    options: _Options | None = None


_CHAT: Final = msgspec.json.Decoder(_Chat)
_GENERATE: Final = msgspec.json.Decoder(_Generate)
_TEXT: Final = msgspec.json.Decoder(str | None)


class OllamaChat:
    """`/api/chat`."""

    def read(self, body: bytes) -> Body:
        """Return what a request says."""
        read = _CHAT.decode(body)
        options = read.options or _Options()
        systems = (_text(one.content) for one in read.messages if one.role == "system")
        return Body(
            read.model,
            read_near_the_end(read.messages, _message, _early),
            system="\n".join(systems),
            tools=is_filled(read.tools),
            longest=_bound(options),
            room=_room(options, body),
        )

    def said(self, answers: Iterable[dict[str, Any]]) -> Said:
        """Return what an answer says, thoughts left out."""
        words: list[str] = []
        calls: list[Made] = []
        for one in answers:
            message = one.get("message") or {}
            words.append(str(message.get("content") or ""))
            for call in message.get("tool_calls") or ():
                function = call.get("function") or {}
                given = orjson.dumps(function.get("arguments") or {})
                calls.append(Made("", str(function.get("name") or ""), given))
        return Said("".join(words), tuple(calls))


class OllamaGenerate:
    """`/api/generate`; a raw prompt and a gap to fill in are no words to a model."""

    def read(self, body: bytes) -> Body:
        """Return what a request says."""
        read = _GENERATE.decode(body)
        options = read.options or _Options()
        spoken = not read.raw and not read.suffix
        asked = of_person([_text(read.prompt)], Spot(read.prompt, IN_STRING))
        return Body(
            read.model,
            [asked] if spoken else [],
            system=read.system or "",
            longest=_bound(options),
            room=_room(options, body),
        )

    def said(self, answers: Iterable[dict[str, Any]]) -> Said:
        """Return what an answer says."""
        return Said("".join(str(one.get("response") or "") for one in answers))


def _early(one: _Message) -> Message:
    match one.role:
        case "assistant":
            return Message(Speaker.AGENT)
        case "tool":
            return Message(Speaker.TOOL)
        case _:
            return _message(one)


def _message(one: _Message) -> Message:
    text = _text(one.content)
    match one.role:
        case "user":
            return of_person([text], Spot(one.content, IN_STRING))
        case "assistant":
            made = (call.function for call in one.tool_calls or ())
            calls = tuple(Made("", each.name, bytes(each.arguments)) for each in made)
            return Message(Speaker.AGENT, text, calls=calls)
        case "tool":
            result = Result("", one.tool_name or "", has_failed(text))
            return Message(Speaker.TOOL, results=(result,))
        case _:
            return Message(Speaker.HOST)


def _text(raw: msgspec.Raw) -> str:
    return _TEXT.decode(raw) or ""


def _bound(options: _Options) -> float | None:
    """Return how long an answer may be; Ollama's -1 and -2 set no bound."""
    most = options.num_predict
    return most if most is not None and most > 0 else None


def _room(options: _Options, body: bytes) -> int:
    return max(0, int(options.num_ctx or _CONTEXT) * _CHARACTERS - len(body))
