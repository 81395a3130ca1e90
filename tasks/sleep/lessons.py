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

import numpy as np
import polars as pl

from tasks.domain.proposals import Action, Actor, Proposal, PutLesson
from tasks.domain.units import CONSOLIDATED, Episode, EpisodeKind, Lesson, Lifecycle, Trust
from tasks.sleep.contradiction import closed, disputed
from tasks.sleep.error_key import ErrorKey, error_key
from tasks.sleep.founding import Founding, TooSmall, found, said
from tasks.sleep.grouping import Grouped, alike
from tasks.sleep.joining import Joined, join
from tasks.sleep.material import Cuts, HeldText, Material, PassReport, PassResult, episodes_of
from tasks.sleep.neighbours import Cells, crowded
from tasks.sleep.speech import founds_nothing
from tasks.sleep.standing import Standing, discounted, opened
from tasks.wording import Held, Unworded, Word, word


@dataclass(frozen=True, slots=True)
class _Ground:
    """The material by kind: every episode with a vector, and those that wait, by id.

    `cells` are the same at a second run of the pass, so that it finds what the first one found.
    """

    material: Material
    at: datetime
    cuts: Cuts
    word: Word
    episodes: Mapping[EpisodeKind, Mapping[str, Episode]]
    waiting: Mapping[EpisodeKind, tuple[Episode, ...]]
    cells: Mapping[EpisodeKind, Cells]
    set_aside: int
    unembedded: int


@dataclass(frozen=True, slots=True)
class _Round:
    """What a round leaves for the next: clusters that made no lesson, and groups by meaning."""

    left: Mapping[tuple[str, ...], Founding] = field(default_factory=dict)
    grouped: Grouped = field(default_factory=Grouped)


@dataclass(frozen=True, slots=True)
class _Consolidated:
    """What became of one kind: its lessons, and the clusters that made none."""

    standings: Mapping[str, Standing]
    left: Mapping[tuple[str, ...], Founding]


def lessons(material: Material, *, at: datetime, cuts: Cuts, word: Word = word) -> PassResult:
    """Propose new lessons, lessons with further sources, and lessons closed or disputed.

    `word` gives a new lesson its text.
    """
    ground = _survey(material, at, cuts, word)
    taken = frozenset(lesson.id for lesson in material.lessons)
    results = [_consolidate(kind, ground, taken) for kind in CONSOLIDATED]
    changed = [s for result in results for s in result.standings.values() if s.changed]
    ordered = sorted(changed, key=lambda s: (_ORDER.index(_action(s)), s.now.id))
    return PassResult(tuple(map(_proposal, ordered)), _report(ground, results, changed))


def _survey(material: Material, at: datetime, cuts: Cuts, word: Word) -> _Ground:
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
    rows = material.vectors.rows
    cells = {
        kind: Cells(material.vectors.matrix, np.array([rows[unit] for unit in each], dtype=np.intp))
        for kind, each in episodes.items()
    }
    return _Ground(material, at, cuts, word, episodes, frozen, cells, set_aside, unembedded)


def _consolidate(kind: EpisodeKind, ground: _Ground, taken: frozenset[str]) -> _Consolidated:
    standings, waiting, round_ = _standings(kind, ground), ground.waiting[kind], _Round()
    asking, cells = set(standings), _where(kind, ground, waiting, standings)
    while True:
        step = _join(standings, waiting, asking, cells, ground)
        made, round_ = _found(kind, step.waiting, ground, taken | standings.keys(), round_)
        if not made and len(step.waiting) == len(waiting):
            break
        sources = {source for standing in made.values() for source in standing.now.sources}
        standings = step.standings | made
        waiting = tuple(e for e in step.waiting if e.id not in sources)
        looked, cells = cells, _where(kind, ground, waiting, standings)
        asking = set(made) if cells is looked else set(standings)
    standings = {
        unit: discounted(one, lasting=any(map(said, one.sources)), at=ground.at)
        for unit, one in standings.items()
    }
    if kind is EpisodeKind.CORRECTION:
        standings = _settle(standings, ground)
    return _Consolidated(standings, round_.left)


def _where(
    kind: EpisodeKind,
    ground: _Ground,
    waiting: Sequence[Episode],
    standings: Mapping[str, Standing],
) -> Cells | None:
    """Return where a round looks for the lessons that episodes resemble; None is everywhere."""
    return ground.cells[kind] if crowded(len(waiting), len(standings)) else None


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


def _join(
    standings: Mapping[str, Standing],
    waiting: Sequence[Episode],
    asking: Iterable[str],
    cells: Cells | None,
    ground: _Ground,
) -> Joined:
    return join(
        standings,
        waiting,
        asking=asking,
        cells=cells,
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
    before: _Round,
) -> tuple[dict[str, Standing], _Round]:
    """Return the lessons that the waiting episodes found, and what is known of all others.

    What a round before knew of a cluster still stands, since the same episodes say the same.
    """
    made: dict[str, Standing] = {}
    left: dict[tuple[str, ...], Founding] = {}
    vectors = ground.material.vectors
    keyed, plain = _by_key(waiting)
    grouped = _alike(kind, plain, ground, before.grouped)
    for cluster in (*keyed, *grouped.groups):
        ids = tuple(episode.id for episode in cluster)
        outcome = before.left.get(ids) or found(
            kind, cluster, taken=taken, at=ground.at, word=ground.word
        )
        if isinstance(outcome, Lesson):
            standing = opened(None, outcome, episodes=cluster, vectors=vectors)
            assert standing is not None  # noqa: S101  every waiting episode has a vector
            made[outcome.id] = standing
        else:
            left[ids] = outcome
    return made, _Round(left, grouped)


def _by_key(waiting: Sequence[Episode]) -> tuple[list[list[Episode]], list[Episode]]:
    """Return errors with a class by their key, and all other episodes, which cluster by meaning."""
    keyed: dict[ErrorKey, list[Episode]] = {}
    plain: list[Episode] = []
    for episode in waiting:
        key = error_key(episode)
        (plain if key is None else keyed.setdefault(key, [])).append(episode)
    return [keyed[key] for key in sorted(keyed)], plain


def _alike(
    kind: EpisodeKind, waiting: Sequence[Episode], ground: _Ground, before: Grouped
) -> Grouped:
    return alike(
        waiting,
        before,
        vectors=ground.material.vectors,
        cells=ground.cells[kind],
        cut=ground.cuts.join,
    )


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
    if standing.now.trust is not standing.before.trust and standing.now.trust is Trust.DISPUTED:
        return Action.DISPUTE
    if (standing.before.trust, standing.now.trust) == (Trust.CORROBORATED, Trust.CANDIDATE):
        return Action.DEMOTE
    if standing.now.valid_until != standing.before.valid_until:
        return Action.CORRECT
    return Action.CORROBORATE


_ORDER = (Action.CORROBORATE, Action.CREATE, Action.DEMOTE, Action.CORRECT, Action.DISPUTE)
"""New rules stand before what they replace is closed."""
_REASONS = {
    Action.CREATE: "sources suffice",
    Action.CORROBORATE: "further sources",
    Action.DEMOTE: "sessions behind it had been told it",
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
