"""What a published scope holds: its units with their vectors, and passages of the talk around them.

Passages are made from the evidence files at publication and live nowhere else. What was forgotten
is left out of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, assert_never

import numpy as np
from numpy.typing import NDArray

from tasks.domain.clock import iso
from tasks.domain.ids import episode_id, lesson_vector_id, session_episode_id
from tasks.domain.proposals import SessionFacts
from tasks.domain.scope import Scope
from tasks.domain.session import AgentTurn, PersonTurn, Turn
from tasks.domain.units import (
    RECALLABLE,
    Episode,
    EpisodeKind,
    Lesson,
    Lifecycle,
    Tombstone,
    TombstoneKind,
)
from tasks.evidence.words import evidence_path, load_evidence
from tasks.store import reads
from tasks.store.handle import Store
from tasks.store.reads import Ids, Query, Subject, Unarchived
from tasks.store.rows import ASKED

_PASSAGE: Final = 1_200
_BESIDE: Final = 300

_PINNED_AS_OF: Final = float("inf")
"""A pinned unit's strength is as of a day that never passes, so it does not decay."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One findable unit: the row its readers get, its numbers, its vector and its words."""

    row: dict[str, Any]
    at: float
    strength: float
    as_of: float
    vector: NDArray[np.float32]
    context: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A turn with its neighbours, for the lexical arm."""

    row: dict[str, Any]
    at: float
    context: str


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn in its place: what stands before and after it, and the episodes anchored in it."""

    session: SessionFacts
    turn: Turn
    before: str
    after: str
    units: tuple[str, ...]


def talk_of(store: Store, scope: Scope) -> list[Spoken]:
    """Return every turn of the scope's sessions, oldest first, without what is withheld."""
    gone = withheld(store, scope)
    spoken: list[Spoken] = []
    for session in reads.sessions(store.database, scope):
        if session_episode_id(session.agent, session.id) in gone:
            continue
        path = evidence_path(store.places.evidence, session.agent, session.id)
        turns = load_evidence(path, session.evidence_bytes)
        left = [turn for turn in turns if gone.isdisjoint(_anchored(session.agent, turn))]
        spoken += _spoken(session, left)
    return sorted(spoken, key=lambda one: (one.turn.at, one.turn.uuid))


def units_of(store: Store, scope: Scope, space: str, talk: Sequence[Spoken]) -> list[Unit]:
    """Return the scope's unarchived episodes and recallable lessons, by (at, id)."""
    vectors = _vectors(store, scope, space)
    gone = withheld(store, scope)
    around = {unit: one for one in talk for unit in one.units}
    units = [
        _episode_unit(episode, vectors, around.get(episode.id))
        for episode in reads.episodes(store.database, scope, Unarchived())
        if episode.id not in gone
    ]
    units += [
        _lesson_unit(lesson, vectors)
        for lesson in reads.lessons(store.database, scope)
        if lesson.lifecycle is Lifecycle.LIVE and lesson.trust in RECALLABLE
    ]
    return sorted(units, key=lambda unit: (unit.at, unit.row["id"]))


def passages_of(talk: Sequence[Spoken]) -> list[Passage]:
    """Return a passage for each turn with words in it."""
    return [_passage(one) for one in talk if one.turn.text.strip()]


def asked_of(store: Store, scope: Scope) -> list[Episode]:
    """Return the episodes that are withheld until the person decides, by (at, id)."""
    decided = {stone.unit_id for stone in store.stones}
    waiting = {
        row["unit_id"]
        for row in reads.rows(store.database, Query(Subject.DECISIONS, scope))
        if row["outcome"] == ASKED
    }
    return reads.episodes(store.database, scope, Ids(tuple(sorted(waiting - decided))))


def tombstone_digests(store: Store, scope: Scope) -> list[str]:
    """Return the keyed digests of every value that a tombstone keeps out of the scope, sorted."""
    return sorted(
        {
            digest
            for stone in store.stones
            if stone.scope.applies_to(scope)
            for _, digest in stone.digests
        }
    )


def withheld(store: Store, scope: Scope) -> frozenset[str]:
    """Return the ids that no reader gets: rejected, forgotten, or waiting for the person's word."""
    asked = reads.rows(store.database, Query(Subject.DECISIONS, scope))
    return frozenset(row["unit_id"] for row in asked if row["outcome"] == ASKED) | frozenset(
        unit for stone in store.stones for unit in _kept_out(stone)
    )


def _kept_out(stone: Tombstone) -> tuple[str, ...]:
    """A rejection takes its unit out, and leaves standing as evidence what that rested on."""
    match stone.kind:
        case TombstoneKind.FORGOTTEN:
            return stone.unit_id, *stone.sources
        case TombstoneKind.REJECTED | TombstoneKind.VETO:
            return (stone.unit_id,)
        case TombstoneKind.SUPERSEDED:
            return ()
        case _:
            assert_never(stone.kind)


def _spoken(session: SessionFacts, turns: Sequence[Turn]) -> Iterator[Spoken]:
    for n, turn in enumerate(turns):
        before = turns[n - 1].text[-_BESIDE:] if n else ""
        after = turns[n + 1].text[:_BESIDE] if n + 1 < len(turns) else ""
        yield Spoken(session, turn, before, after, _anchored(session.agent, turn))


def _anchored(agent: str, turn: Turn) -> tuple[str, ...]:
    """Return the ids that episodes anchored in this turn would have, whether they exist or not."""
    match turn:
        case PersonTurn():
            return (episode_id(agent, EpisodeKind.CORRECTION, turn.uuid),)
        case AgentTurn():
            return (
                episode_id(agent, EpisodeKind.SURPRISE, turn.uuid),
                *(episode_id(agent, EpisodeKind.ERROR, call.id) for call in turn.calls),
                *(episode_id(agent, EpisodeKind.ENVIRONMENT, call.id) for call in turn.calls),
            )


def _passage(one: Spoken) -> Passage:
    row = {
        "id": one.turn.uuid,
        "unit": "passage",
        "kind": "person" if isinstance(one.turn, PersonTurn) else "agent",
        "text": one.turn.text[:_PASSAGE],
        "at": iso(one.turn.at),
        "agent": one.session.agent,
        "session": one.session.id,
        "units": list(one.units),
    }
    context = f"{one.before}\n{one.turn.text[:_PASSAGE]}\n{one.after}"
    return Passage(row, one.turn.at.timestamp(), context)


def _episode_unit(
    episode: Episode, vectors: Mapping[str, NDArray[np.float32]], around: Spoken | None
) -> Unit:
    row = {
        "id": episode.id,
        "unit": "episode",
        "kind": episode.kind.value,
        "text": episode.title if episode.kind is EpisodeKind.SESSION else episode.words,
        "gist": episode.gist,
        "at": iso(episode.at),
        "agent": episode.agent,
        "session": episode.session_id,
        "grounding": episode.grounding.value,
        "trust": "",
        "sources": [],
        "strength": [episode.strength.value, iso(episode.strength.as_of), episode.recalls],
    }
    beside = f"{around.before}\n{around.after}" if around else ""
    context = "\n".join(
        (episode.title, episode.gist, episode.words, " ".join(episode.topic), beside)
    )
    return Unit(
        row,
        episode.at.timestamp(),
        episode.strength.value,
        episode.strength.as_of.timestamp(),
        vectors.get(episode.id, _NONE),
        context,
    )


def _lesson_unit(lesson: Lesson, vectors: Mapping[str, NDArray[np.float32]]) -> Unit:
    row = {
        "id": lesson.id,
        "unit": "lesson",
        "kind": lesson.kind.value,
        "text": lesson.text,
        "gist": lesson.quote,
        "at": iso(lesson.valid_from),
        "agent": "",
        "session": "",
        "grounding": lesson.grounding.value,
        "trust": lesson.trust.value,
        "sources": list(lesson.sources),
        "seen": lesson.seen,
        "strength": [lesson.strength.value, iso(lesson.strength.as_of), 0],
    }
    as_of = _PINNED_AS_OF if lesson.pinned else _seconds(lesson.strength.as_of)
    return Unit(
        row,
        _seconds(lesson.valid_from),
        lesson.strength.value,
        as_of,
        vectors.get(lesson_vector_id(lesson.id, lesson.hash), _NONE),
        f"{lesson.text}\n{lesson.quote}",
    )


def _seconds(at: datetime) -> float:
    return at.timestamp()


_NONE: Final[NDArray[np.float32]] = np.zeros(0, dtype=np.float32)


def _vectors(store: Store, scope: Scope, space: str) -> dict[str, NDArray[np.float32]]:
    found = reads.vectors(store.database, scope, space)
    return {unit: np.frombuffer(packed, dtype=np.float32) for unit, packed in found.items()}
