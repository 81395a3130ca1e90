"""What the APIs have in common: who spoke in a request, what was answered, where a text may go.

Pure. A turn is the person's only if words of theirs stand in it: what the host wrapped around them
or put in their place is none. What is no conversation in a shape that we know is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

import msgspec

from serving.proxy.splice import Spot
from tasks.domain.markers import FENCE_OPEN
from tasks.evidence.wrappers import Typed, words_of

T = TypeVar("T")

AT_SERVER: Final = "conversation"
"""What a request follows that names no answer but a conversation which the server keeps."""

_HOSTS: Final = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|skill|permissions|session_context"
    r"|user_shell_command|subagent_notification)\b"
    r"|# AGENTS\.md instructions\b"
    r"|This is the Gemini CLI\. We are setting up the context)"
)
_NEAR: Final = 50
_SHORT: Final = 300
_FAILED: Final = re.compile(
    r"(?i)\bexit(?:ed)?(?: with)?[ _]?(?:code|status)?\"?[:= ]+(?:-|[1-9])|\bcommand not found\b"
    r"|\b(?:rejected|denied|refused|aborted) by (?:the )?user\b|\buser (?:rejected|denied)\b"
)
_LOOKED_AT: Final = 2000


class Speaker(StrEnum):
    """Whose a message is."""

    PERSON = "person"
    AGENT = "agent"
    TOOL = "tool"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Made:
    """A tool call: its id, "" where an API has none, and its arguments as JSON or plain text."""

    id: str
    name: str
    arguments: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What came back from a call, which is known by its id, else by its name."""

    id: str
    name: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request.

    Attributes:
        text: what was said; of a person only the words they typed.
        spot: where a text can be put behind it; only a person's message has one.
        marked: text of ours stands in it already.
    """

    speaker: Speaker
    text: str = ""
    spot: Spot | None = None
    marked: bool = False
    calls: tuple[Made, ...] = ()
    results: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body as it was understood.

    Attributes:
        model: "" when the body names none.
        system: the text that the client leads with.
        conversation: what the client calls it, "" when it does not.
        follows: the answer that it goes on from, "" when the whole conversation is sent.
        longest: tokens that the answer may have; None when the client sets no bound.
        room: characters that may be added; None where there is no bound to speak of.
    """

    model: str
    messages: Sequence[Message]
    system: str = ""
    conversation: str = ""
    follows: str = ""
    tools: bool = False
    longest: float | None = None
    room: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """An answer: what the model said and which tools it called, as far as it came."""

    text: str
    calls: tuple[Made, ...] = ()
    id: str = ""


class Family(Protocol):
    """One API: how its requests and answers are read."""

    def read(self, body: bytes) -> Body:
        """Return what a request says.

        Raises:
            msgspec.MsgspecError: when it has another shape.
        """

    def said(self, answers: Iterable[dict[str, Any]]) -> Said:
        """Return what an answer's objects say: all of a stream's, or the one of a whole answer."""


def read_near_the_end(
    messages: Sequence[T], whole: Callable[[T], Message], early: Callable[[T], Message]
) -> list[Message]:
    """Return messages of which only the last are read whole.

    What agents and tools said long before is not asked for, and makes up most of a long request;
    `early` tells who spoke, and reads no more than the person's words.
    """
    at = max(0, len(messages) - _NEAR)
    return [*map(early, messages[:at]), *map(whole, messages[at:])]


def of_person(texts: Iterable[str], spot: Spot | None) -> Message:
    """Return a message that came under the person's name; the host's own is the host's."""
    told = list(texts)
    marked = any(FENCE_OPEN in text for text in told)
    typed = [words for text in told if (words := _typed(text))]
    if not typed:
        return Message(Speaker.HOST, marked=marked)
    return Message(Speaker.PERSON, "\n".join(typed), spot, marked)


def is_filled(raw: msgspec.Raw) -> bool:
    """Tell whether a value is there and is no empty list, object or null."""
    return bytes(raw).translate(None, b" \t\r\n") not in (b"", b"null", b"[]", b"{}")


def has_failed(text: str) -> bool:
    """Tell whether a tool's output says that it failed; its beginning and its end are looked at."""
    if len(text) <= _LOOKED_AT:
        return bool(_FAILED.search(text))
    return bool(_FAILED.search(text[:_SHORT]) or _FAILED.search(text[-_SHORT:]))


def plain_text(raw: msgspec.Raw) -> str:
    """Return the text of a value of any shape: its strings under `text`, or itself."""
    if not is_filled(raw):
        return ""
    return _text_in(msgspec.json.decode(raw))


def _text_in(value: object) -> str:
    match value:
        case str():
            return value
        case list():
            return "\n".join(filter(None, map(_text_in, value)))
        case dict():
            return _text_in(value.get("text", value.get("parts", value.get("content"))))
        case _:
            return ""


def _typed(text: str) -> str:
    if _HOSTS.match(text):
        return ""
    words = words_of(text)
    return words.text if isinstance(words, Typed) else ""
