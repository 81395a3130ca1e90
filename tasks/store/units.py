"""Write projects, sessions, episodes, predictions and strengths."""

from __future__ import annotations

from dataclasses import replace

from tasks.domain.clock import iso
from tasks.domain.proposals import (
    Decision,
    Proposal,
    PutProject,
    PutSession,
    SetStrength,
    Stored,
)
from tasks.domain.scope import Scope
from tasks.domain.units import (
    Episode,
    EpisodeKind,
    Prediction,
    Strength,
)
from tasks.store.draft import UNCHANGED, Draft
from tasks.store.ledger import Op
from tasks.store.rows import (
    PASSING,
    Row,
    episode_row,
    prediction_row,
    project_row,
    scope_columns,
    session_row,
)


def put_project(draft: Draft, proposal: Proposal, change: PutProject) -> Decision:
    """Write a project with every folder met."""
    project = change.project
    before = draft.standing.projects.get(proposal.scope)
    if before is not None:
        project = replace(
            project,
            first_seen=min(before.first_seen, project.first_seen),
            cwds=tuple(sorted({*before.cwds, *project.cwds})),
        )
    if project == before:
        return UNCHANGED
    row = project_row(project, proposal.scope)
    draft.put("project", row)
    for cwd in sorted(set(project.cwds) - set(before.cwds if before else ())):
        draft.put("cwd", {**scope_columns(proposal.scope), "cwd": cwd})
    draft.log(proposal, "project", project.project_id, None, row)
    draft.standing.projects[proposal.scope] = project
    return Stored(proposal.action)


def put_session(draft: Draft, proposal: Proposal, change: PutSession) -> Decision:
    """Write what is known of a session, and which turns are its own."""
    session = change.session
    row = session_row(session)
    before = draft.standing.sessions.get((session.agent, session.id))
    if before == row:
        return UNCHANGED
    draft.put("session", row)
    same = {**scope_columns(session.scope), "agent": session.agent, "session_id": session.id}
    owner, owners = (session.agent, session.id), draft.standing.turns
    for turn in session.turn_ids:
        if owners.get(turn) != owner:
            draft.put("turn", {"turn": turn, **same})
            owners[turn] = owner
    draft.log(proposal, "session", session.id, before, row)
    draft.standing.sessions[session.agent, session.id] = row
    return Stored(proposal.action)


def put_episode(draft: Draft, proposal: Proposal, episode: Episode) -> Decision:
    """Write an episode; what time and touches moved of an earlier one stays."""
    before = draft.standing.episodes.get(episode.id)
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
        return UNCHANGED
    row = episode_row(episode)
    draft.put("episode", row)
    draft.log(proposal, "episode", episode.id, _lasting(before), _lasting(episode))
    draft.standing.episodes[episode.id] = episode
    return Stored(proposal.action)


def put_prediction(draft: Draft, proposal: Proposal, prediction: Prediction) -> Decision:
    """Write a prediction as it stands."""
    before = draft.standing.predictions.get(prediction.id)
    if prediction == before:
        return UNCHANGED
    row = prediction_row(prediction)
    draft.put("prediction", row)
    old = prediction_row(before) if before else None
    draft.log(proposal, "prediction", prediction.id, old, row)
    draft.standing.predictions[prediction.id] = prediction
    return Stored(proposal.action)


def set_strength(draft: Draft, proposal: Proposal, change: SetStrength) -> Decision:
    """Write a strength."""
    draft.ops.append(
        strength_op(change.unit, change.unit_id, change.strength, change.recalls, proposal.scope)
    )
    return Stored(proposal.action)


def strength_op(
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


def _lasting(episode: Episode | None) -> Row | None:
    """Return an episode's row without the columns that time and touches move."""
    if episode is None:
        return None
    return {name: value for name, value in episode_row(episode).items() if name not in PASSING}
