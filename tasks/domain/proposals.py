"""What anyone may ask the gateway to change, as a closed union; and what the gateway answers.

Nothing else can change memory. A proposal's actor is stamped by the route it came in by, never read
from a payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from tasks.domain.scope import Scope
from tasks.domain.units import Episode, Lesson, Prediction, Project, Strength, Tombstone

UnitName = Literal["episode", "lesson"]


class Actor(StrEnum):
    """Who asks, as observed by the route."""

    TRANSCRIPT = "transcript"
    SLEEP = "sleep"
    AGENT = "agent"
    HOST = "hook"
    PERSON = "person"
    FILE = "file"
    SYSTEM = "system"


class Action(StrEnum):
    """What is done; the word that the audit row carries."""

    CREATE = "create"
    CORROBORATE = "corroborate"
    CORRECT = "correct"
    MERGE = "merge"
    PROMOTE = "promote"
    DEMOTE = "demote"
    DISPUTE = "dispute"
    ARCHIVE = "archive"
    RESTORE = "restore"
    TOUCH = "touch"
    PREDICT = "predict"
    VERIFY = "verify_prediction"
    REJECT = "reject"
    VETO = "veto"
    FORGET = "forget"
    RESOLVE = "resolve"
    RENDER = "render"


STOPPED = "stopped"
"""How a reply was answered that a refused call ended."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """A session as the store keeps it: counts and pointers, no text.

    Attributes:
        person_turns: the first 16 hex of SHA-256 of the uuid of each turn of the person's.
        offers: per reply that offered to act: its kind and how the person answered; STOPPED where
            it waited because a call of its was refused.
        waits: replies that waited on the person.
        refusals: calls the person refused, by kind of action; older ledgers have those with
            no reason, by tool.
        topic: tools and command words met, sorted.
        evidence_bytes: how long its evidence file is.
        turn_ids: the same digest of every turn's uuid, the agent's too: by them a copy is known.
    """

    id: str
    agent: str
    scope: Scope
    path: str
    cwd: str
    started: datetime
    ended: datetime
    title: str
    turns: int
    person_turns: tuple[str, ...]
    offers: tuple[tuple[str, str], ...]
    waits: int
    refusals: tuple[tuple[str, int], ...]
    topic: tuple[str, ...]
    by_person: bool
    evidence_bytes: int
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PutProject:
    """Record a project, or another folder or name of one."""

    project: Project


@dataclass(frozen=True, slots=True)
class PutSession:
    """Record what is known of a session; a later reading replaces an earlier one."""

    session: SessionFacts


@dataclass(frozen=True, slots=True)
class PutEpisode:
    """Record an episode; the same id again with the same content is no change."""

    episode: Episode


@dataclass(frozen=True, slots=True)
class PutLesson:
    """Write a new version of a lesson (version 1 makes it)."""

    lesson: Lesson


@dataclass(frozen=True, slots=True)
class MergeLessons:
    """Let one lesson live on as the theme of several: its new version, and those it absorbs."""

    theme: Lesson
    absorbed: tuple[Lesson, ...]


@dataclass(frozen=True, slots=True)
class PutPrediction:
    """Make a prediction, or resolve it (the same id with an outcome)."""

    prediction: Prediction


@dataclass(frozen=True, slots=True)
class SetStrength:
    """Write a strength that a touch, a join or a pin changed; time passing is never written."""

    unit: UnitName
    unit_id: str
    strength: Strength
    recalls: int


@dataclass(frozen=True, slots=True)
class Archive:
    """Take a faded unit out of reading; its lineage stays."""

    unit: UnitName
    unit_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Bury:
    """Write a tombstone and take what it names out; only forgetting erases rows."""

    tombstone: Tombstone


@dataclass(frozen=True, slots=True)
class Ask:
    """Record that one who may not decide asked for it: the unit is withheld until a person does."""

    verb: str
    unit_id: str


@dataclass(frozen=True, slots=True)
class Expose:
    """Record one decision point: which lessons were shown in a channel and which were held out."""

    id: str
    at: datetime
    session_id: str
    channel: str
    shown: tuple[str, ...]
    held_out: tuple[str, ...]


Change = (
    PutProject
    | PutSession
    | PutEpisode
    | PutLesson
    | MergeLessons
    | PutPrediction
    | SetStrength
    | Archive
    | Bury
    | Ask
    | Expose
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change someone asks for.

    Attributes:
        via: the door it came through: `ingest`, `sleep.lessons`, `journal`, `cli`, …
        reason: one line, for the audit; never memory text.
    """

    change: Change
    action: Action
    scope: Scope
    actor: Actor
    via: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """The change was written."""

    action: Action


@dataclass(frozen=True, slots=True)
class NoOp:
    """Nothing to change: it stands so already, or there is nothing in it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The change was not written; `tombstone` names the earlier decision against it."""

    reason: str
    tombstone: str = ""


Decision = Stored | NoOp | Refusal
