"""The labelled cases of prime: lessons of ten projects, and which of them bear on which moment.

A case is a moment in one project and the lessons that bear on it; one marked `~` may be shown and
need not be. Half of the projects served to fit the weights, the other half to measure them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from tasks.embedding.space import WORDS, Space
from tasks.hooks.contract import happening
from tasks.hooks.moments import Point, due
from tasks.prime import MOST, Lessons, Moment, profile_of, select
from tasks.profiles import worn_by
from tasks.ranking import Asked

_CASES = Path(__file__).parent / "cases" / "prime"
_MOMENTS = {"prompts": Moment.PROMPT, "endings": Moment.END, "calls": Moment.TOOL}
MEANING = 120
"""Characters whose meaning is compared, as serving does it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One moment.

    Attributes:
        bearing: names of the lessons that bear on it; `fine`: of those that may be shown as well.
    """

    moment: Moment
    words: str
    bearing: frozenset[str]
    fine: frozenset[str]


@dataclass(frozen=True, slots=True)
class Project:
    """The lessons and moments of one project; `rows` are lessons as a view has them."""

    name: str
    half: str
    rows: tuple[dict[str, Any], ...]
    cases: tuple[Case, ...]

    @property
    def texts(self) -> list[str]:
        return [str(row["text"]) for row in self.rows]

    @property
    def profiles(self) -> tuple[dict[str, Any], ...]:
        """Return the lessons' profiles; the project's prompts are its history as well."""
        worn = worn_by(case.words for case in self.cases if case.moment is Moment.PROMPT)
        return tuple(profile_of(row, worn) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Errors:
    """How often prime was wrong.

    Attributes:
        quiet: moments on which nothing bears; `alarms`: those of them at which a lesson was shown.
        bearing: lessons that bear on a moment; `silences`: those of them that were not shown.
    """

    quiet: int
    alarms: int
    bearing: int
    silences: int

    @property
    def false_alarms(self) -> float:
        return self.alarms / max(self.quiet, 1)

    @property
    def false_silences(self) -> float:
        return self.silences / max(self.bearing, 1)


def projects() -> list[Project]:
    return [_project(path) for path in sorted(_CASES.glob("*.toml"))]


def errors(
    found: Sequence[Project], moment: Moment, space: Space | None = None, *, strange: bool = False
) -> Errors:
    """Return how often prime errs at a moment, by words alone or in a space.

    Args:
        found: the projects of a half.
        moment: the kind of moment.
        space: what compares meanings, None for words alone.
        strange: ask each project's moments of the others' lessons, on which nothing is to bear; of
            the standing habits that some share a few do all the same.
    """
    told = [
        (case, _shown(lessons, case, space))
        for mine in found
        for whose in found
        if (whose is not mine) is strange
        for lessons in [_lessons(whose, space)]
        for case in mine.cases
        if case.moment is moment
    ]
    if strange:
        return Errors(len(told), sum(bool(shown) for _, shown in told), 0, 0)
    quiet = [shown for case, shown in told if not case.bearing | case.fine]
    return Errors(
        len(quiet),
        sum(map(bool, quiet)),
        sum(len(case.bearing) for case, _ in told),
        sum(len(case.bearing - shown) for case, shown in told),
    )


def _shown(lessons: Lessons, case: Case, space: Space | None) -> frozenset[str]:
    asked = Asked(case.words, None, WORDS)
    if space is not None and case.moment is Moment.PROMPT:
        asked = Asked(case.words, _query(space, case.words[:MEANING]), space.gauge)
    chosen = select(
        lessons.candidates(asked, case.moment),
        moment=case.moment,
        session="",
        told=(),
        holdout=0.0,
        most=MOST,
    )
    return frozenset(str(row["id"]) for row in chosen.shown)


_queries: dict[str, dict[str, NDArray[np.float32]]] = {}
_shelves: dict[tuple[str, str], Lessons] = {}


def _query(space: Space, text: str) -> NDArray[np.float32]:
    """Return a prompt's vector; those of all prompts are made at once, which is quicker."""
    if space.name not in _queries:
        texts = sorted({case.words[:MEANING] for one in projects() for case in one.cases})
        rows = space.documents(texts, lambda _: None)
        _queries[space.name] = dict(zip(texts, rows, strict=True))
    known = _queries[space.name]
    if text not in known:  # of a project that is read from elsewhere
        known[text] = space.query(text)
    return known[text]


def _lessons(whose: Project, space: Space | None) -> Lessons:
    key = ("" if space is None else space.name, whose.name)
    if key not in _shelves:
        empty = np.zeros((len(whose.rows), 0), dtype=np.float32)
        vectors = empty if space is None else space.documents(whose.texts, lambda _: None)
        _shelves[key] = Lessons(whose.rows, whose.profiles, vectors)
    return _shelves[key]


def _project(path: Path) -> Project:
    told = tomllib.loads(path.read_text("utf-8"))
    rows = tuple(lesson_row(name, kind, text) for name, (kind, text) in told["lessons"].items())
    return Project(path.stem, told["half"], rows, tuple(_cases(told)))


def _cases(told: dict[str, Any]) -> Iterator[Case]:
    for name, moment in _MOMENTS.items():
        for entry in told[name]:
            words, names = _words(moment, entry)
            bearing = frozenset(one for one in names if not one.endswith("~"))
            yield Case(moment, words, bearing, frozenset(one.rstrip("~") for one in names))


def _words(moment: Moment, entry: list[Any]) -> tuple[str, list[str]]:
    if moment is not Moment.TOOL:
        return entry[0], entry[1:]
    tool, given, *names = entry
    told = {"session_id": "s", "cwd": "/", "tool_name": tool, "tool_input": given}
    one = happening("claude-code", "PreToolUse", orjson.dumps(told))
    point = due(one) if one is not None else None
    assert isinstance(point, Point), entry
    return point.words, names


def lesson_row(name: str, kind: str, text: str) -> dict[str, Any]:
    return {
        "id": name,
        "unit": "lesson",
        "kind": kind,
        "trust": "corroborated",
        "text": text,
        "gist": "",
        "at": "2026-03-04T05:06:07Z",
    }
