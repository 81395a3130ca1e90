"""Measure whether the person has to repeat themselves: the two rates by day, from what is stored.

Repeat-yourself: the share of corrections that an earlier session of the same project had already
heard, by key or by meaning. Repeated error: the same over error class, tool and first command word.
Invariant: all that a person is told, by whichever command, is of one window, and what went before
it counts only as what was already heard. The history beside it, for programs, is of all days.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, tzinfo
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.domain.clock import local_day
from tasks.domain.repeat import repeat_key
from tasks.domain.report import DayShare, Measures, Rate
from tasks.domain.scope import Scope
from tasks.domain.units import Episode, EpisodeKind
from tasks.embedding.space import Space
from tasks.reached import BEGINNING
from tasks.sleep.material import Vectors, episodes_of
from tasks.sleep.run import vectors_of_scope
from tasks.store import reads
from tasks.store.handle import Store

DAYS: Final = 14
"""Local days in the window: the last ones that had a correction or an error."""
_BLOCK: Final = 1_024


@dataclass(frozen=True, slots=True)
class Said:
    """One correction or error for a rate: when, in which session, under which key."""

    day: date
    at: datetime
    session: str
    key: str
    row: int


def measure(store: Store, space: Space, *, zone: tzinfo) -> Measures:
    """Return both rates by local day in the window, over every project of the store.

    Args:
        store: the open store.
        space: its join cut says from which cosine on two corrections mean the same.
        zone: where a day begins.
    """
    corrections: Counter[tuple[date, bool]] = Counter()
    errors: Counter[tuple[date, bool]] = Counter()
    scopes = reads.scopes(store.database)
    for scope in scopes:
        frame = reads.episode_frame(store.database, scope)
        vectors = vectors_of_scope(store, scope, space)
        corrections.update(_repeats(_corrections(frame, scope, vectors, zone), vectors, space))
        errors.update(_repeats(_errors(frame, scope, zone), vectors, space))

    def over(days: Sequence[date], since: datetime) -> Measures:
        turns = sum(reads.person_turns(store.database, scope, since=since) for scope in scopes)
        return Measures(_rate(corrections, days), _rate(errors, days), turns)

    days = sorted({day for day, _ in (*corrections, *errors)})
    history = over(days, BEGINNING)
    if not days:
        return Measures(history=history)
    window = days[-DAYS:]
    return replace(over(window, datetime.combine(window[0], time.min, zone)), history=history)


def repeated(said: Sequence[Said], matrix: NDArray[np.float32], cut: float) -> list[bool]:
    """Tell of each, in order of time, whether an earlier session holds the same.

    Args:
        said: sorted by time.
        matrix: unit vectors; `Said.row` points into it, -1 for none.
        cut: cosine from which on two mean the same.
    """
    first: dict[str, set[str]] = {}
    by_key = []
    for one in said:
        sessions = first.setdefault(one.key, set())
        by_key.append(bool(one.key) and bool(sessions - {one.session}))
        sessions.add(one.session)
    by_meaning = _near_earlier(said, matrix, cut)
    return [a or b for a, b in zip(by_key, by_meaning, strict=True)]


def _near_earlier(said: Sequence[Said], matrix: NDArray[np.float32], cut: float) -> Iterable[bool]:
    rows = np.array([one.row for one in said], dtype=np.int64)
    if not len(rows) or not len(matrix):
        return [False] * len(said)
    known = np.where((rows >= 0)[:, None], matrix[np.maximum(rows, 0)], np.float32(0))
    _, sessions = np.unique([one.session for one in said], return_inverse=True)
    near = np.zeros(len(said), dtype=bool)
    for start in range(0, len(said), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(said)))
        later, earlier = np.nonzero(known[block] @ known[: block.stop].T >= cut)
        later += start
        counts = (earlier < later) & (sessions[earlier] != sessions[later])
        near[later[counts]] = True
    return near.tolist()


def _repeats(said: Sequence[Said], vectors: Vectors, space: Space) -> Counter[tuple[date, bool]]:
    again = repeated(said, vectors.matrix, space.join_cut)
    return Counter((one.day, same) for one, same in zip(said, again, strict=True))


def _corrections(frame: pl.DataFrame, scope: Scope, vectors: Vectors, zone: tzinfo) -> list[Said]:
    wanted = frame.filter(pl.col("kind") == EpisodeKind.CORRECTION.value, ~pl.col("standing"))
    return [
        _said(episode, repeat_key(episode), vectors.rows.get(episode.id, -1), zone)
        for episode in episodes_of(wanted, scope)
    ]


def _errors(frame: pl.DataFrame, scope: Scope, zone: tzinfo) -> list[Said]:
    """An error's key decides alone: two messages of one tool mean much the same to a vector."""
    wanted = frame.filter(pl.col("kind") == EpisodeKind.ERROR.value)
    return [
        _said(episode, f"{episode.error_class}\0{episode.tool}\0{episode.command}", -1, zone)
        for episode in episodes_of(wanted, scope)
    ]


def _said(episode: Episode, key: str, row: int, zone: tzinfo) -> Said:
    return Said(local_day(episode.at, zone), episode.at, episode.session_id, key, row)


def _rate(counted: Counter[tuple[date, bool]], window: Sequence[date]) -> Rate:
    return Rate(
        tuple(
            DayShare(day, counted[day, True], counted[day, True] + counted[day, False])
            for day in window
        )
    )
