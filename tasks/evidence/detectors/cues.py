"""Cue tables: named patterns with weights, kept as data and loaded once.

Invariant: a pattern runs only where one of its literals stands, so that reading a text costs a few
substring searches. Patterns see lower-cased text; an apostrophe in a table also matches the
typographic one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Cue:
    """One row of a table.

    Attributes:
        literals: lower-case strings of which one must stand in the text; none means always look.
    """

    name: str
    weight: float
    literals: tuple[str, ...]
    pattern: re.Pattern[str]

    def find(self, lowered: str) -> re.Match[str] | None:
        """Return where the cue stands in a lower-cased text."""
        if self.literals and not any(literal in lowered for literal in self.literals):
            return None
        return self.pattern.search(lowered)


@cache
def table(name: str) -> Mapping[str, Any]:
    """Return the table `<name>.toml` of this package as it is written."""
    text = (files(__package__) / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def cues(name: str, section: str) -> tuple[Cue, ...]:
    """Return the compiled cues of one section of a table, in their order."""
    return tuple(_compiled(row) for row in table(name)[section])


def names_in(lowered: str, these: Iterable[Cue]) -> tuple[str, ...]:
    """Return the names of the cues that stand in a lower-cased text."""
    return tuple(cue.name for cue in these if cue.find(lowered))


def first_in(lowered: str, these: Iterable[Cue]) -> str:
    """Return the name of the first cue that stands in a lower-cased text, else ""."""
    return next((cue.name for cue in these if cue.find(lowered)), "")


def weight_of(lowered: str, these: Iterable[Cue]) -> float:
    """Return the sum of the weights of the cues that stand in a lower-cased text."""
    return sum(cue.weight for cue in these if cue.find(lowered))


def _compiled(row: Mapping[str, Any]) -> Cue:
    pattern = row["pattern"].replace("'", "['’]")
    return Cue(
        name=row["name"],
        weight=float(row.get("weight", 0.0)),
        literals=tuple(row.get("literals", ())),
        pattern=re.compile(pattern, re.DOTALL | re.VERBOSE),
    )
