"""Turn accepted proposals into the ops and audit rows of one record, keeping `Standing` true."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, assert_never

from tasks.domain.clock import iso
from tasks.domain.ids import digest_of
from tasks.domain.proposals import (
    Archive,
    Ask,
    Bury,
    Decision,
    Expose,
    MergeLessons,
    NoOp,
    Proposal,
    PutEpisode,
    PutLesson,
    PutPrediction,
    PutProject,
    PutSession,
    Refusal,
    SetStrength,
    Stored,
)
from tasks.domain.scope import Scope
from tasks.domain.units import (
    Episode,
    EpisodeKind,
    Lesson,
    Lifecycle,
    Outcome,
    Prediction,
    Strength,
    Tombstone,
    TombstoneKind,
    Trust,
)
from tasks.store.audit import audit_row
from tasks.store.ledger import Op
from tasks.store.rows import (
    PASSING,
    Row,
    episode_row,
    exposure_rows,
    lesson_row,
    prediction_row,
    project_row,
    scope_columns,
    session_row,
    tombstone_row,
)
from tasks.store.standing import Standing

ASKED: Final = "asked"
"""The outcome of a decision that still waits for a person."""
_UNCHANGED: Final = NoOp("unchanged")


@dataclass(slots=True)
class Draft:
    """One record in the making."""

    standing: Standing
    tx: int
    at: datetime
    ops: list[Op] = field(default_factory=list)
    audit: list[dict[str, Any]] = field(default_factory=list)

    def write(self, proposal: Proposal) -> Decision:  # noqa: C901, PLR0911  one arm a kind of change
        """Add the ops of a proposal that passed every check; say what that came to."""
        match proposal.change:
            case PutProject():
                return self._project(proposal, proposal.change)
            case PutSession():
                return self._session(proposal, proposal.change)
            case PutEpisode(episode):
                return self._episode(proposal, episode)
            case PutLesson(lesson):
                return self._lesson(proposal, lesson)
            case MergeLessons(theme, absorbed):
                return self._merge(proposal, theme, absorbed)
            case PutPrediction(prediction):
                return self._prediction(proposal, prediction)
            case SetStrength():
                return self._strength(proposal, proposal.change)
            case Archive():
                return self._archive(proposal, proposal.change)
            case Bury(tombstone):
                return self._bury(proposal, tombstone)
            case Ask():
                return self._ask(proposal, proposal.change)
            case Expose():
                rows = exposure_rows(proposal.change, proposal.scope)
                self.ops.extend({"op": "exposure", **row} for row in rows)
                return Stored(proposal.action) if rows else NoOp("nothing was shown or held out")
            case _:
                assert_never(proposal.change)

    def refusal_row(self, proposal: Proposal, refusal: Refusal) -> Row:
        """Return the row that keeps a refusal: reason and ids, never the refused text."""
        unit_id = _unit_id(proposal)
        return {
            "id": digest_of("refusal", proposal.via, refusal.reason, refusal.tombstone, unit_id),
            **scope_columns(proposal.scope),
            "at": iso(self.at),
            "via": proposal.via,
            "reason": refusal.reason,
            "tombstone_id": refusal.tombstone,
        }

    def _put(self, op: str, row: Row) -> None:
        self.ops.append({"op": op, **row})

    def _log(
        self, proposal: Proposal, unit: str, unit_id: str, before: Row | None, after: Row | None
    ) -> None:
        row = audit_row(proposal, unit, unit_id, before, after, key=self.standing.key, at=self.at)
        self.audit.append(row)

    def _project(self, proposal: Proposal, change: PutProject) -> Decision:
        project = change.project
        before = self.standing.projects.get(project.project_id)
        if before is not None:
            project = replace(
                project,
                first_seen=min(before.first_seen, project.first_seen),
                cwds=tuple(sorted({*before.cwds, *project.cwds})),
            )
        if project == before:
            return _UNCHANGED
        row = project_row(project, proposal.scope)
        self._put("project", row)
        for cwd in sorted(set(project.cwds) - set(before.cwds if before else ())):
            self._put("cwd", {**scope_columns(proposal.scope), "cwd": cwd})
        self._log(proposal, "project", project.project_id, None, row)
        self.standing.projects[project.project_id] = project
        return Stored(proposal.action)

    def _session(self, proposal: Proposal, change: PutSession) -> Decision:
        session = change.session
        row = session_row(session)
        before = self.standing.sessions.get((session.agent, session.id))
        if before == row:
            return _UNCHANGED
        self._put("session", row)
        same = {**scope_columns(session.scope), "agent": session.agent, "session_id": session.id}
        for turn in session.turn_ids:
            self._put("turn", {"turn": turn, **same})
        self._log(proposal, "session", session.id, before, row)
        self.standing.sessions[session.agent, session.id] = row
        return Stored(proposal.action)

    def _episode(self, proposal: Proposal, episode: Episode) -> Decision:
        before = self.standing.episodes.get(episode.id)
        said_anew = episode.kind is EpisodeKind.NOTE and before and before.archived_at is not None
        if before is not None and not said_anew:
            episode = replace(
                episode,
                recorded_at=before.recorded_at,
                strength=before.strength,
                recalls=before.recalls,
                archived_at=before.archived_at,
            )
        if episode == before:
            return _UNCHANGED
        row = episode_row(episode)
        self._put("episode", row)
        self._log(proposal, "episode", episode.id, _lasting(before), _lasting(episode))
        self.standing.episodes[episode.id] = episode
        return Stored(proposal.action)

    def _lesson(self, proposal: Proposal, lesson: Lesson) -> Decision:
        before = self.standing.lessons.get(lesson.id)
        if (
            before is not None
            and replace(lesson, version=before.version, recorded_at=before.recorded_at) == before
        ):
            return _UNCHANGED
        lesson = replace(lesson, version=before.version + 1 if before else 1)
        row = lesson_row(lesson, tx=self.tx, action=proposal.action.value)
        self._put("lesson", row)
        self._sources(lesson, before)
        if before is None:
            self._lesson_strength(lesson)
        elif lesson.strength != before.strength:
            self.ops.append(_strength_op("lesson", lesson.id, lesson.strength, None, lesson.scope))
        old = lesson_row(before, tx=0, action="") if before else None
        self._log(proposal, "lesson", lesson.id, old, row)
        self.standing.lessons[lesson.id] = lesson
        return Stored(proposal.action)

    def _sources(self, lesson: Lesson, before: Lesson | None) -> None:
        for source in sorted(set(lesson.sources) - set(before.sources if before else ())):
            self._put(
                "source",
                {
                    "lesson_id": lesson.id,
                    "episode_id": source,
                    "session_id": self.standing.episodes[source].session_id,
                    **scope_columns(lesson.scope),
                    "version": lesson.version,
                    "added_at": iso(self.at),
                },
            )

    def _lesson_strength(self, lesson: Lesson) -> None:
        self._put(
            "lesson_strength",
            {
                "lesson_id": lesson.id,
                **scope_columns(lesson.scope),
                "strength": lesson.strength.value,
                "as_of": iso(lesson.strength.as_of),
                "recalls": 0,
            },
        )

    def _merge(self, proposal: Proposal, theme: Lesson, absorbed: tuple[Lesson, ...]) -> Decision:
        decision = self._lesson(proposal, theme)
        for lesson in absorbed:
            first = self.standing.created.get(lesson.id, lesson.recorded_at)
            self._lesson(proposal, replace(lesson, lifecycle=Lifecycle.SUPERSEDED))
            self._void_predictions(proposal, lesson.id)
            self._put(
                "alias",
                {
                    "old_id": lesson.id,
                    "new_id": theme.id,
                    **scope_columns(theme.scope),
                    "at": iso(self.at),
                    "created": iso(first),
                },
            )
        return Stored(proposal.action) if absorbed else decision

    def _prediction(self, proposal: Proposal, prediction: Prediction) -> Decision:
        before = self.standing.predictions.get(prediction.id)
        if prediction == before:
            return _UNCHANGED
        row = prediction_row(prediction)
        self._put("prediction", row)
        old = prediction_row(before) if before else None
        self._log(proposal, "prediction", prediction.id, old, row)
        self.standing.predictions[prediction.id] = prediction
        return Stored(proposal.action)

    def _void_predictions(self, proposal: Proposal, lesson_id: str) -> None:
        for prediction in list(self.standing.predictions.values()):
            if prediction.lesson_id == lesson_id and prediction.outcome is Outcome.OPEN:
                ended = replace(prediction, outcome=Outcome.VOID, resolved=self.at)
                self._prediction(proposal, ended)

    def _strength(self, proposal: Proposal, change: SetStrength) -> Decision:
        self.ops.append(
            _strength_op(
                change.unit, change.unit_id, change.strength, change.recalls, proposal.scope
            )
        )
        return Stored(proposal.action)

    def _archive(self, proposal: Proposal, change: Archive) -> Decision:
        if change.unit == "lesson":
            lesson = self.standing.lessons.get(change.unit_id)
            if lesson is None or lesson.lifecycle is not Lifecycle.LIVE:
                return _UNCHANGED
            faded = replace(lesson, lifecycle=Lifecycle.ARCHIVED, recorded_at=self.at)
            return self._lesson(proposal, faded)
        episode = self.standing.episodes.get(change.unit_id)
        if episode is None or episode.archived_at is not None:
            return _UNCHANGED
        keys = scope_columns(proposal.scope)
        self._put("archive", {"unit": "episode", "id": episode.id, "at": iso(change.at), **keys})
        self._log(proposal, "episode", episode.id, None, None)
        self.standing.episodes[episode.id] = replace(episode, archived_at=change.at)
        return Stored(proposal.action)

    def _bury(self, proposal: Proposal, stone: Tombstone) -> Decision:
        if any(known.id == stone.id for known in self.standing.stones):
            return _UNCHANGED
        self._put("tombstone", tombstone_row(stone))
        self._put("decision", _decision_row(proposal, stone.id, stone.unit_id, "stored", stone.at))
        self.standing.stones.append(stone)
        self._log(proposal, stone.unit, stone.unit_id, None, None)
        if stone.kind is TombstoneKind.FORGOTTEN:
            self._erase(proposal, stone)
        else:
            self._withdraw(proposal, stone)
        return Stored(proposal.action)

    def _ask(self, proposal: Proposal, change: Ask) -> Decision:
        asked = digest_of("ask", change.verb, change.unit_id)
        row = _decision_row(proposal, asked, change.unit_id, ASKED, self.at)
        self._put("decision", {**row, "verb": change.verb})
        self._log(proposal, "decision", asked, None, None)
        return Stored(proposal.action)

    def _withdraw(self, proposal: Proposal, stone: Tombstone) -> None:
        """Reject the lesson; what was merged into it was superseded before and stays so."""
        lesson = self.standing.lessons.get(stone.unit_id)
        if lesson is None or stone.kind is TombstoneKind.SUPERSEDED:
            return
        self._lesson(proposal, replace(lesson, trust=Trust.REJECTED, recorded_at=self.at))
        self._void_predictions(proposal, lesson.id)

    def _erase(self, proposal: Proposal, stone: Tombstone) -> None:
        """Drop the unit, what it rests on, and every lesson that rests on any of that."""
        episodes = {stone.unit_id, *stone.sources} & self.standing.episodes.keys()
        lessons = {
            lesson.id
            for lesson in self.standing.lessons.values()
            if lesson.id == stone.unit_id or episodes & set(lesson.sources)
        }
        keys = scope_columns(proposal.scope)
        for unit, ids in (("episode", episodes), ("lesson", lessons)):
            for unit_id in sorted(ids):
                self._put("erase", {"unit": unit, "id": unit_id, **keys})
        for lesson_id in lessons:
            del self.standing.lessons[lesson_id]
        for episode_id in episodes:
            del self.standing.episodes[episode_id]


def _lasting(episode: Episode | None) -> Row | None:
    """Return an episode's row without the columns that time and touches move."""
    if episode is None:
        return None
    return {name: value for name, value in episode_row(episode).items() if name not in PASSING}


def _strength_op(
    unit: str, unit_id: str, strength: Strength, recalls: int | None, scope: Scope
) -> Op:
    """Return the op; recalls of None leaves their count as it is."""
    return {
        "op": "strength",
        "unit": unit,
        "id": unit_id,
        "strength": strength.value,
        "as_of": iso(strength.as_of),
        "recalls": recalls,
        **scope_columns(scope),
    }


def _decision_row(
    proposal: Proposal, decision_id: str, unit_id: str, outcome: str, at: datetime
) -> Row:
    return {
        "id": decision_id,
        **scope_columns(proposal.scope),
        "at": iso(at),
        "actor": proposal.actor.value,
        "verb": proposal.action.value,
        "unit_id": unit_id,
        "outcome": outcome,
    }


def _unit_id(proposal: Proposal) -> str:  # noqa: PLR0911  one arm a kind of change
    match proposal.change:
        case PutEpisode(unit):
            return unit.id
        case PutLesson(lesson) | MergeLessons(lesson, _):
            return lesson.id
        case PutPrediction(prediction):
            return prediction.id
        case SetStrength() | Archive():
            return proposal.change.unit_id
        case Ask(_, unit_id):
            return unit_id
        case Bury(tombstone):
            return tombstone.unit_id
        case PutSession(session):
            return session.id
        case PutProject(project):
            return project.project_id
        case Expose():
            return proposal.change.id
        case _:
            assert_never(proposal.change)
