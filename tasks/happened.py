"""From events that were told to what the store is to hold of them: sessions and their episodes.

Invariants: what is told twice is stored once; words are on the disk as evidence before anything of
them is proposed; a session is of one scope; of an agent whose transcripts are read only deploys are
taken, since the transcript tells the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from tasks.domain.events import Event, EventKind, Role, session_name
from tasks.domain.ids import digest_of, episode_id
from tasks.domain.project import slug
from tasks.domain.proposals import Change, PutEpisode, PutSession
from tasks.domain.redaction import redact
from tasks.domain.scope import Scope
from tasks.domain.session import (
    AgentTurn,
    Channel,
    PersonTurn,
    ReadCounts,
    ResultState,
    Session,
    ToolCall,
    ToolResult,
    Turn,
)
from tasks.domain.strength import START
from tasks.domain.units import Episode, EpisodeKind, Grounding, Strength
from tasks.evidence.claude_code import AGENT as CLAUDE_CODE
from tasks.evidence.detectors import (
    Correction,
    Environment,
    Exchange,
    Findings,
    Surprise,
    detect,
    read,
)
from tasks.evidence.episodes import episodes_of, facts_of
from tasks.evidence.words import append_evidence, evidence_path, load_evidence, turn_form
from tasks.sessions import turn_id
from tasks.store.handle import Store
from tasks.waypoints import passing

TRANSCRIBED: Final = frozenset({slug(CLAUDE_CODE), "codex", "gemini-cli"})
"""Agents whose transcripts are read."""
_NAMELESS: Final = "app"
_TOOL: Final = "tool"
_TITLE: Final = 120
_UUID: Final = 32

_Key = tuple[str, str]


@dataclass(slots=True)
class Happened:
    """The events of one run.

    Attributes:
        met: (agent, session id) -> the scope that the session was told in.
    """

    store: Store
    at: datetime
    met: dict[_Key, Scope] = field(default_factory=dict)

    def changes(self, events: Sequence[Event], scope: Scope) -> list[Change]:
        """Return what events of a scope change in the store, their evidence written before.

        Raises:
            WriteFailed: when the disk refuses.
        """
        deploys = (one for one in events if one.kind is EventKind.DEPLOY)
        found: list[Change] = [PutEpisode(self._deploy(one, scope)) for one in deploys]
        for key, told in _talks(events).items():
            found += self._talk(self._own(key, scope), told, scope)
        return found

    def _talk(self, key: _Key, told: Sequence[Event], scope: Scope) -> list[Change]:
        path = evidence_path(self.store.places.evidence, *key)
        turns = {turn.uuid: turn for turn in load_evidence(path, self._evidence_bytes(key))}
        said = [(one, turn_form(_turn(one, key), redact)) for one in told]
        fresh = {turn.uuid: turn for _, turn in said if turn.uuid not in turns}
        if not fresh:
            return []
        session = _session(key, sorted({**turns, **fresh}.values(), key=lambda turn: turn.at))
        findings = _claimed(detect(session), [(o, turn) for o, turn in said if turn.uuid in fresh])
        length = append_evidence(path, fresh.values())
        passing("ingest.evidence")
        facts = facts_of(session, findings, scope, length)
        ids = tuple(turn_id(turn.uuid) for turn in session.turns)
        episodes = episodes_of(session, findings, scope, self.at)
        return [PutSession(replace(facts, turn_ids=ids)), *map(PutEpisode, episodes)]

    def _own(self, key: _Key, scope: Scope) -> _Key:
        """Return the key of a session that no other scope has."""
        rows = self.store.database.rows(
            "SELECT owner_id, owner_type, app_id, project_id FROM sessions "
            "WHERE agent = ? AND id = ?",
            list(key),
        )
        owner = Scope(*rows[0]) if rows else self.met.setdefault(key, scope)
        return key if owner == scope else (key[0], f"{key[1]}-{scope.folder}")

    def _evidence_bytes(self, key: _Key) -> int:
        rows = self.store.database.rows(
            "SELECT evidence_bytes FROM sessions WHERE agent = ? AND id = ?", list(key)
        )
        return int(rows[0][0]) if rows else 0

    def _deploy(self, one: Event, scope: Scope) -> Episode:
        """Return a deploy as a circumstance: it is recalled, and no lesson is made of it."""
        agent, session = key = _key(one)
        anchor = _uuid(one, key)
        words = redact(one.text)
        return Episode(
            id=episode_id(agent, EpisodeKind.ENVIRONMENT.value, anchor),
            scope=scope,
            agent=agent,
            session_id=session,
            kind=EpisodeKind.ENVIRONMENT,
            anchor=anchor,
            title=f"deploy: {words.strip().splitlines()[0]}"[:_TITLE],
            gist="A deploy.",
            words=words,
            at=one.at,
            recorded_at=self.at,
            grounding=Grounding.INFERRED,
            strength=Strength(START, self.at),
        )


def _talks(events: Sequence[Event]) -> dict[_Key, list[Event]]:
    """Return what is part of a conversation, by agent and session, in the order of telling."""
    found: dict[_Key, list[Event]] = {}
    for one in events:
        key = _key(one)
        if key[0] not in TRANSCRIBED and _is_talk(one):
            found.setdefault(key, []).append(one)
    return found


def _is_talk(one: Event) -> bool:
    """Tell whether an event is a part of a conversation; what a tool gave back alone is none."""
    match one.kind, one.role:
        case (EventKind.DEPLOY | EventKind.NOTE, _) | (EventKind.TURN, Role.TOOL):
            return False
        case _:
            return True


def _key(one: Event) -> _Key:
    """Return agent and session as ids; what is told outside of one is one session a day."""
    agent = slug(one.agent) if one.agent.strip() else _NAMELESS
    return agent, session_name(one.session) if one.session.strip() else f"{one.at:%Y-%m-%d}"


def _uuid(one: Event, key: _Key) -> str:
    return digest_of("told", *key, one.id)[:_UUID]


def _turn(one: Event, key: _Key) -> Turn:
    uuid = _uuid(one, key)
    match one.kind, one.role:
        case (EventKind.TURN, Role.USER) | (EventKind.CORRECTION, _):
            return PersonTurn(uuid, one.at, one.text, Channel.PROMPT)
        case EventKind.ERROR, _:
            result = ToolResult(ResultState.ERROR, one.text, one.at)
            return AgentTurn(uuid, one.at, "", (ToolCall(uuid, _TOOL, "", result),), one.model)
        case _:
            return AgentTurn(uuid, one.at, one.text, (), one.model)


def _session(key: _Key, turns: Sequence[Turn]) -> Session:
    agent, session = key
    return Session(
        agent=agent,
        id=session,
        path="",
        cwd="",
        started=turns[0].at,
        ended=turns[-1].at,
        title="",
        turns=tuple(turns),
        by_person=True,
        counts=ReadCounts(),
        bytes_read=0,
    )


def _claimed(found: Findings, said: Sequence[tuple[Event, Turn]]) -> Findings:
    """Return what was found in a conversation, and what was told to have been there."""
    known = {one.turn.uuid for one in found.corrections}
    known |= {one.turn.uuid for one in found.surprises}
    told = [(one, turn) for one, turn in said if turn.uuid not in known]
    return replace(
        found,
        corrections=(*found.corrections, *_corrections(told)),
        surprises=(*found.surprises, *_surprises(told)),
        environment=(*found.environment, *_environment(told)),
    )


def _corrections(told: Sequence[tuple[Event, Turn]]) -> Iterator[Correction]:
    for one, turn in told:
        if one.kind is EventKind.CORRECTION and isinstance(turn, PersonTurn):
            reading = read(Exchange(turn))
            words = reading.words or turn.text
            rule = reading.rule
            yield Correction(turn, None, words, rule, lasting=bool(rule), standing=False)


def _surprises(told: Sequence[tuple[Event, Turn]]) -> Iterator[Surprise]:
    for one, turn in told:
        if one.kind is EventKind.SURPRISE and isinstance(turn, AgentTurn):
            yield Surprise(turn, turn.text)


def _environment(told: Sequence[tuple[Event, Turn]]) -> Iterator[Environment]:
    for one, turn in told:
        if one.kind is EventKind.ENVIRONMENT:
            cause = turn.text.strip().splitlines()[0]
            yield Environment(turn.uuid, turn.at, cause, turn.text)
