"""Look into the content blocks of a record without trusting their shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tasks.domain.session import ToolCall

_TELLING: Final = (
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "path",
    "url",
    "query",
    "skill",
    "description",
    "prompt",
)
_PREFERRED: Final = {"Grep": "pattern", "Glob": "pattern"}

Block = dict[str, Any]


def blocks_of(record: dict[str, Any]) -> list[Block]:
    """Return the content blocks of a record's message; a bare string is one text block."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict)]


def text_of(content: object) -> str:
    """Return the text of a string or of a list's text blocks, NUL characters gone."""
    if isinstance(content, str):
        return content.replace("\x00", "")
    if not isinstance(content, list):
        return ""
    return "\n".join(_texts(content)).replace("\x00", "")


def call_of(block: Block) -> ToolCall:
    """Return the call that a `tool_use` block makes, named by the telling part of its input."""
    name = _string(block.get("name"))
    given = block.get("input")
    return ToolCall(
        _string(block.get("id")), name, _line(name, given) if isinstance(given, dict) else ""
    )


def _texts(content: list[Any]) -> Iterator[str]:
    for block in content:
        if isinstance(block, dict) and block.get("type", "text") == "text":
            yield _string(block.get("text"))


def _line(name: str, given: dict[str, Any]) -> str:
    """Return the first line of the first telling field of a tool's input."""
    order = (_PREFERRED.get(name, "command"), *_TELLING, *given)
    for key in order:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip().partition("\n")[0].replace("\x00", "").rstrip()
    return ""


def _string(value: object) -> str:
    return value.replace("\x00", "") if isinstance(value, str) else ""
