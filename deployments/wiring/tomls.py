"""Change one place of a TOML text and leave every other byte as it is.

tomlkit is not used for it. Of 1,500 generated files 0.15.2 gave 4 back changed that nothing was
done to (an array of tables in two places), wrote 49 that no TOML reader takes (behind a last line
without an end), and put plain newlines into every one that has Windows' own.

Invariants: as for JSON; what a changed text holds is read again by `tomllib` and compared.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final

from deployments.wiring import inline
from deployments.wiring.data import Path, Unwirable, appended, dropped, found, put
from deployments.wiring.jsonc import BOM, Unreadable
from deployments.wiring.statements import Statement, statements
from deployments.wiring.toml_words import block, dotted_key, literal, pairs

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
            return self._changed(self.text[:start] + literal(value) + self.text[end:], expected)
        if (outer := self._around(path)) is not None:
            edits = inline.put(self.text, *outer, value, self._newline)
            return self._changed(_edited(self.text, edits), expected)
        if self.get(path) is not None:
            return self.drop(path).put(path, value)
        if isinstance(value, dict):
            return self._changed(
                self._with_block([f"[{dotted_key(path)}]", *pairs(value)]), expected
            )
        return self._changed(self._with_pair(path, value), expected)

    def append(self, path: Path, value: Any) -> TomlText:
        """Return the text with one more item, a table, in an array.

        Raises:
            Unwirable: as `put`.
        """
        if self.get(path) is None:
            expected = put(self.data, path, [value])
        else:
            expected = appended(self.data, path, value)
        if (outer := self._around(path, itself=True)) is not None:
            edits = inline.append(self.text, *outer, value, self._newline)
            return self._changed(_edited(self.text, edits), expected)
        return self._changed(self._with_block(block(path, value)), expected)

    def drop(self, path: Path) -> TomlText:
        """Return the text without what stands at a path; without any, the same text.

        Raises:
            Unwirable: as `put`.
        """
        if self.get(path) is None:
            return self
        if (outer := self._around(path)) is not None:
            edits = inline.drop(self.text, *outer)
            return self._changed(_edited(self.text, edits), dropped(self.data, path))
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

    def _around(self, path: Path, *, itself: bool = False) -> tuple[int, Path] | None:
        """Return where the value begins that is written as one and holds a path, and what is left.

        Args:
            path: where something stands, or will.
            itself: a value that stands at the path counts as well.
        """
        for one in self._all:
            depth = len(one.path)
            if one.kind == "pair" and one.path == path[:depth] and (itself or depth < len(path)):
                return one.value[0], path[depth:]
        return None

    def _with_pair(self, path: Path, value: Any) -> str:
        """Return the text with one more pair in a table, behind the last one that is there.

        A table that dotted keys make has no header, and may get none: its pair has such a key too.
        """
        table = path[:-1]
        inside = [
            one
            for one in self._all
            if (one.kind == "pair" and one.path[:-1] == table)
            or (one.kind in {"table", "item"} and one.path == table)
            or (one.kind == "pair" and len(one.table) < len(table) and _is_in(one.path, table))
        ]
        if not inside and table:
            return self._with_block(
                [f"[{dotted_key(table)}]", f"{dotted_key(path[-1:])} = {literal(value)}"]
            )
        start = len(BOM) if self.text.startswith(BOM) else 0
        at = inside[-1].end if inside else start
        before = self.text[:at]
        ended = "" if at == start or before.endswith("\n") else self._newline
        above = len(inside[-1].table) if inside else 0
        line = f"{dotted_key(path[above:])} = {literal(value)}"
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
        return _edited(self.text, [(*span, "") for span in spans])

    def _changed(self, text: str, expected: Any) -> TomlText:
        try:
            made = TomlText(text)
        except Unreadable:
            made = None
        if made is None or _filled(made.data) != _filled(expected):
            raise Unwirable("it is written in a way that cannot be changed safely")
        return made


def _is_in(path: Path, table: Path) -> bool:
    return path[: len(table)] == table


def _edited(text: str, edits: Iterable[inline.Edit]) -> str:
    """Return a text with spans replaced, none of which meets another."""
    for start, end, words in sorted(edits, reverse=True):
        text = text[:start] + words + text[end:]
    return text


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
