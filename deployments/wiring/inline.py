"""Change what stands inside a TOML value that is written as one: `a = { … }` and `a = [ … ]`.

Only places are found here, in a text that `tomllib` can read. Invariant: an item that is added and
taken out again leaves its neighbours, their comments and their commas as they were.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from deployments.wiring.data import Path, Unwirable
from deployments.wiring.statements import KEYS, parts
from deployments.wiring.toml_words import dotted_key, literal

Edit = tuple[int, int, str]
"""A span and what takes its place."""

_GAP: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_COMMENT: Final = re.compile(r"[ \t]*#[^\r\n]*")
_NAMED: Final = re.compile(rf"(?P<keys>{KEYS})[ \t]*=[ \t]*")
_SINGLE: Final = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?'{3,5}'''
    r"""|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^][{},\#\s]+(?:[ ][0-9:.+Z-]+)?""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value; brackets belong to it.

    Attributes:
        items: what a table or an array holds, None of a value that can hold nothing.
    """

    start: int
    end: int
    items: tuple[_Item, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    """A member of a table or an item of an array.

    Attributes:
        steps: its keys, of which dotted ones have several, or its index.
        comma: where the comma behind it stands, None when none does.
    """

    steps: Path
    start: int
    value: _Value
    comma: int | None

    @property
    def end(self) -> int:
        return self.value.end if self.comma is None else self.comma + 1


def put(text: str, start: int, path: Path, value: object, newline: str) -> list[Edit]:
    """Return what puts a value at a path inside of the one that begins at a place.

    Args:
        text: the whole text.
        start: where the outer value begins.
        path: from the outer value on, not empty.
        value: what is put there.
        newline: how lines end.
    """
    outer, rest = _innermost(_value(text, start), path)
    if not rest:
        return [(outer.start, outer.end, literal(value))]
    words = f"{dotted_key(rest)} = {literal(value)}"
    there = _within(outer, rest)
    if not there:
        return _added(text, outer, words, newline)
    first = there[0]  # of several, whose dotted keys make the table that stands there
    return [(first.start, first.value.end, words), *_without(text, outer, there[1:])]


def append(text: str, start: int, path: Path, value: object, newline: str) -> list[Edit]:
    """Return what adds an item to the array at a path, which may be the outer value itself."""
    array, rest = _innermost(_value(text, start), path)
    if rest:
        return put(text, start, path, [value], newline)
    return _added(text, array, literal(value), newline)


def drop(text: str, start: int, path: Path) -> list[Edit]:
    """Return what takes out what stands at a path inside of the value that begins at a place."""
    outer, rest = _innermost(_value(text, start), path[:-1])
    return _without(text, outer, _within(outer, (*rest, path[-1])))


def _within(outer: _Value, path: Path) -> list[_Item]:
    """Return the items that make what stands at a path."""
    return [one for one in _items(outer) if one.steps[: len(path)] == path]


def _items(value: _Value) -> tuple[_Item, ...]:
    if value.items is None:
        raise Unwirable("what should hold others is a single value")
    return value.items


def _innermost(value: _Value, path: Path) -> tuple[_Value, Path]:
    """Return the last value on a path that is there, and the steps that are left."""
    for item in value.items or ():
        depth = len(item.steps)
        if depth <= len(path) and item.steps == path[:depth]:
            return _innermost(item.value, path[depth:])
    return value, path


def _added(text: str, outer: _Value, words: str, newline: str) -> list[Edit]:
    """Return what adds a last item, in the way in which the one before it stands."""
    items = _items(outer)
    if not items:
        return [_first(text, outer, words, newline)]
    last = items[-1]
    comment = _COMMENT.match(text, last.end)
    behind = last.end if comment is None else comment.end()
    spread = comment is not None or "\n" in text[_gap_before(text, last.start) : last.start]
    parted = newline + _indent(text, last.start) if spread else " "
    if last.comma is not None:
        return [(behind, behind, f"{parted}{words},")]
    if comment is None:
        return [(behind, behind, f",{parted}{words}")]
    return [(last.end, last.end, ","), (behind, behind, f"{parted}{words}")]


def _first(text: str, outer: _Value, words: str, newline: str) -> Edit:
    start, end = outer.start + 1, outer.end - 1
    inside = text[start:end]
    if "\n" not in inside:
        return start, end, f" {words} " if text[outer.start] == "{" else words
    at = start + len(inside.rstrip()) if inside.strip() else start  # behind its comments
    return at, at, f"{newline}{_indent(text, outer.start)}  {words}"


def _without(text: str, outer: _Value, gone: Sequence[_Item]) -> list[Edit]:
    """Return what takes items out; of the last one that stays the comma goes if theirs did not."""
    items = _items(outer)
    kept = [one for one in items if one not in gone]
    inside = text[outer.start + 1 : outer.end - 1]
    if not kept and "\n" not in inside:
        return [(outer.start + 1, outer.end - 1, "")]
    edits = [(*_span(text, outer, one), "") for one in gone]
    if gone and kept and gone[0] is items[0] and len(gone) == 1:
        after = text[gone[0].end : kept[0].start]
        edits = [(gone[0].start, kept[0].start, "")] if after.strip(" ") == "" else edits
    comma = kept[-1].comma if kept else None
    if comma is not None and items[-1] in gone and items[-1].comma is None:
        edits.append((comma, comma + 1, ""))
    return edits


def _span(text: str, outer: _Value, item: _Item) -> tuple[int, int]:
    """Return the span of an item and its comma, with the space before it.

    Behind a comment the line's end stays, unless another one follows.
    """
    start, at = _gap_before(text, item.start), _items(outer).index(item)
    behind = _items(outer)[at - 1].end if at else outer.start + 1
    follows = text[item.end :].lstrip(" \t\r")[:1] == "\n"
    return (item.start if "#" in text[behind:start] and not follows else start), item.end


def _gap_before(text: str, at: int) -> int:
    return len(text[:at].rstrip(" \t\r\n"))


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _value(text: str, at: int) -> _Value:
    """Return the value that begins at a place, with all that it holds."""
    begins = text[at]
    if begins not in "{[":
        return _Value(at, _match(_SINGLE, text, at).end())
    start, items, at = at, list[_Item](), at + 1
    while text[at := _match(_GAP, text, at).end()] not in "}]":
        first, steps = at, Path((len(items),))
        if begins == "{":
            named = _match(_NAMED, text, at)
            steps, at = tuple(parts(named["keys"])), named.end()
        value = _value(text, at)
        behind = _match(_GAP, text, value.end).end()
        comma = behind if text[behind] == "," else None
        items.append(_Item(steps, first, value, comma))
        at = items[-1].end
    return _Value(start, at + 1, tuple(items))


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    if found is None:
        raise Unwirable("it is written in a way that cannot be changed safely")
    return found
