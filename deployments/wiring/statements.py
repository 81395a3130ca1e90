"""Take a TOML text apart into its statements: headers, pairs, and the lines between them.

Only where statements begin and end is found here, and which table they belong to; what they mean is
`tomllib`'s to say. Invariant: the statements, one behind the other, are the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from deployments.wiring.data import Path

_KEY: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
KEYS: Final = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
"""Matches a key, dotted or not."""
_HEADER: Final = re.compile(rf"[ \t]*(?P<open>\[\[?)[ \t]*(?P<keys>{KEYS})[ \t]*\]\]?")
_PAIR: Final = re.compile(rf"[ \t]*(?P<keys>{KEYS})[ \t]*=[ \t]*")
_ONE_KEY: Final = re.compile(_KEY)
_PIECE: Final = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?'{3,5}'''
    r"""|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\#[^\n]*|[][{}]|\r?\n|.""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A header, a pair, or a line that is blank or a comment; its line's end included.

    Attributes:
        path: of the table that a header opens, or of a pair's value; arrays of tables by index.
        value: where a pair's value stands, else nowhere.
        table: of the header that it stands under, or is.
    """

    kind: Literal["table", "item", "pair", "line"]
    start: int
    end: int
    path: Path = ()
    value: tuple[int, int] = (0, 0)
    table: Path = ()


def statements(text: str, start: int) -> Iterator[Statement]:
    """Yield the statements of a text that `tomllib` can read, from a place on."""
    tables, table = _Tables(), Path()
    while start < len(text):
        end = _line_end(text, start)
        if header := _HEADER.match(text, start):
            keys = parts(header["keys"])
            item = header["open"] == "[["
            table = tables.item(keys) if item else tables.table(keys)
            yield Statement("item" if item else "table", start, end, table, table=table)
        elif pair := _PAIR.match(text, start):
            last, end = _value_end(text, pair.end())
            path = (*table, *parts(pair["keys"]))
            yield Statement("pair", start, end, path, (pair.end(), last), table)
        else:
            yield Statement("line", start, end, table, table=table)
        start = end


class _Tables:
    """Counts the items of arrays of tables."""

    def __init__(self) -> None:
        self._counts: dict[Path, int] = {}

    def table(self, keys: list[str]) -> Path:
        """Return the path that a header's keys lead to: into the last item of an array."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        return path

    def item(self, keys: list[str]) -> Path:
        """Return the path of one more item of an array."""
        array = (*self.table(keys[:-1]), keys[-1])
        self._counts[array] = self._counts.get(array, 0) + 1
        return (*array, self._counts[array] - 1)


def parts(keys: str) -> list[str]:
    """Return the names in a key."""
    return [_plain(one) for one in _ONE_KEY.findall(keys)]


def _plain(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1]
    return str(json.loads(key)) if key.startswith('"') else key


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end + 1


def _value_end(text: str, start: int) -> tuple[int, int]:
    """Return where a value ends, and where its statement does."""
    depth, last = 0, start
    for piece in _PIECE.finditer(text, start):
        words = piece[0]
        if words in {"\n", "\r\n"} and depth == 0:
            return last, piece.end()
        depth += (words in "[{") - (words in "]}")
        if not words.isspace() and not words.startswith("#"):
            last = piece.end()
    return last, len(text)
