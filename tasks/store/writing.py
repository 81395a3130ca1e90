"""Turn an accepted proposal into ops, by its kind; and a refusal into the row that keeps it."""

from __future__ import annotations

from typing import assert_never

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
from tasks.store.burials import ask, bury
from tasks.store.draft import Draft
from tasks.store.lessons import archive, merge, put_lesson
from tasks.store.rows import (
    Row,
    exposure_rows,
    scope_columns,
)
from tasks.store.units import put_episode, put_prediction, put_project, put_session, set_strength


def write(draft: Draft, proposal: Proposal) -> Decision:  # noqa: C901, PLR0911  one arm a kind of change
    """Add the ops of a proposal that passed every check; say what that came to."""
    match proposal.change:
        case PutProject():
            return put_project(draft, proposal, proposal.change)
        case PutSession():
            return put_session(draft, proposal, proposal.change)
        case PutEpisode(episode):
            return put_episode(draft, proposal, episode)
        case PutLesson(lesson):
            return put_lesson(draft, proposal, lesson)
        case MergeLessons(theme, absorbed):
            return merge(draft, proposal, theme, absorbed)
        case PutPrediction(prediction):
            return put_prediction(draft, proposal, prediction)
        case SetStrength():
            return set_strength(draft, proposal, proposal.change)
        case Archive():
            return archive(draft, proposal, proposal.change)
        case Bury(tombstone):
            return bury(draft, proposal, tombstone)
        case Ask():
            return ask(draft, proposal, proposal.change)
        case Expose():
            rows = exposure_rows(proposal.change, proposal.scope)
            draft.ops.extend({"op": "exposure", **row} for row in rows)
            return Stored(proposal.action) if rows else NoOp("nothing was shown or held out")
        case _:
            assert_never(proposal.change)


def refusal_row(draft: Draft, proposal: Proposal, refusal: Refusal) -> Row:
    """Return the row that keeps a refusal: reason and ids, never the refused text."""
    unit_id = _unit_id(proposal)
    return {
        "id": digest_of("refusal", proposal.via, refusal.reason, refusal.tombstone, unit_id),
        **scope_columns(proposal.scope),
        "at": iso(draft.at),
        "via": proposal.via,
        "reason": refusal.reason,
        "tombstone_id": refusal.tombstone,
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
