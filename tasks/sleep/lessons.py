"""The lessons pass: corrections, errors and stated surprises become lessons, or wait.

Waiting episodes first join the lesson they resemble; the rest cluster, and a cluster that suffices
founds a lesson. Both are repeated until a whole round moves nothing, which is the round that the
pass run again would begin with. An
episode that is a source of any lesson, whatever became of the lesson, never founds another. In the
report `clusters = proposed + joined + held + unworded + too_small`, a cluster being the waiting
episodes that went one way together, and `waiting = assigned + left`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from tasks.domain.proposals import Action, Actor, Proposal, PutLesson
from tasks.domain.units import CONSOLIDATED, Episode, EpisodeKind, Lesson, Lifecycle
from tasks.sleep.clustering import clusters
from tasks.sleep.contradiction import closed, disputed
from tasks.sleep.error_key import ErrorKey, error_key
from tasks.sleep.founding import Founding, TooSmall, found, suffices
from tasks.sleep.joining import Joined, join
from tasks.sleep.material import Cuts, HeldText, Material, PassReport, PassResult, episodes_of
from tasks.sleep.meaning import stance, vectors_of
from tasks.sleep.opposites import parted
from tasks.sleep.speech import founds_nothing
from tasks.sleep.standing import Standing, opened
from tasks.wording import Held, Unworded


@dataclass(frozen=True, slots=True)
class _Ground:
    """The material by kind: every episode with a vector, and those that wait, by id."""

    material: Material
    at: datetime
    cuts: Cuts
    episodes: Mapping[EpisodeKind, Mapping[str, Episode]]
    waiting: Mapping[EpisodeKind, tuple[Episode, ...]]
    set_aside: int
    unembedded: int


@dataclass(frozen=True, slots=True)
class _Consolidated:
    """What became of one kind: its lessons, and the clusters that made none."""

    standings: Mapping[str, Standing]
    left: Mapping[tuple[str, ...], Founding] = field(default_factory=dict)


def lessons(material: Material, *, at: datetime, cuts: Cuts) -> PassResult:
    """Propose new lessons, lessons with further sources, and lessons closed or disputed."""
    ground = _survey(material, at, cuts)
    taken = frozenset(lesson.id for lesson in material.lessons)
    results = [_consolidate(kind, ground, taken) for kind in CONSOLIDATED]
    changed = [s for result in results for s in result.standings.values() if s.changed]
    ordered = sorted(changed, key=lambda s: (_ORDER.index(_action(s)), s.now.id))
    return PassResult(tuple(map(_proposal, ordered)), _report(ground, results, changed))


def _survey(material: Material, at: datetime, cuts: Cuts) -> _Ground:
    kinds = [kind.value for kind in CONSOLIDATED]
    frame = material.episodes.filter(pl.col("kind").is_in(kinds)).sort("id")
    assigned = {source for lesson in material.lessons for source in lesson.sources}
    episodes: dict[EpisodeKind, dict[str, Episode]] = {kind: {} for kind in CONSOLIDATED}
    waiting: dict[EpisodeKind, list[Episode]] = {kind: [] for kind in CONSOLIDATED}
    set_aside = unembedded = 0
    for episode in episodes_of(frame, material.scope):
        waits = episode.archived_at is None and episode.id not in assigned
        if episode.id not in material.vectors.rows:
            unembedded += waits
            continue
        episodes[episode.kind][episode.id] = episode
        if waits and founds_nothing(episode):
            set_aside += 1
        elif waits:
            waiting[episode.kind].append(episode)
    frozen = {kind: tuple(each) for kind, each in waiting.items()}
    return _Ground(material, at, cuts, episodes, frozen, set_aside, unembedded)


def _consolidate(kind: EpisodeKind, ground: _Ground, taken: frozenset[str]) -> _Consolidated:
    standings, waiting = _standings(kind, ground), ground.waiting[kind]
    left: dict[tuple[str, ...], Founding] = {}
    while True:
        step = _join(standings, waiting, ground)
        made, left = _found(kind, step.waiting, ground, taken | standings.keys(), left)
        if not made and len(step.waiting) == len(waiting):
            break
        sources = {source for standing in made.values() for source in standing.now.sources}
        standings = step.standings | made
        waiting = tuple(e for e in step.waiting if e.id not in sources)
    if kind is EpisodeKind.CORRECTION:
        standings = _settle(standings, ground)
    return _Consolidated(standings, left)


def _standings(kind: EpisodeKind, ground: _Ground) -> dict[str, Standing]:
    known = ground.episodes[kind]
    found_ = (
        opened(
            lesson,
            lesson,
            episodes=(known[source] for source in lesson.sources if source in known),
            vectors=ground.material.vectors,
        )
        for lesson in ground.material.lessons
        if lesson.kind is kind
    )
    return {standing.now.id: standing for standing in found_ if standing is not None}


def _join(standings: Mapping[str, Standing], waiting: Sequence[Episode], ground: _Ground) -> Joined:
    return join(
        standings,
        waiting,
        vectors=ground.material.vectors,
        shown=ground.material.shown,
        at=ground.at,
        cut=ground.cuts.join,
    )


def _found(
    kind: EpisodeKind,
    waiting: Sequence[Episode],
    ground: _Ground,
    taken: frozenset[str],
    known: Mapping[tuple[str, ...], Founding],
) -> tuple[dict[str, Standing], dict[tuple[str, ...], Founding]]:
    """Return the lessons that the waiting episodes found, and the clusters that found none.

    What a round before knew of a cluster still stands, since the same episodes say the same.
    """
    made: dict[str, Standing] = {}
    left: dict[tuple[str, ...], Founding] = {}
    vectors = ground.material.vectors
    for cluster in _clustered(kind, waiting, ground):
        ids = tuple(episode.id for episode in cluster)
        outcome = known.get(ids) or found(kind, cluster, taken=taken, at=ground.at)
        if isinstance(outcome, Lesson):
            standing = opened(None, outcome, episodes=cluster, vectors=vectors)
            assert standing is not None  # noqa: S101  every waiting episode has a vector
            made[outcome.id] = standing
        else:
            left[ids] = outcome
    return made, left


def _clustered(
    kind: EpisodeKind, waiting: Sequence[Episode], ground: _Ground
) -> list[list[Episode]]:
    """Return clusters: errors with a class by their key, all else by meaning, opposites apart."""
    keyed: dict[ErrorKey, list[Episode]] = {}
    plain: list[Episode] = []
    for episode in waiting:
        key = error_key(episode)
        (plain if key is None else keyed.setdefault(key, [])).append(episode)
    groups = [keyed[key] for key in sorted(keyed)]
    return groups + (_alike(kind, plain, ground) if plain else [])


def _alike(kind: EpisodeKind, waiting: Sequence[Episode], ground: _Ground) -> list[list[Episode]]:
    """Return the episodes by meaning; opposites are parted where a lesson could come of them."""
    matrix = vectors_of(waiting, ground.material.vectors)
    groups = clusters(matrix, ground.cuts.join)
    if kind is not EpisodeKind.ERROR:
        founding = [group for group in groups if suffices(waiting[row] for row in group)]
        kept = {int(group[0]) for group in founding}
        stances = [stance(episode) for episode in waiting]
        groups = [group for group in groups if int(group[0]) not in kept]
        groups += parted(founding, matrix, stances, ground.cuts.join)
    return [[waiting[row] for row in group] for group in groups]


def _settle(standings: dict[str, Standing], ground: _Ground) -> dict[str, Standing]:
    """Return the lessons after what speaks against them: disputes first, then closings."""
    corrections = list(ground.episodes[EpisodeKind.CORRECTION].values())
    doubted = disputed(
        standings,
        corrections,
        vectors=ground.material.vectors,
        shown=ground.material.shown,
        at=ground.at,
        cut=ground.cuts.join,
    )
    after = standings | doubted
    return after | closed(after, at=ground.at, cut=ground.cuts.join)


def _action(standing: Standing) -> Action:
    if standing.before is None:
        return Action.CREATE
    if standing.now.trust is not standing.before.trust and standing.now.trust.value == "disputed":
        return Action.DISPUTE
    if standing.now.valid_until != standing.before.valid_until:
        return Action.CORRECT
    return Action.CORROBORATE


_ORDER = (Action.CORROBORATE, Action.CREATE, Action.CORRECT, Action.DISPUTE)
"""New rules stand before what they replace is closed."""
_REASONS = {
    Action.CREATE: "sources suffice",
    Action.CORROBORATE: "further sources",
    Action.CORRECT: "a later correction says the opposite",
    Action.DISPUTE: "taken back, or corrected against where it was shown",
}


def _proposal(standing: Standing) -> Proposal:
    action = _action(standing)
    return Proposal(
        PutLesson(standing.now),
        action,
        standing.now.scope,
        Actor.SLEEP,
        "sleep.lessons",
        _REASONS[action],
    )


def _gained(standing: Standing) -> int:
    had = standing.before.sources if standing.before else ()
    return len(standing.now.sources) - len(had)


def _report(
    ground: _Ground, results: Iterable[_Consolidated], changed: Sequence[Standing]
) -> PassReport:
    left = [outcome for result in results for outcome in result.left.values()]
    made = [s for s in changed if s.before is None]
    joined = [s for s in changed if s.before is not None and s.now.sources != s.before.sources]
    counts = {
        "waiting": sum(map(len, ground.waiting.values())),
        "assigned": sum(map(_gained, changed)),
        "left": sum(len(cluster) for result in results for cluster in result.left),
        "clusters": len(made) + len(joined) + len(left),
        "proposed": len(made),
        "joined": len(joined),
        "held": sum(isinstance(outcome, Held) for outcome in left),
        "unworded": sum(isinstance(outcome, Unworded) for outcome in left),
        "too_small": sum(isinstance(outcome, TooSmall) for outcome in left),
        "set_aside": ground.set_aside,
        "unembedded": ground.unembedded,
        "closed": sum(s.now.lifecycle is Lifecycle.SUPERSEDED for s in changed),
        "disputed": sum(_action(s) is Action.DISPUTE for s in changed),
    }
    reasons = Counter(o.reason for o in left if isinstance(o, (Held, Unworded)))
    held = (HeldText(o.text, o.reason) for o in left if isinstance(o, Held))
    notes = tuple(f"{n} {why}" for why, n in sorted(reasons.items()))
    return PassReport("lessons", counts, notes, tuple(sorted(held, key=lambda one: one.text)))
