"""Cue tables: named patterns with weights, kept as data beside the code that reads them.

Invariant: a table is read once and never written; a pattern runs only where one of its literals
stands, so that reading a text costs a few substring searches. Patterns are verbose (blanks do not
count) and see lower-cased text; an apostrophe in a pattern also matches the typographic one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
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


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of one section, in their order.

    Attributes:
        literals: every literal beside the place of its cue: one walk through a flat list of them,
            since asking each cue in turn took half of all detection.
        everywhere: places of the cues that are always looked for.
    """

    rows: tuple[Cue, ...]
    literals: tuple[tuple[str, int], ...]
    everywhere: frozenset[int]

    @classmethod
    def of(cls, *rows: Cue) -> Cues:
        """Return the cues as a section of a table."""
        literals = [(literal, at) for at, row in enumerate(rows) for literal in row.literals]
        everywhere = frozenset(at for at, row in enumerate(rows) if not row.literals)
        return cls(rows, tuple(literals), everywhere)

    def __iter__(self) -> Iterator[Cue]:
        """Yield every cue."""
        return iter(self.rows)

    def standing(self, lowered: str) -> Iterator[Cue]:
        """Yield the cues that stand in a lower-cased text."""
        likely = self.everywhere.union([at for literal, at in self.literals if literal in lowered])
        for at in sorted(likely):
            if self.rows[at].pattern.search(lowered):
                yield self.rows[at]


@cache
def table(package: str, name: str) -> Mapping[str, Any]:
    """Return the table `<name>.toml` of a package as it is written."""
    return tomllib.loads((files(package) / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def cues(package: str, name: str, section: str) -> Cues:
    """Return the cues of one section of a table, in their order."""
    return Cues.of(*(_cue(row) for row in table(package, name)[section]))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a table's pattern ready for use."""
    return re.compile(pattern.replace("'", "['’]"), re.DOTALL | re.VERBOSE)


def first_in(lowered: str, these: Cues) -> str:
    """Return the name of the first cue that stands in a lower-cased text, else ""."""
    return next((cue.name for cue in these.standing(lowered)), "")


def weight_of(lowered: str, these: Cues) -> float:
    """Return the sum of the weights of the cues that stand in a lower-cased text."""
    return sum(cue.weight for cue in these.standing(lowered))


def _cue(row: Mapping[str, Any]) -> Cue:
    return Cue(
        name=row["name"],
        weight=float(row.get("weight", 0.0)),
        literals=tuple(row.get("literals", ())),
        pattern=compiled(row["pattern"]),
    )
