"""Run the passes over the store: read a scope's material, ask the pass, let the gateway decide.

One pass over one scope is one record, so a night that is killed goes on where it was. A pass never
sees two scopes at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final, Protocol

import numpy as np

from tasks.domain.ids import lesson_vector_id
from tasks.domain.proposals import Decision, NoOp, Refusal, Stored
from tasks.domain.scope import Scope
from tasks.domain.units import RECALLABLE, Lifecycle
from tasks.embedding.space import Space, SpaceAway
from tasks.sleep.decay import decay
from tasks.sleep.embed import pending
from tasks.sleep.lessons import lessons
from tasks.sleep.material import Cuts, HeldText, Material, PassResult, Vectors
from tasks.sleep.merge import merge
from tasks.sleep.predict import predict
from tasks.sleep.verify import verify
from tasks.store import gateway, reads
from tasks.store.handle import Store
from tasks.waypoints import passing
from tasks.wording import Word, word

_BATCH: Final = 512


class Pass(Protocol):
    """A pure pass over one scope's material."""

    def __call__(self, material: Material, *, at: datetime, cuts: Cuts) -> PassResult:
        """Return what the pass proposes."""
        ...


PASSES: Final[dict[str, Pass]] = {
    "decay": decay,
    "lessons": lessons,
    "merge": merge,
    "verify": verify,
    "predict": predict,
}
"""The passes after embedding, in the order in which a night runs them."""
_BLIND: Final = frozenset({"decay", "predict"})
"""Passes that compare no meanings, for which no vector is read."""
_NONE: Final = Vectors({}, np.zeros((0, 0), dtype=np.float32))


@dataclass(slots=True)
class Slept:
    """What one pass came to over all scopes.

    Attributes:
        counts: the pass's own counts, summed.
        decided: proposals by what the gateway said: stored, unchanged, refused.
        refused: refusals by reason.
        notes: what the pass wants said, one sentence each.
        held: rules that wait for a person, with the project each is of.
    """

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    decided: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    held: list[tuple[Scope, HeldText]] = field(default_factory=list)


def run_pass(store: Store, name: str, space: Space, *, at: datetime, word: Word = word) -> Slept:
    """Run one pass over every scope and commit what it proposes, a record a scope.

    What `word` came to is in the record, so that nothing is worded again when it is replayed.
    """
    slept = Slept(name)
    for scope, result in propose(store, name, space, at=at, word=word):
        passing("pass.proposed", name)
        receipt = gateway.commit(store, result.proposals, at=at)
        passing("pass.committed", name)
        slept.held += ((scope, text) for text in result.report.held)
        _count(slept, result, receipt.decisions)
    return slept


def propose(
    store: Store, name: str, space: Space, *, at: datetime, word: Word = word
) -> Iterable[tuple[Scope, PassResult]]:
    """Yield each scope with what a pass proposes for it."""
    cuts = Cuts(space.join_cut, space.verify_cut)
    run = partial(lessons, word=word) if name == "lessons" else PASSES[name]
    for scope in reads.scopes(store.database):
        vectors = _NONE if name in _BLIND else vectors_of_scope(store, scope, space)
        yield scope, run(material_of(store, scope, vectors), at=at, cuts=cuts)


def material_of(store: Store, scope: Scope, vectors: Vectors) -> Material:
    """Return everything that a pass may see of a scope."""
    database = store.database
    return Material(
        scope=scope,
        episodes=reads.episode_frame(database, scope),
        vectors=vectors,
        lessons=tuple(reads.lessons(database, scope)),
        predictions=tuple(reads.predictions(database, scope)),
        sessions=tuple(reads.sessions(database, scope)),
        shown=reads.shown(database, scope),
    )


def embed(
    store: Store,
    space: Space,
    *,
    at: datetime,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Slept:
    """Give every episode and every recallable lesson a vector in the space now in use.

    What a space that is away leaves out has none, and is given one another night; that is noted.
    """
    waiting = [(scope, *_pending(store, scope, space)) for scope in reads.scopes(store.database)]
    total = sum(len(ids) for _, ids, _ in waiting)
    done = 0
    try:
        for scope, ids, texts in waiting:
            for start in range(0, len(ids), _BATCH):
                part = slice(start, start + _BATCH)
                vectors = space.documents(texts[part], lambda _: None)
                gateway.put_vectors(store, scope, space.name, ids[part], vectors, at=at)
                done += len(ids[part])
                progress(done, total)
    except SpaceAway as away:
        return Slept("embed", Counter(embedded=done, left_out=total - done), notes=[str(away)])
    return Slept("embed", Counter(embedded=total))


def _pending(store: Store, scope: Scope, space: Space) -> tuple[list[str], list[str]]:
    known = reads.vector_spaces(store.database, scope)
    episodes = pending(reads.episode_frame(store.database, scope), known, space=space.name)
    ids, texts = list(episodes.ids), list(episodes.texts)
    for lesson in reads.lessons(store.database, scope):
        live = lesson.lifecycle is Lifecycle.LIVE and lesson.trust in RECALLABLE
        vector = lesson_vector_id(lesson.id, lesson.hash)
        if live and known.get(vector) != space.name:
            ids.append(vector)
            texts.append(lesson.text)
    return ids, texts


def vectors_of_scope(store: Store, scope: Scope, space: Space) -> Vectors:
    """Return the scope's vectors in a space, of every unit that has one."""
    found = reads.vectors(store.database, scope, space.name)
    packed = b"".join(found.values())
    matrix = np.frombuffer(packed, dtype=np.float32).reshape(len(found), -1 if found else 0)
    return Vectors({unit: row for row, unit in enumerate(found)}, matrix)


def _count(slept: Slept, result: PassResult, decisions: Iterable[Decision]) -> None:
    slept.counts.update(result.report.counts)
    slept.notes += result.report.notes
    for decision in decisions:
        match decision:
            case Stored():
                slept.decided["stored"] += 1
            case NoOp():
                slept.decided["unchanged"] += 1
            case Refusal(reason, _):
                slept.decided["refused"] += 1
                slept.refused[reason] += 1
