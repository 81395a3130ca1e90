"""What stands of the units that a batch names: read before the batch, kept up to date within it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tasks.domain.proposals import (
    Archive,
    Bury,
    Change,
    MergeLessons,
    Proposal,
    PutEpisode,
    PutLesson,
    PutPrediction,
    PutProject,
    PutSession,
)
from tasks.domain.scope import Scope
from tasks.domain.units import Episode, Lesson, Prediction, Project, Tombstone
from tasks.store import reads
from tasks.store.handle import Store
from tasks.store.reads import AllVersions, Ids, Query, Subject
from tasks.store.rows import Row, session_from, session_row


@dataclass(slots=True)
class Standing:
    """What is written so far, of the scopes and units of one batch.

    Attributes:
        key: the HMAC key of digests.
        stones: every tombstone, of all scopes.
        sessions: (agent, id) -> the session's row.
        turns: turn -> (agent, id) of the session whose own it is, for sessions that grew.
        created: lesson id -> when its first version was recorded, for lessons to be merged away.
        began: session id -> when it began, of the sessions behind the lessons of the batch.
        shown: lesson id -> sessions in which it was shown.
    """

    key: bytes
    stones: list[Tombstone]
    projects: dict[Scope, Project] = field(default_factory=dict)
    sessions: dict[tuple[str, str], Row] = field(default_factory=dict)
    turns: dict[str, tuple[str, str]] = field(default_factory=dict)
    episodes: dict[str, Episode] = field(default_factory=dict)
    lessons: dict[str, Lesson] = field(default_factory=dict)
    predictions: dict[str, Prediction] = field(default_factory=dict)
    created: dict[str, datetime] = field(default_factory=dict)
    began: dict[str, datetime] = field(default_factory=dict)
    shown: dict[str, frozenset[str]] = field(default_factory=dict)


def standing_of(store: Store, batch: Sequence[Proposal]) -> Standing:
    """Return what stands of everything that the batch names."""
    standing = Standing(store.key, list(store.stones), dict(store.projects))
    for scope in sorted({proposal.scope for proposal in batch}):
        _load(store, scope, [p for p in batch if p.scope == scope], standing)
    return standing


def _load(store: Store, scope: Scope, batch: Sequence[Proposal], standing: Standing) -> None:
    database = store.database
    changes = [proposal.change for proposal in batch]
    if any(isinstance(c, PutProject) for c in changes) and scope not in standing.projects:
        standing.projects.update((scope, project) for project in projects(store, scope))
    sessions = {change.session.id for change in changes if isinstance(change, PutSession)}
    query = Query(Subject.SESSIONS, scope, (Ids(tuple(sessions)),))
    for row in reads.rows(database, query) if sessions else ():
        known = session_row(session_from(row)) | {"person_turns": row["person_turns"]}
        standing.sessions[row["agent"], row["id"]] = known
    _load_turns(store, scope, changes, standing)
    if any(
        isinstance(c, PutLesson | MergeLessons | PutPrediction | Archive | Bury) for c in changes
    ):
        _load_lessons(store, scope, batch, standing)
    wanted = tuple(set(_episode_ids(batch, standing)))
    for episode in reads.episodes(database, scope, Ids(wanted)) if wanted else ():
        standing.episodes[episode.id] = episode


def _load_turns(store: Store, scope: Scope, changes: Iterable[Change], standing: Standing) -> None:
    """Read the turns of sessions that stand already: one that grew holds most of its own."""
    sessions = [change.session for change in changes if isinstance(change, PutSession)]
    grown = [one for one in sessions if (one.agent, one.id) in standing.sessions]
    named = Ids(tuple(turn for session in grown for turn in session.turn_ids))
    for row in reads.rows(store.database, Query(Subject.TURNS, scope, (named,))) if grown else ():
        standing.turns[row["turn"]] = row["agent"], row["session_id"]


def _load_lessons(
    store: Store, scope: Scope, batch: Sequence[Proposal], standing: Standing
) -> None:
    standing.lessons |= {lesson.id: lesson for lesson in reads.lessons(store.database, scope)}
    standing.predictions |= {p.id: p for p in reads.predictions(store.database, scope)}
    standing.shown |= reads.shown(store.database, scope)
    standing.began |= {s.id: s.started for s in reads.sessions(store.database, scope)}
    absorbed = tuple(
        lesson.id
        for proposal in batch
        if isinstance(proposal.change, MergeLessons)
        for lesson in proposal.change.absorbed
    )
    if absorbed:
        query = Query(Subject.LESSONS, scope, (Ids(absorbed), AllVersions()))
        for row in reads.rows(store.database, query):
            if row["version"] == 1:
                standing.created[row["lesson_id"]] = row["recorded_at"]


def _episode_ids(batch: Sequence[Proposal], standing: Standing) -> Iterable[str]:
    for proposal in batch:
        match proposal.change:
            case PutEpisode(episode):
                yield episode.id
            case PutLesson(lesson):
                yield from lesson.sources
            case MergeLessons(theme, absorbed):
                yield from theme.sources
                for lesson in absorbed:
                    yield from lesson.sources
            case Archive():
                yield proposal.change.unit_id
            case Bury(stone):
                yield from (stone.unit_id, *stone.sources)
                for lesson in standing.lessons.values():
                    if lesson.id == stone.unit_id:
                        yield from lesson.sources
            case _:
                pass


def projects(store: Store, scope: Scope) -> list[Project]:
    """Return the scope's project with every folder met, as a list of one or none."""
    cwds = [row["cwd"] for row in reads.rows(store.database, Query(Subject.CWDS, scope))]
    return [
        Project(
            row["project_id"],
            row["name"],
            row["path"],
            tuple(cwds),
            row["first_seen"],
            row["ignored"],
        )
        for row in reads.rows(store.database, Query(Subject.PROJECTS, scope))
    ]
