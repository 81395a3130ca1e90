"""How keys, values and tables that are added to a TOML text are written."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from deployments.wiring.data import Path

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def block(path: Path, value: dict[str, Any]) -> list[str]:
    """Return the lines of one more item of an array of tables, those in it as such too."""
    lines = [f"[[{dotted_key(path)}]]"]
    inner = {k: v for k, v in value.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
    lines += pairs({k: v for k, v in value.items() if k not in inner})
    for name, items in inner.items():
        for one in items:
            lines += block((*path, name), one)
    return lines


def pairs(value: dict[str, Any]) -> list[str]:
    """Return the lines of a table, one a pair."""
    return [f"{_key(name)} = {literal(one)}" for name, one in value.items()]


def dotted_key(path: Path) -> str:
    """Return a path's names as one key; an index has no place in one."""
    return ".".join(_key(part) for part in path if isinstance(part, str))


def _key(name: str | int) -> str:
    text = str(name)
    return text if _BARE.fullmatch(text) else _quoted(text)


def literal(value: Any) -> str:
    """Return a value on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case dict():
            return "{ " + ", ".join(pairs(value)) + " }" if value else "{}"
        case list():
            return "[" + ", ".join(literal(one) for one in value) + "]"
    return str(value)


def _quoted(text: str) -> str:
    """Return a basic string; JSON's escapes are TOML's, but for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
