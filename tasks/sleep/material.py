"""What one pass sees of one scope, and what it hands back: pure data in, proposals out.

Passes read no clock, no store and no file. A pass run again over what it left changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.domain.proposals import Proposal, SessionFacts
from tasks.domain.scope import Scope
from tasks.domain.units import Episode, EpisodeKind, Grounding, Lesson, Prediction, Strength


@dataclass(frozen=True, slots=True)
class Cuts:
    """The cosines at which two meanings count as one, for one embedding space."""

    join: float
    verify: float


@dataclass(frozen=True, slots=True)
class Vectors:
    """Unit vectors of episodes: row `rows[id]` of `matrix`, float32, shape (n, dim)."""

    rows: Mapping[str, int]
    matrix: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Material:
    """One scope's memory, as a pass reads it.

    Attributes:
        episodes: frame of schema EPISODES, sorted by (at, id).
        lessons: current versions of every trust and lifecycle, sorted by id.
        shown: lesson id -> session ids in which that lesson was in some channel.
    """

    scope: Scope
    episodes: pl.DataFrame
    vectors: Vectors
    lessons: tuple[Lesson, ...]
    predictions: tuple[Prediction, ...]
    sessions: tuple[SessionFacts, ...]
    shown: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class HeldText:
    """A rule that waits for a person before it may be a lesson, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class PassReport:
    """What a pass found before the gateway decided; counts by name, in a fixed order."""

    name: str
    counts: dict[str, int]
    notes: tuple[str, ...] = ()
    held: tuple[HeldText, ...] = ()


@dataclass(frozen=True, slots=True)
class PassResult:
    """Proposals in the order in which the gateway is to take them, and the report."""

    proposals: tuple[Proposal, ...] = ()
    report: PassReport = field(default_factory=lambda: PassReport("", {}))


def episodes_of(frame: pl.DataFrame, scope: Scope) -> list[Episode]:
    """Return the frame's rows as episodes of `scope`, in the frame's order."""
    return [_episode(row, scope) for row in frame.iter_rows(named=True)]


def _episode(row: dict[str, object], scope: Scope) -> Episode:
    taken = dict(row)
    value, as_of = taken.pop("strength"), taken.pop("as_of")
    assert isinstance(value, float)  # noqa: S101  the schema says so; this tells the type checker
    assert isinstance(as_of, datetime)  # noqa: S101
    kind, grounding = taken.pop("kind"), taken.pop("grounding")
    topic = taken.pop("topic")
    assert isinstance(topic, list)  # noqa: S101
    return Episode(
        scope=scope,
        kind=EpisodeKind(str(kind)),
        grounding=Grounding(str(grounding)),
        strength=Strength(value, as_of),
        topic=tuple(topic),
        **taken,  # type: ignore[arg-type]  # the rest of the schema's columns are the fields' names
    )
