"""Cue tables: named patterns with weights, kept as data beside the code that reads them.

Invariant: a table is read once and never written; a pattern runs only where one of its literals
stands, so that reading a text costs a few substring searches. Patterns are verbose (blanks do not
count) and see lower-cased text; an apostrophe in a pattern also matches the typographic one.
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
        if not self.literals:
            return self.pattern.search(lowered)
        for literal in self.literals:  # a plain loop: a generator here took half of all detection
            if literal in lowered:
                return self.pattern.search(lowered)
        return None


@cache
def table(package: str, name: str) -> Mapping[str, Any]:
    """Return the table `<name>.toml` of a package as it is written."""
    return tomllib.loads((files(package) / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def cues(package: str, name: str, section: str) -> tuple[Cue, ...]:
    """Return the cues of one section of a table, in their order."""
    return tuple(_cue(row) for row in table(package, name)[section])


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a table's pattern ready for use."""
    return re.compile(pattern.replace("'", "['’]"), re.DOTALL | re.VERBOSE)


def first_in(lowered: str, these: Iterable[Cue]) -> str:
    """Return the name of the first cue that stands in a lower-cased text, else ""."""
    return next((cue.name for cue in these if cue.find(lowered)), "")


def weight_of(lowered: str, these: Iterable[Cue]) -> float:
    """Return the sum of the weights of the cues that stand in a lower-cased text."""
    return sum(cue.weight for cue in these if cue.find(lowered))


def _cue(row: Mapping[str, Any]) -> Cue:
    return Cue(
        name=row["name"],
        weight=float(row.get("weight", 0.0)),
        literals=tuple(row.get("literals", ())),
        pattern=compiled(row["pattern"]),
    )
