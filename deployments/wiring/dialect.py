"""What agents take in their JSON beyond JSON itself; they ignore a whole file for the rest.

Tried out with Claude Code 2.1.332, Codex 0.171.0 and Gemini CLI 0.61.0; of Claude Desktop its users
tell it. The editors here read and keep all of it: what is told is that the agent does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from deployments.wiring.files import read, text_of
from deployments.wiring.jsonc import BOM, Branch, Node, Unreadable, comments, parse
from tasks.errors import EverestError

Beyond = Literal["a byte order mark", "a comment", "a comma before a closing bracket"]
PLAIN: Final[frozenset[Beyond]] = frozenset()
WITH_MARK: Final[frozenset[Beyond]] = frozenset({"a byte order mark"})
WITH_COMMENTS: Final[frozenset[Beyond]] = frozenset({"a comment"})


def ignored(path: Path, takes: frozenset[Beyond]) -> Iterator[str]:
    """Yield why an agent ignores a file, a note for each kind of thing that it does not take."""
    try:
        text = text_of(path, read(path))
        found = dict(reversed(list(_beyond(text, parse(text)))))
    except (EverestError, Unreadable):  # told where the file is to be changed
        return
    for what, at in found.items():
        if what not in takes:
            line = text.count("\n", 0, at) + 1
            yield f"it ignores all of {path} for {what} in line {line}: take that out"


def _beyond(text: str, root: Node | None) -> Iterator[tuple[Beyond, int]]:
    if text.startswith(BOM):
        yield "a byte order mark", 0
    if root is not None:
        for start, end in _gaps(root, len(BOM) if text.startswith(BOM) else 0, len(text)):
            for at, _ in comments(text, start, end):
                yield "a comment", at
        for at in _last_commas(root):
            yield "a comma before a closing bracket", at


def _gaps(node: Node, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text in which no value and no key stands."""
    yield start, node.start
    if isinstance(node, Branch):
        at = node.start + 1
        for child in node.children:
            yield at, child.start
            yield from _gaps(child.node, child.node.start, child.node.end)
            at = child.node.end
        yield at, node.end - 1
    yield node.end, end


def _last_commas(node: Node) -> Iterator[int]:
    if isinstance(node, Branch):
        for child in node.children:
            yield from _last_commas(child.node)
        if node.children and (last := node.children[-1].comma) is not None:
            yield last
