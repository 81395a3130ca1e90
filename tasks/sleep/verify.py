"""The verify pass: how each open prediction ended.

Only what happened within the 14 days after it was made counts, whenever the pass runs, so a late
night resolves as a punctual one would have; while something of them has no vector yet, nothing is
found to be absent. A failed prediction lowers nothing: a lesson that works prevents what it
predicts. Two failures in a row are named in the report, for a question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from tasks.domain.ids import shown as short
from tasks.domain.polarity import opposed
from tasks.domain.proposals import Action, Actor, Proposal, PutLesson, PutPrediction, SessionFacts
from tasks.domain.trust import after_prediction
from tasks.domain.units import (
    Episode,
    EpisodeKind,
    Lesson,
    Lifecycle,
    Outcome,
    Prediction,
)
from tasks.sleep.material import Cuts, Material, PassReport, PassResult, episodes_of
from tasks.sleep.meaning import mean_of, stance, vectors_of
from tasks.sleep.neighbours import SLACK

WINDOW: Final = timedelta(days=14)
_EXERCISED: Final = (Outcome.CONFIRMED, Outcome.FAILED)


@dataclass(frozen=True, slots=True)
class _Happened:
    """What happened after the earliest open bet, by kind: with a vector, and times of the rest."""

    known: Mapping[EpisodeKind, tuple[Episode, ...]]
    unread: Mapping[EpisodeKind, tuple[datetime, ...]]


@dataclass(frozen=True, slots=True)
class _Ending:
    outcome: Outcome
    by_episode: str = ""


def verify(material: Material, *, at: datetime, cuts: Cuts) -> PassResult:
    """Propose the outcome of each open prediction that has one, and the trust it earns.

    `confirmed` by a matching episode in a session not shown the lesson; after 14 days `void` when
    every match was in a session shown it, `failed` when a session not shown it touched the same
    tool or topic, else `unexercised`.
    """
    lessons = {lesson.id: lesson for lesson in material.lessons}
    bets = [p for p in material.predictions if p.outcome is Outcome.OPEN and p.lesson_id in lessons]
    happened = _happened(material, bets)
    ended = [
        replace(bet, outcome=end.outcome, resolved=at, by_episode=end.by_episode)
        for bet in bets
        if (end := _ending(bet, lessons[bet.lesson_id], material, happened, at, cuts))
    ]
    promoted = _promoted(ended, lessons, at)
    asking = _asking(material.predictions, ended, lessons)
    counts = _counts(bets, ended) | {"promoted": len(promoted), "ask": len(asking)}
    proposals = (*map(_resolved, ended), *promoted)
    return PassResult(proposals, PassReport("verify", counts, tuple(f"ask {u}" for u in asking)))


def _happened(material: Material, bets: Iterable[Prediction]) -> _Happened:
    since = min((bet.made for bet in bets), default=None)
    if since is None:
        return _Happened({}, {})
    frame = material.episodes.filter(pl.col("at") > since)
    found: dict[EpisodeKind, list[Episode]] = {}
    unread: dict[EpisodeKind, list[datetime]] = {}
    for episode in episodes_of(frame, material.scope):
        if episode.id in material.vectors.rows:
            found.setdefault(episode.kind, []).append(episode)
        elif episode.meaning.strip():
            unread.setdefault(episode.kind, []).append(episode.at)
    return _Happened(
        {kind: tuple(sorted(each, key=_when)) for kind, each in found.items()},
        {kind: tuple(each) for kind, each in unread.items()},
    )


def _ending(  # noqa: PLR0913, PLR0917  the whole question in one place
    bet: Prediction,
    lesson: Lesson,
    material: Material,
    happened: _Happened,
    at: datetime,
    cuts: Cuts,
) -> _Ending | None:
    exposed = material.shown.get(lesson.id, frozenset())
    matches = _matches(bet, lesson, material, happened.known.get(lesson.kind, ()), cuts)
    unexposed = [episode for episode in matches if episode.session_id not in exposed]
    if unexposed:
        return _Ending(Outcome.CONFIRMED, unexposed[0].id)
    if at < bet.made + WINDOW or _unread(bet, lesson, material, happened):
        return None
    if matches:
        return _Ending(Outcome.VOID)
    sessions = [s for s in material.sessions if s.id not in exposed and _within(s, bet)]
    came_up = _topic(lesson, material) & {word for session in sessions for word in session.topic}
    return _Ending(Outcome.FAILED if came_up else Outcome.UNEXERCISED)


def _matches(
    bet: Prediction,
    lesson: Lesson,
    material: Material,
    candidates: tuple[Episode, ...],
    cuts: Cuts,
) -> list[Episode]:
    mean = mean_of(lesson.sources, material.vectors)
    since = [e for e in candidates if bet.made < e.at <= bet.made + WINDOW]
    if mean is None or not since:
        return []
    near = vectors_of(since, material.vectors) @ mean >= cuts.verify - SLACK
    words = stance(lesson)
    return [
        e for e, close in zip(since, near, strict=True) if close and not opposed(stance(e), words)
    ]


def _unread(bet: Prediction, lesson: Lesson, material: Material, happened: _Happened) -> bool:
    """Tell whether vectors lack by which a match could have been found."""
    since = happened.unread.get(lesson.kind, ())
    if any(bet.made < when <= bet.made + WINDOW for when in since):
        return True
    if mean_of(lesson.sources, material.vectors) is not None:
        return False
    sources = material.episodes.filter(pl.col("id").is_in(lesson.sources))
    return any(episode.meaning.strip() for episode in episodes_of(sources, material.scope))


def _within(session: SessionFacts, bet: Prediction) -> bool:
    return session.ended > bet.made and session.started <= bet.made + WINDOW


def _topic(lesson: Lesson, material: Material) -> frozenset[str]:
    """Return the tools and command words around the lesson's sources."""
    rows = material.episodes.filter(pl.col("id").is_in(lesson.sources))
    around = rows.get_column("topic").explode().drop_nulls().to_list()
    return frozenset([*around, *rows.get_column("tool"), *rows.get_column("command")]) - {""}


def _promoted(
    ended: Iterable[Prediction], lessons: Mapping[str, Lesson], at: datetime
) -> list[Proposal]:
    found: dict[str, Proposal] = {}
    for bet in ended:
        lesson = lessons[bet.lesson_id]
        trust = after_prediction(lesson.trust, lesson.grounding, bet.outcome)
        if trust is not lesson.trust and lesson.lifecycle is Lifecycle.LIVE:
            changed = replace(lesson, version=lesson.version + 1, trust=trust, recorded_at=at)
            found[lesson.id] = Proposal(
                PutLesson(changed),
                Action.PROMOTE,
                lesson.scope,
                Actor.SLEEP,
                "sleep.verify",
                "a prediction made beforehand was confirmed",
            )
    return [found[unit] for unit in sorted(found)]


def _asking(
    known: Iterable[Prediction], ended: Iterable[Prediction], lessons: Mapping[str, Lesson]
) -> list[str]:
    """Return the live lessons whose last two exercised predictions both failed."""
    latest = {bet.id: bet for bet in (*known, *ended)}
    runs: dict[str, list[Outcome]] = {}
    for bet in sorted(latest.values(), key=lambda bet: (bet.made, bet.id)):
        if bet.outcome in _EXERCISED:
            runs.setdefault(bet.lesson_id, []).append(bet.outcome)
    return sorted(
        short(unit)
        for unit, run in runs.items()
        if run[-2:] == [Outcome.FAILED, Outcome.FAILED]
        and unit in lessons
        and lessons[unit].lifecycle is Lifecycle.LIVE
    )


def _counts(bets: list[Prediction], ended: list[Prediction]) -> dict[str, int]:
    outcomes = Counter(bet.outcome for bet in ended)
    closed = (Outcome.CONFIRMED, Outcome.FAILED, Outcome.UNEXERCISED, Outcome.VOID)
    return {
        "predictions": len(bets),
        **{outcome.value: outcomes[outcome] for outcome in closed},
        "open": len(bets) - len(ended),
    }


def _resolved(bet: Prediction) -> Proposal:
    return Proposal(
        PutPrediction(bet), Action.VERIFY, bet.scope, Actor.SLEEP, "sleep.verify", bet.outcome.value
    )


def _when(episode: Episode) -> tuple[datetime, str]:
    return episode.at, episode.id
