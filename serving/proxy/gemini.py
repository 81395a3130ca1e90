"""Gemini's generateContent, as its SDKs (camel case) and others (snake case) write it."""

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
    plain_text,
    read_near_the_end,
)
from serving.proxy.splice import Spot, in_list

_MORE: Final = in_list(b'{"text":"', b'"}')


class _Call(msgspec.Struct):
    id: str = ""
    name: str = ""
    args: msgspec.Raw = msgspec.Raw()


class _Response(msgspec.Struct):
    id: str = ""
    name: str = ""
    response: msgspec.Raw = msgspec.Raw()


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None
    functionCall: _Call | None = None  # noqa: N815  the API's name
    function_call: _Call | None = None
    functionResponse: _Response | None = None  # noqa: N815  the API's name
    function_response: _Response | None = None


class _Content(msgspec.Struct):
    role: str = "user"
    parts: msgspec.Raw = msgspec.Raw(b"[]")


class _Config(msgspec.Struct):
    maxOutputTokens: float | None = None  # noqa: N815  the API's name
    max_output_tokens: float | None = None


class _Body(msgspec.Struct):
    contents: list[_Content]
    systemInstruction: msgspec.Raw = msgspec.Raw()  # noqa: N815  the API's name
    system_instruction: msgspec.Raw = msgspec.Raw()
    tools: msgspec.Raw = msgspec.Raw()
    generationConfig: _Config | None = None  # noqa: N815  the API's name
    generation_config: _Config | None = None


_BODY: Final = msgspec.json.Decoder(_Body)
_PARTS: Final = msgspec.json.Decoder(list[_Part])


class Gemini:
    """`/v1beta/models/…:generateContent` and its stream; the path names the model."""

    def read(self, body: bytes) -> Body:
        """Return what a request says."""
        read = _BODY.decode(body)
        config = read.generationConfig or read.generation_config or _Config()
        return Body(
            "",
            read_near_the_end(read.contents, _message, _early),
            system=plain_text(read.systemInstruction) or plain_text(read.system_instruction),
            tools=is_filled(read.tools),
            longest=config.maxOutputTokens or config.max_output_tokens,
        )

    def said(self, answers: Iterable[dict[str, Any]]) -> Said:
        """Return what the first candidate says, thoughts left out."""
        words: list[str] = []
        calls: list[Made] = []
        named = ""
        for one in answers:
            named = named or str(one.get("responseId") or "")
            for part in _parts(one):
                if isinstance(call := part.get("functionCall"), dict):
                    given = orjson.dumps(call.get("args") or {})
                    calls.append(Made(str(call.get("id") or ""), str(call.get("name")), given))
                elif not part.get("thought"):
                    words.append(str(part.get("text") or ""))
        return Said("".join(words), tuple(calls), named)


def _parts(answer: dict[str, Any]) -> Iterable[dict[str, Any]]:
    for candidate in (answer.get("candidates") or ())[:1]:
        yield from (candidate.get("content") or {}).get("parts") or ()


def _early(one: _Content) -> Message:
    return Message(Speaker.AGENT) if one.role == "model" else _message(one)


def _message(one: _Content) -> Message:
    parts = _PARTS.decode(one.parts)
    texts = [part.text for part in parts if part.text is not None and not part.thought]
    if one.role == "model":
        made = (part.functionCall or part.function_call for part in parts)
        calls = tuple(Made(call.id, call.name, bytes(call.args)) for call in made if call)
        return Message(Speaker.AGENT, "".join(texts), calls=calls)
    came = (part.functionResponse or part.function_response for part in parts)
    results = tuple(
        Result(back.id, back.name, has_failed(bytes(back.response).decode()))
        for back in came
        if back
    )
    if results or one.role not in ("user", ""):
        return Message(Speaker.TOOL, results=results)
    return of_person(texts, Spot(one.parts, _MORE))
