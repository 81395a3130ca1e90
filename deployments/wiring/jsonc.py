"""Read JSON with comments and trailing commas, and know where in the text each value stands.

Invariant: every span is of the text as it was given, a byte order mark included.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

BOM: Final = "\ufeff"
_DEEPEST: Final = 200
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<comment>//[^\r\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
      | (?P<word>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.])
                |(?:true|false|null)(?![0-9A-Za-z_]))
      | (?P<mark>[][{},:])""",
    re.VERBOSE | re.DOTALL,
)
_CLOSING: Final = {"{": "}", "[": "]"}


class Unreadable(Exception):
    """The text is no JSON, at a line and a column counted from 1."""

    def __init__(self, text: str, at: int, why: str) -> None:
        super().__init__(why)
        self.line = text.count("\n", 0, at) + 1
        self.column = at - (text.rfind("\n", 0, at) + 1) + 1
        self.why = why


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string, a number, a truth value or null."""

    start: int
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class Branch:
    """An object or an array, brackets included.

    Attributes:
        kind: its opening bracket.
    """

    start: int
    end: int
    kind: Literal["{", "["]
    children: tuple[Child, ...]

    @property
    def value(self) -> Any:
        """Return what it holds; of a key that stands twice the last one counts."""
        if self.kind == "{":
            return {child.key: child.node.value for child in self.children}
        return [child.node.value for child in self.children]

    def child(self, name: str | int) -> int | None:
        """Return which child has a key or an index, None when none has."""
        if self.kind == "{":
            found = [at for at, child in enumerate(self.children) if child.key == name]
            return found[-1] if found else None
        inside = isinstance(name, int) and 0 <= name < len(self.children)
        return int(name) if inside else None


Node = Leaf | Branch


@dataclass(frozen=True, slots=True)
class Child:
    """A member or an item.

    Attributes:
        start: where its key stands, or the item itself.
        comma: where the comma after it stands, None when none does.
    """

    key: str | None
    start: int
    node: Node
    comma: int | None


def parse(text: str) -> Node | None:
    """Return the one value of a text, None when there is nothing but space and comments.

    Raises:
        Unreadable: when it is no JSON.
    """
    return _Parser(text).document()


def comments(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of comments between two places where only space and comments are."""
    for token in _TOKEN.finditer(text, start, end):
        if token.lastgroup == "comment":
            yield token.span()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = len(BOM) if text.startswith(BOM) else 0
        self._kind, self._start, self._end = "", self._at, self._at
        self._advance()

    def document(self) -> Node | None:
        if not self._kind:
            return None
        node = self._value(0)
        if self._kind:
            raise self._error("something stands after the end")
        return node

    def _advance(self) -> None:
        """Go to the next token; its kind is "" at the end."""
        while True:
            if self._at == len(self._text):
                self._kind, self._start, self._end = "", self._at, self._at
                return
            token = _TOKEN.match(self._text, self._at)
            if token is None:
                self._start = self._at
                raise self._error("this is no JSON")
            self._at = token.end()
            if token.lastgroup not in {"space", "comment"}:
                self._kind = token.lastgroup or ""
                self._start, self._end = token.span()
                return

    @property
    def _said(self) -> str:
        return self._text[self._start : self._end]

    def _error(self, why: str) -> Unreadable:
        return Unreadable(self._text, self._start, why)

    def _value(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self._error("it is nested too deeply")
        if self._kind in {"string", "word"}:
            return self._leaf()
        if self._kind == "mark" and self._said in _CLOSING:
            return self._branch(depth)
        raise self._error("a value is missing here")

    def _leaf(self) -> Leaf:
        try:
            leaf = Leaf(self._start, self._end, json.loads(self._said))
        except ValueError:
            raise self._error("this is no JSON") from None
        self._advance()
        return leaf

    def _branch(self, depth: int) -> Branch:
        start, kind = self._start, self._said
        self._advance()
        children: list[Child] = []
        while self._said != _CLOSING[kind] or self._kind != "mark":
            if children and children[-1].comma is None:
                raise self._error("a comma or a closing bracket is missing here")
            children.append(self._child(kind, depth))
        end = self._end
        self._advance()
        return Branch(start, end, "{" if kind == "{" else "[", tuple(children))

    def _child(self, kind: str, depth: int) -> Child:
        start, key = self._start, None
        if kind == "{":
            if self._kind != "string":
                raise self._error("a key in quotes, or a closing bracket, is missing here")
            key = str(self._leaf().value)
            if self._said != ":" or self._kind != "mark":
                raise self._error("a colon is missing here")
            self._advance()
        node = self._value(depth + 1)
        comma = self._start if self._kind == "mark" and self._said == "," else None
        if comma is not None:
            self._advance()
        return Child(key, start, node, comma)
