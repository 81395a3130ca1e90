"""Look into the content blocks of a record without trusting their shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from tasks.domain.session import ToolCall
from tasks.evidence.records import Block, plain

_PREFERRED: Final = {"Grep": "pattern", "Glob": "pattern"}


class _Given(msgspec.Struct, gc=False):
    """The fields of a tool's input that tell what it was called for, the most telling first."""

    command: Any = None
    file_path: Any = None
    notebook_path: Any = None
    pattern: Any = None
    path: Any = None
    url: Any = None
    query: Any = None
    skill: Any = None
    description: Any = None
    prompt: Any = None


_TELLING: Final = _Given.__struct_fields__
_GIVEN: Final = msgspec.json.Decoder(_Given)


def text_of(content: object) -> str:
    """Return the text of a string or of a list's text blocks, NUL characters gone."""
    if isinstance(content, str):
        return content.replace("\x00", "")
    if not isinstance(content, list):
        return ""
    return "\n".join(_texts(content)).replace("\x00", "")


def text_in(blocks: Iterable[Block]) -> str:
    """Return the text of a message's text blocks, NUL characters gone."""
    return "\n".join(
        _string(block.text) for block in blocks if block.type is None or block.type == "text"
    )


def call_of(block: Block) -> ToolCall:
    """Return the call that a `tool_use` block makes, named by the telling part of its input."""
    name = _string(block.name)
    return ToolCall(_string(block.id), name, _line(name, block.input))


def line_of(name: str, given: Mapping[str, Any]) -> str:
    """Return the telling part of a tool's input, as `call_of` does."""
    return _line(name, msgspec.Raw(msgspec.json.encode(given)))


def _texts(content: list[Any]) -> Iterator[str]:
    for block in content:
        if isinstance(block, dict) and block.get("type", "text") == "text":
            yield _string(block.get("text"))


def _line(name: str, raw: msgspec.Raw) -> str:
    """Return the first line of the first telling field of a tool's input."""
    try:
        given = _GIVEN.decode(raw)
    except msgspec.ValidationError:  # no object
        return ""
    for key in (_PREFERRED.get(name, "command"), *_TELLING):
        if told := _told(getattr(given, key)):
            return told
    return next(filter(None, map(_told, plain(raw).values())), "")


def _told(value: object) -> str:
    """Return the first line of a text, "" for anything else."""
    if not isinstance(value, str):
        return ""
    return value.strip().partition("\n")[0].replace("\x00", "").rstrip()


def _string(value: object) -> str:
    return value.replace("\x00", "") if isinstance(value, str) else ""
