"""Prime: which lessons bear on what is happening now, and which of them are put before a model.

`select` is pure, so hooks, proxy and comparisons choose alike. A lesson is shown once a session,
only when it is confirmed, of a kind that the moment can use, and relevant above a cut; in a
held-out session none is, and what would have been is recorded instead. How relevant it is at a
prompt and at the end of a turn `tasks/bearing.py` says, and at a tool call `tasks/calls.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, Final, assert_never

import numpy as np
from numpy.typing import NDArray

from tasks import bearing, calls
from tasks.bearing import (
    AT_END,
    BY_MEANING,
    BY_WORDS,
    CUT,
    LOOKED_AT,
    Sought,
    ending_words,
    prompt_words,
    relevance,
    relevances,
)
from tasks.calls import Call, bears
from tasks.domain.clock import instant
from tasks.domain.holdout import held_out
from tasks.domain.ids import shown
from tasks.domain.markers import FENCE_CLOSE, FENCE_OPEN, told_lesson
from tasks.domain.units import USABLE, EpisodeKind
from tasks.embedding.space import Gauge
from tasks.profiles import profile
from tasks.ranking import Asked
from tasks.store.scope_view import ScopeView

MOST: Final = 3
"""Lessons shown at one moment."""
NEAREST: Final = 5
"""Lessons not shown that are recorded with the reason."""
_COSINES: Final = np.array([0.0, 1.001], dtype=np.float32)
"""Between which all cosines count; a little over 1, since floats are rounded."""
ABOUT: Final = "What was learned here before that bears on this, quoted as data."


class Moment(StrEnum):
    """When a lesson may be shown."""

    PROMPT = "prompt"
    END = "end of turn"
    TOOL = "tool call"


_KINDS: Final = {
    Moment.PROMPT: frozenset(EpisodeKind),
    Moment.END: frozenset({EpisodeKind.CORRECTION}),
    Moment.TOOL: frozenset({EpisodeKind.ERROR}),
}


def moments_of(kind: str) -> list[Moment]:
    """Return when a lesson of a kind may be shown."""
    return [moment for moment, kinds in _KINDS.items() if kind in kinds]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson's row of the view, and how relevant it is now, in [0, 1]."""

    row: dict[str, Any]
    relevance: float

    @property
    def id(self) -> str:
        """Return the lesson's id."""
        return str(self.row["id"])


Bounds = tuple[Candidate, Candidate]
"""A lesson at the least and at the most that its relevance can be."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What became of the candidates.

    Attributes:
        shown: rows to show, best first.
        held_out: ids that would have been shown in a session that is not held out.
        near: the nearest of the others, each id with why it is not shown.
    """

    shown: tuple[dict[str, Any], ...] = ()
    held_out: tuple[str, ...] = ()
    near: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Lessons:
    """The lessons of one scope as prime searches them; row i is the same in every array.

    Attributes:
        profiles: what moments are compared with.
        vectors: shape (n, dim); a row of zeros has no vector.
    """

    rows: tuple[dict[str, Any], ...]
    profiles: tuple[dict[str, Any], ...]
    vectors: NDArray[np.float32]

    def candidates(self, asked: Asked, moment: Moment) -> list[Candidate]:
        """Return the lessons that what is asked at a moment touches, with their relevance to it."""
        match moment:
            case Moment.TOOL:
                found = self._of_call(Call(asked.text))
            case Moment.END:
                found = self._by_words(Sought(ending_words(asked.text)), AT_END)
            case Moment.PROMPT:
                sought = _sought(asked.text)
                found = self._by_meaning(sought, asked) or self._by_words(sought, BY_WORDS)
            case _:
                assert_never(moment)
        return [Candidate(self.rows[row], value) for row, value in found.items()]

    def bounds(self, text: str, gauge: Gauge) -> list[Bounds]:
        """Return the lessons that a prompt touches, as they are whatever its meaning.

        Args:
            text: of the prompt.
            gauge: of the space in which its meaning would be read.
        """
        sought = _sought(text)
        low, high = (float(alike) for alike in gauge.likeness(_COSINES))
        found = []
        for row, one in self._profiled(sought.terms()):
            weighing = BY_WORDS if gauge.of_words or not self.vectors[row].any() else BY_MEANING
            least, most = relevances(one, sought, weighing, (low, high))
            found.append((Candidate(self.rows[row], least), Candidate(self.rows[row], most)))
        return found

    @cached_property
    def _where(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Return the lessons of each term by which they are looked up, and its weights there."""
        where: dict[str, tuple[list[int], list[float]]] = {}
        for row, one in enumerate(self.profiles):
            for term, weight in looked_up(one).items():
                rows, weights = where.setdefault(term, ([], []))
                rows.append(row)
                weights.append(weight)
        return {
            term: (np.array(rows, dtype=np.int64), np.array(weights, dtype=np.float64))
            for term, (rows, weights) in where.items()
        }

    def _touched(self, terms: Iterable[str]) -> list[int]:
        """Return the lessons that hold any of the terms; of a crowd those that hold the most."""
        found = [self._where[term] for term in terms if term in self._where]
        if not found:
            return []
        sums = np.bincount(
            np.concatenate([rows for rows, _ in found]),
            weights=np.concatenate([weights for _, weights in found]),
        )
        held = np.flatnonzero(sums)
        best = np.argsort(-sums[held], kind="stable")[:LOOKED_AT]
        return [int(row) for row in held[best]]

    def _of_call(self, call: Call) -> dict[int, float]:
        return {
            row: float(self.rows[row]["kind"] == EpisodeKind.ERROR and bears(one, call))
            for row, one in self._profiled(call.terms())
        }

    def _by_words(self, sought: Sought, weighing: Mapping[str, float]) -> dict[int, float]:
        return {
            row: relevance(one, sought, weighing) for row, one in self._profiled(sought.terms())
        }

    def _profiled(self, terms: Iterable[str]) -> Iterable[tuple[int, dict[str, Any]]]:
        return ((row, self.profiles[row]) for row in self._touched(terms))

    def _by_meaning(self, sought: Sought, asked: Asked) -> dict[int, float]:
        """Return relevance where a model read the words; none where none did."""
        if asked.gauge.of_words or asked.vector is None or not self.vectors.shape[1]:
            return {}
        touched = self._touched(sought.terms())
        vectors = self.vectors[touched]
        alike = asked.gauge.likeness(vectors @ asked.vector)
        found: dict[int, float] = {}
        for row, vector, likeness in zip(touched, vectors, alike, strict=True):
            weighing = BY_MEANING if vector.any() else BY_WORDS
            found[row] = relevance(self.profiles[row], sought, weighing, float(likeness))
        return found


@lru_cache(maxsize=8)
def _sought(prompt: str) -> Sought:
    """Return what a prompt is about: each scope is asked of it, before and after it is encoded."""
    return Sought(prompt_words(prompt))


def lessons_in(view: ScopeView | None) -> Lessons:
    """Return the lessons that a published scope holds."""
    at = view.lessons if view else np.zeros(0, dtype=np.int64)
    rows = [view.rows[int(i)] for i in at] if view else []
    dense = view.vectors if view else None
    vectors = np.zeros((len(rows), 0), dtype=np.float32) if dense is None else dense.matrix[at]
    profiles = view.profiles if view else ()
    return Lessons(tuple(rows), profiles or tuple(profile_of(row, {}) for row in rows), vectors)


def profile_of(row: Mapping[str, Any], worn: Mapping[str, float]) -> dict[str, Any]:
    """Return what moments are compared with of a lesson, a JSON object.

    Args:
        row: of the lesson.
        worn: what words still tell in its scope (`tasks.profiles.worn_by`).
    """
    return profile(str(row["text"]), worn, of_error=row["kind"] == EpisodeKind.ERROR)


def looked_up(profile: Mapping[str, Any]) -> dict[str, float]:
    """Return the terms by which a lesson is looked up, at whatever moment, with their weight."""
    of_error = "tools" in profile
    terms = bearing.terms_told(profile) | (calls.terms_told(profile) if of_error else set())
    return {term: profile["weights"].get(term, 1.0) for term in terms}


def select(  # noqa: PLR0913  the candidates, the moment, and what limits the choice
    candidates: Iterable[Candidate],
    *,
    moment: Moment,
    session: str,
    told: Collection[str],
    holdout: float,
    cut: float = CUT,
    most: int = MOST,
) -> Selection:
    """Choose what to show now.

    Args:
        candidates: the lessons of the scope and of `@global`, in any order.
        moment: when it is.
        session: decides by its hash whether this is a held-out session.
        told: ids that this session was shown already.
        holdout: share of sessions held out, 0 to 1.
        cut: relevance below which nothing is shown.
        most: how many at most.
    """
    ranked = sorted(candidates, key=lambda one: (-one.relevance, one.id))
    reasons = [(one, _against(one, moment, told, cut)) for one in ranked]
    wanted = [one for one, reason in reasons if not reason]
    others = [(one.id, reason) for one, reason in reasons if reason]
    near = tuple([*((one.id, "no room") for one in wanted[most:]), *others][:NEAREST])
    if held_out(session, holdout):
        return Selection((), tuple(one.id for one in wanted[:most]), near)
    return Selection(tuple(one.row for one in wanted[:most]), (), near)


def is_settled(bounds: Iterable[Bounds], told: Collection[str]) -> bool:
    """Tell whether the same is shown at a prompt, and in one order, whatever its meaning.

    Args:
        bounds: of the lessons of the scope and of `@global`.
        told: ids that this session was shown already.
    """
    depends = []
    for least, most in bounds:
        if not _against(most, Moment.PROMPT, told, CUT):
            if _against(least, Moment.PROMPT, told, CUT):
                return False
            depends.append(least.relevance < most.relevance)
    return len(depends) <= 1 or not any(depends)


def block(rows: Sequence[dict[str, Any]], day: Callable[[datetime], str]) -> str:
    """Return lessons as the fenced text that a model reads; `day` words an instant."""
    lines = [f"- {day(instant(row['at']))}{said(row)}" for row in rows]
    return "\n".join([FENCE_OPEN, ABOUT, *lines, FENCE_CLOSE])


def said(row: Mapping[str, Any]) -> str:
    """Return a lesson's line in the block, behind the day."""
    return told_lesson(row["trust"], row["kind"], str(row["text"]), shown(row["id"]))


def _against(one: Candidate, moment: Moment, told: Collection[str], cut: float) -> str:
    """Return why a lesson is not shown, "" when nothing speaks against it."""
    if one.row["trust"] not in USABLE:
        return "not confirmed"
    if EpisodeKind(one.row["kind"]) not in _KINDS[moment]:
        return "of another moment"
    if one.relevance < cut:
        return "not relevant enough"
    if one.id in told:
        return "shown before"
    return ""
