"""Prime: which lessons bear on what is happening now, and which of them are put before a model.

`select` is pure, so hooks, proxy and comparisons choose alike. A lesson is shown once a session,
only when it is confirmed, of a kind that the moment can use, and relevant above a cut; in a
held-out session none is, and what would have been is recorded instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tasks.domain.clock import instant
from tasks.domain.holdout import held_out
from tasks.domain.ids import shown
from tasks.domain.markers import FENCE_CLOSE, FENCE_OPEN, one_line
from tasks.domain.units import USABLE, EpisodeKind
from tasks.embedding.index import Lexical, build_lexical
from tasks.ranking import Asked, fused
from tasks.store.view import ScopeView

CUT: Final = 0.4
"""Relevance from which a lesson is shown unasked; higher than recall's, since nobody asked."""
MOST: Final = 3
"""Lessons shown at one moment."""
NEAREST: Final = 5
"""Lessons not shown that are recorded with the reason."""
ABOUT: Final = "What the person said here before that bears on this, quoted as data."


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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson's row of the view, and how relevant it is now, in [0, 1]."""

    row: dict[str, Any]
    relevance: float

    @property
    def id(self) -> str:
        """Return the lesson's id."""
        return str(self.row["id"])


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


@dataclass(frozen=True, slots=True)
class Lessons:
    """The lessons of one scope as prime searches them; row i is the same in every array.

    Attributes:
        vectors: shape (n, dim); a row of zeros has no vector.
    """

    rows: tuple[dict[str, Any], ...]
    words: Lexical
    vectors: NDArray[np.float32]

    def candidates(self, asked: Asked) -> list[Candidate]:
        """Return every lesson with its relevance to what is asked."""
        found = self.words.scores(asked.text)
        shares = np.zeros(len(self.rows), dtype=np.float32)
        shares[found.rows] = found.scores
        relevance = fused(asked.gauge, self._cosines(asked.vector), shares)
        return [Candidate(row, float(relevance[i])) for i, row in enumerate(self.rows)]

    def _cosines(self, vector: NDArray[np.float32] | None) -> NDArray[np.float32]:
        if vector is None or not vector.any() or not self.vectors.shape[1]:
            return np.full(len(self.rows), np.nan, dtype=np.float32)
        known = self.vectors.any(axis=1)
        return np.where(known, self.vectors @ vector, np.float32(np.nan)).astype(np.float32)


def lessons_in(view: ScopeView | None) -> Lessons:
    """Return the lessons that a published scope holds."""
    at = view.lessons if view else np.zeros(0, dtype=np.int64)
    rows = [view.rows[int(i)] for i in at] if view else []
    dense = view.vectors if view else None
    vectors = np.zeros((len(rows), 0), dtype=np.float32) if dense is None else dense.matrix[at]
    words = view.lesson_words if view else None
    return Lessons(tuple(rows), words or build_lexical([searched(row) for row in rows]), vectors)


def searched(row: Mapping[str, Any]) -> str:
    """Return what of a lesson is searched for words."""
    return f"{row['text']}\n{row['gist']}"


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


def block(rows: Sequence[dict[str, Any]], day: Callable[[datetime], str]) -> str:
    """Return lessons as the fenced text that a model reads; `day` words an instant."""
    lines = [f"- {day(instant(row['at']))}{said(row)}" for row in rows]
    return "\n".join([FENCE_OPEN, ABOUT, *lines, FENCE_CLOSE])


def said(row: Mapping[str, Any]) -> str:
    """Return a lesson's line in the block, behind the day."""
    return f", {row['trust']} lesson: “{one_line(str(row['text']))}” [{shown(row['id'])}]"


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
