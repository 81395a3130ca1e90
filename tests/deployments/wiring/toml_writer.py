"""Writes the same data as TOML in every way there is: headers, dotted keys, tables on one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

BOM = "\ufeff"


class Writer:
    """It draws from a seed, for speed: hypothesis draws the data and the seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._blocks: list[list[str]] = []

    def text(self, data: dict[str, Any]) -> str:
        """Return a text that holds the data; tables stand in any order."""
        lines: list[str] = []
        for key, value in data.items():
            self._pair(lines, (), (key,), value)
        self._random.shuffle(self._blocks)
        whole = [*lines, *(line for block in self._blocks for line in block)]
        text = "\n".join(self._among(whole)) + self._random.choice(["", "\n", "\n\n"])
        newline = self._random.choice(["\n", "\r\n"])
        return self._random.choice(["", BOM]) + text.replace("\n", newline)

    def _pair(
        self, lines: list[str], table: tuple[str, ...], keys: tuple[str, ...], value: Any
    ) -> None:
        """Write a value under keys of a table whose pairs are in some lines.

        Only a value with one key may get a header: a dotted one has made its table already.
        """
        ways = ["inline"]
        if isinstance(value, dict) and value:
            ways.append("dotted")
        if len(keys) == 1 and isinstance(value, dict):
            ways += ["header", "header"]
        if len(keys) == 1 and _is_of_tables(value):
            ways += ["items", "items"]
        match self._random.choice(ways):
            case "dotted":
                for name, one in value.items():
                    self._pair(lines, table, (*keys, name), one)
            case "header":
                self._table((*table, *keys), value)
            case "items":
                self._blocks.append(self._item_lines((*table, *keys), value))
            case _:
                lines.append(f"{self._indent()}{self._keys(keys)}{self._equals()}{self._of(value)}")

    def _table(self, path: tuple[str, ...], value: dict[str, Any]) -> None:
        lines: list[str] = []
        before = len(self._blocks)
        for key, one in value.items():
            self._pair(lines, path, (key,), one)
        implied = not lines and len(self._blocks) > before and self._random.random() < 0.7
        if not implied:
            self._blocks.append([f"[{self._keys(path)}]", *lines])

    def _item_lines(self, path: tuple[str, ...], items: Sequence[dict[str, Any]]) -> list[str]:
        """Return an array of tables, whose items' own tables stand below each."""
        lines = []
        for item in items:
            lines.append(f"[[{self._keys(path)}]]")
            later = []
            for key, one in item.items():
                if _is_of_tables(one) and self._random.random() < 0.5:
                    later += self._item_lines((*path, key), one)
                else:
                    lines.append(f"{self._keys((key,))}{self._equals()}{self._of(one)}")
            lines += later
        return lines

    def _among(self, lines: list[str]) -> list[str]:
        told = []
        for line in lines:
            told += self._random.choice([[], [], [], [""], ["# a = { b, ["], ["", ""]])
            told.append(line + self._random.choice(["", "", "  # ]] }"]))
        return told + self._random.choice([[], [], ["# the end"]])

    def _indent(self) -> str:
        return self._random.choice(["", "", "  "])

    def _equals(self) -> str:
        return self._random.choice([" = ", " = ", "="])

    def _keys(self, keys: Sequence[str]) -> str:
        return self._random.choice([".", ".", " . "]).join(map(self._key, keys))

    def _key(self, key: str) -> str:
        bare = key.isascii() and key.replace("_", "").isalnum()
        ways = [json.dumps(key, ensure_ascii=False), *([f"'{key}'"] if "'" not in key else [])]
        return self._random.choice([*ways, key, key, key] if bare else ways)

    def _of(self, value: Any) -> str:
        match value:
            case dict():
                pad = self._random.choice(["", " "])
                return "{" + pad + f",{pad}".join(self._members(value)) + pad + "}"
            case list():
                return self._array([self._of(one) for one in value])
            case bool():
                return str(value).lower()
            case str():
                literal = "'" not in value and value.isprintable() and self._random.random() < 0.5
                return f"'{value}'" if literal else json.dumps(value, ensure_ascii=False)
        return str(value)

    def _members(self, value: dict[str, Any]) -> list[str]:
        found = []
        for key, one in value.items():
            if isinstance(one, dict) and one and self._random.random() < 0.3:
                found += [f"{self._key(key)}.{rest}" for rest in self._members(one)]
            else:
                found.append(f"{self._key(key)}{self._equals()}{self._of(one)}")
        return found

    def _array(self, items: list[str]) -> str:
        if self._random.random() < 0.5:
            return "[" + ", ".join(items) + self._random.choice(["", ",", " "])[: len(items)] + "]"
        comment = self._random.choice(["", "", " # one, ]"])
        ends = [","] * len(items)
        if items and self._random.random() < 0.5:
            ends[-1] = ""
        lines = [f"\n    {one}{end}{comment}" for one, end in zip(items, ends, strict=True)]
        return "[" + "".join(lines) + "\n]"


def _is_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
