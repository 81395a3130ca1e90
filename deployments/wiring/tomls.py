"""Change one place of a TOML text and leave every other byte as it is.

Invariants: as for JSON; what a changed text holds is read again by `tomllib` and compared.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final

from deployments.wiring.data import Path, Unwirable, appended, dropped, found, put
from deployments.wiring.jsonc import BOM, Unreadable
from deployments.wiring.statements import Statement, statements

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_WHERE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class TomlText:
    """A TOML text that is changed place by place; each change gives a new one.

    Raises:
        Unreadable: when the text is no TOML.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.data: dict[str, Any] = _loaded(text)

    def get(self, path: Path) -> Any:
        """Return what stands at a path, None when nothing does."""
        return found(self.data, path)

    def put(self, path: Path, value: Any) -> TomlText:
        """Return the text with a value at a path, tables on the way made as needed.

        Raises:
            Unwirable: when the place is written in a way that cannot be changed safely.
        """
        expected = put(self.data, path, value)
        pair = next((one for one in self._all if one.kind == "pair" and one.path == path), None)
        if pair is not None:
            start, end = pair.value
            return self._changed(self.text[:start] + _literal(value) + self.text[end:], expected)
        if self.get(path) is not None:
            return self.drop(path).put(path, value)
        if isinstance(value, dict):
            return self._changed(self._with_block([f"[{_dotted(path)}]", *_pairs(value)]), expected)
        return self._changed(self._with_pair(path, value), expected)

    def append(self, path: Path, value: Any) -> TomlText:
        """Return the text with one more item, a table, in an array of tables.

        Raises:
            Unwirable: as `put`.
        """
        if self.get(path) is None:
            expected = put(self.data, path, [value])
        else:
            expected = appended(self.data, path, value)
        return self._changed(self._with_block(_item(path, value)), expected)

    def drop(self, path: Path) -> TomlText:
        """Return the text without what stands at a path; without any, the same text.

        Raises:
            Unwirable: as `put`.
        """
        if self.get(path) is None:
            return self
        gone = [one for one in self._all if one.kind != "line" and one.path[: len(path)] == path]
        return self._changed(self._without(gone), dropped(self.data, path))

    @cached_property
    def _all(self) -> Sequence[Statement]:
        return list(statements(self.text, len(BOM) if self.text.startswith(BOM) else 0))

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _with_block(self, lines: Iterable[str]) -> str:
        """Return the text with a table at its end, parted from what is before it."""
        bare = self.text.removeprefix(BOM)
        gap = "" if not bare or bare.endswith(("\n\n", "\n\r\n")) else self._newline
        ended = "" if not bare or bare.endswith("\n") else self._newline
        return self.text + ended + gap + "".join(line + self._newline for line in lines)

    def _with_pair(self, path: Path, value: Any) -> str:
        """Return the text with one more pair in a table, behind the last one that is there."""
        table, line = path[:-1], f"{_key(path[-1])} = {_literal(value)}"
        inside = [
            one
            for one in self._all
            if (one.kind == "pair" and one.path[:-1] == table)
            or (one.kind in {"table", "item"} and one.path == table)
        ]
        if not inside and table:
            return self._with_block([f"[{_dotted(table)}]", line])
        start = len(BOM) if self.text.startswith(BOM) else 0
        at = inside[-1].end if inside else start
        before = self.text[:at]
        ended = "" if at == start or before.endswith("\n") else self._newline
        return before + ended + line + self._newline + self.text[at:]

    def _without(self, gone: Sequence[Statement]) -> str:
        """Return the text without statements, and without the blank line before a whole table."""
        spans = [(one.start, one.end) for one in gone]
        opening = next((one for one in gone if one.kind != "pair"), None)
        if opening is not None:
            at = self._all.index(opening)
            before = self._all[at - 1] if at else None
            if before is not None and not self.text[before.start : before.end].strip():
                spans.append((before.start, before.end))
        text = self.text
        for start, end in sorted(spans, reverse=True):
            text = text[:start] + text[end:]
        return text

    def _changed(self, text: str, expected: Any) -> TomlText:
        try:
            made = TomlText(text)
        except Unreadable:
            made = None
        if made is None or _filled(made.data) != _filled(expected):
            raise Unwirable(
                "it is written in a way that cannot be changed safely; write tables that stand on "
                "one line, as in a = { … }, as [a] with their pairs below, then run this again"
            )
        return made


def _loaded(text: str) -> dict[str, Any]:
    bare = text.removeprefix(BOM)
    try:
        return tomllib.loads(bare)
    except tomllib.TOMLDecodeError as error:
        where = _WHERE.search(str(error))
        lines = bare.split("\n")
        line, column = len(lines), len(lines[-1]) + 1
        if where and where[1]:
            line, column = int(where[1]), int(where[2])
        at = sum(len(one) + 1 for one in lines[: line - 1]) + column - 1
        raise Unreadable(bare, at, _WHERE.sub("", str(error))) from None


def _filled(data: Any) -> Any:
    """Return data without containers that hold nothing: TOML has no trace of an implied table."""
    match data:
        case dict():
            return {k: one for k, v in data.items() if (one := _filled(v)) not in ({}, [])}
        case list():
            return [_filled(one) for one in data]
    return data


def _item(path: Path, value: dict[str, Any]) -> list[str]:
    """Return the lines of an array's item, arrays of tables in it as such."""
    lines = [f"[[{_dotted(path)}]]"]
    inner = {k: v for k, v in value.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
    lines += _pairs({k: v for k, v in value.items() if k not in inner})
    for name, items in inner.items():
        for one in items:
            lines += _item((*path, name), one)
    return lines


def _pairs(value: dict[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_literal(one)}" for name, one in value.items()]


def _dotted(path: Path) -> str:
    return ".".join(_key(part) for part in path if isinstance(part, str))


def _key(name: str | int) -> str:
    text = str(name)
    return text if _BARE.fullmatch(text) else _quoted(text)


def _literal(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case dict():
            return "{ " + ", ".join(_pairs(value)) + " }" if value else "{}"
        case list():
            return "[" + ", ".join(_literal(one) for one in value) + "]"
    return str(value)


def _quoted(text: str) -> str:
    """Return a basic string; JSON's escapes are TOML's, but for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
