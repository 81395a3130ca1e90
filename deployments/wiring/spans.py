"""Change one place of a JSON text and leave every other byte as it is.

Invariants: comments, order, indentation, line ends, a byte order mark and the text's own end stay;
what comes out holds exactly what was asked for, or an error is raised and nothing comes out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from deployments.wiring.data import Path, Unwirable, appended, dropped, found, put
from deployments.wiring.jsonc import BOM, Branch, Child, Node, Unreadable, comments, parse

_INDENT: Final = re.compile(r"\n([ \t]+)\S")


class JsonText:
    """A JSON text that is changed place by place; each change gives a new one.

    Raises:
        Unreadable: when the text is no JSON.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._root = parse(text)

    @cached_property
    def data(self) -> Any:
        """Return what the text holds; an empty text holds an empty object."""
        return {} if self._root is None else self._root.value

    def get(self, path: Path) -> Any:
        """Return what stands at a path, None when nothing does."""
        return found(self.data, path)

    def put(self, path: Path, value: Any) -> JsonText:
        """Return the text with a value at a path, objects on the way made as needed.

        Raises:
            Unwirable: when something on the way is no object.
        """
        expected = put(self.data, path, value)
        node, depth = self._deepest(path)
        if depth == len(path) and node is not None:
            line = _indent_of(self.text, node.start)
            words = self._style.written(value, line, flat=not _spread(self.text, node))
            return self._changed([(node.start, node.end, words)], expected)
        for name in reversed(path[depth + 1 :]):
            value = {name: value}
        return self._added(node, str(path[depth]), value, expected)

    def append(self, path: Path, value: Any) -> JsonText:
        """Return the text with one more item in the array at a path, which is made as needed.

        Raises:
            Unwirable: when something else than an array stands there.
        """
        if self.get(path) is None:
            return self.put(path, [value])
        expected = appended(self.data, path, value)
        node, _ = self._deepest(path)
        return self._added(node, None, value, expected)

    def drop(self, path: Path) -> JsonText:
        """Return the text without what stands at a path; without any, the same text."""
        expected = dropped(self.data, path)
        node, depth = self._deepest(path[:-1])
        if depth < len(path) - 1 or not isinstance(node, Branch):
            return self
        at = node.child(path[-1])
        if at is None:
            return self
        return self._changed(_without(self.text, node, at), expected)

    @cached_property
    def _style(self) -> _Style:
        return _Style.of(self.text, self._root)

    def _deepest(self, path: Path) -> tuple[Node | None, int]:
        """Return the last node on a path that is there, and how many steps lead to it."""
        node: Node | None = self._root
        for depth, name in enumerate(path):
            at = node.child(name) if isinstance(node, Branch) else None
            if at is None or not isinstance(node, Branch):
                return node, depth
            node = node.children[at].node
        return node, len(path)

    def _added(self, node: Node | None, key: str | None, value: Any, expected: Any) -> JsonText:
        if node is None:
            return self._begun({key: value}, expected)
        if not isinstance(node, Branch):
            raise Unwirable("its outermost value is no object")
        return self._changed(_with(self.text, node, key, value, self._style), expected)

    def _begun(self, value: Any, expected: Any) -> JsonText:
        """Return a text that held nothing with its first object."""
        words = self._style.written(value, "", flat=False) + self._style.newline
        if self.text.removeprefix(BOM).strip():  # comments: what is ours comes below
            lead = "" if self.text.endswith("\n") else self._style.newline
            return self._changed([(len(self.text), len(self.text), lead + words)], expected)
        end = len(self.text)
        return self._changed([(len(BOM) if self.text.startswith(BOM) else 0, end, words)], expected)

    def _changed(self, edits: Sequence[tuple[int, int, str]], expected: Any) -> JsonText:
        pieces, at = [], 0
        for start, end, words in sorted(edits, key=lambda edit: edit[0]):
            pieces += [self.text[at:start], words]
            at = end
        try:
            made = JsonText("".join([*pieces, self.text[at:]]))
        except Unreadable as error:
            raise Unwirable(f"it cannot be changed safely ({error.why})") from None
        if made.data != expected:
            raise Unwirable("it cannot be changed safely")
        return made


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text is written, so that what is added is written the same way.

    Attributes:
        comma: what parts two members on one line.
        colon: what parts a key and its value.
        flat: the whole text stands on one line.
    """

    unit: str
    newline: str
    comma: str
    colon: str
    flat: bool

    @classmethod
    def of(cls, text: str, root: Node | None) -> _Style:
        indent = _INDENT.search(text)
        newline = "\r\n" if "\r\n" in text else "\n"
        filled = isinstance(root, Branch) and bool(root.children)
        tight = filled and re.search(r'"\s*:(?=\S)', text) is not None and ": " not in text
        unit = indent[1] if indent and root and indent.start(1) > root.start else "  "
        flat = filled and root is not None and "\n" not in text[root.start : root.end]
        return cls(unit, newline, "," if tight else ", ", ":" if tight else ": ", flat)

    def written(self, value: Any, indent: str, *, flat: bool) -> str:
        """Return a value as text, its further lines indented under a line's own indent."""
        marks = (self.comma, self.colon)
        if flat:
            return json.dumps(value, ensure_ascii=False, separators=marks)
        lines = json.dumps(
            value, ensure_ascii=False, indent=self.unit, separators=(",", self.colon)
        ).split("\n")
        return (self.newline + indent).join(lines)


def _with(
    text: str, branch: Branch, key: str | None, value: Any, style: _Style
) -> list[tuple[int, int, str]]:
    """Return the edits that add a last child."""
    last = branch.children[-1] if branch.children else None
    start = branch.start + 1 if last is None else _end_of(last)
    after = _behind_comments(text, start, branch.end - 1)
    spread = _spread(text, branch) if last else not style.flat
    spread = spread or _ends_line(text, start, after)
    named = "" if key is None else json.dumps(key, ensure_ascii=False) + style.colon
    edits = [] if last is None or last.comma is not None else [(last.node.end,) * 2 + (",",)]
    ending = "," if last is not None and last.comma is not None else ""
    if not spread:
        gap = style.comma[1:] if last else ""
        words = gap + named + style.written(value, "", flat=True) + ending
        return [*edits, (after, after, words)]
    outer = _indent_of(text, branch.start)
    indent = _indent_of(text, last.start) if last and _own_line(text, last) else outer + style.unit
    words = style.newline + indent + named + style.written(value, indent, flat=False) + ending
    if last is None and "\n" not in text[after : branch.end - 1]:
        words += style.newline + (outer if after == branch.end - 1 else "")
    return [*edits, (after, after, words)]


def _without(text: str, branch: Branch, at: int) -> list[tuple[int, int, str]]:
    """Return the edits that take one child out; a container that is left blank is closed up."""
    child = branch.children[at]
    if len(branch.children) == 1:
        inside = text[branch.start + 1 : child.start] + text[_end_of(child) : branch.end - 1]
        if not inside.strip():
            return [(branch.start + 1, branch.end - 1, "")]
    edits = []
    if child.comma is None:
        end, before = child.node.end, branch.children[at - 1].comma if at else None
        edits += [] if before is None else [(before, before + 1, "")]
    elif text[child.node.end : child.comma].strip():
        end = child.node.end
        edits += [(child.comma, child.comma + 1, "")]
    else:
        end = child.comma + 1
    start = _end_of(branch.children[at - 1]) if at else branch.start + 1
    return [*edits, (_lead(text, start, child.start, end), end, "")]


def _ends_line(text: str, start: int, at: int) -> bool:
    """Tell whether a comment that goes on to its line's end is what ends at a place."""
    return any(
        end == at and text.startswith("//", begin) for begin, end in comments(text, start, at)
    )


def _end_of(child: Child) -> int:
    return child.node.end if child.comma is None else child.comma + 1


def _lead(text: str, start: int, at: int, end: int) -> int:
    """Return where the space before a child begins; behind a line's comment none is taken.

    There the line's end may be what keeps the rest out of the comment.

    Args:
        text: the whole text.
        start: where the child before it ends, with its comma.
        at: where the child begins.
        end: up to where it is taken out.
    """
    lead = _behind_comments(text, start, at)
    line_end = text.find("\n", end)
    rest = text[end : line_end if line_end >= 0 else len(text)]
    return at if _ends_line(text, start, lead) and rest.strip() else lead


def _behind_comments(text: str, start: int, end: int) -> int:
    """Return where the last comment between two places ends, the first place when there is none."""
    return max((at for _, at in comments(text, start, end)), default=start)


def _spread(text: str, node: Node) -> bool:
    """Tell whether a container is written over several lines."""
    if not isinstance(node, Branch) or not node.children:
        return False
    return "\n" in text[node.start : node.children[-1].start]


def _own_line(text: str, child: Child) -> bool:
    line = text[text.rfind("\n", 0, child.start) + 1 : child.start]
    return not line.strip()


def _indent_of(text: str, at: int) -> str:
    """Return the space with which the line of a place begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]
