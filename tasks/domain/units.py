"""The units of memory as plain data: what was met, what was learned, what is bet.

Every unit is frozen; a change is a new version written by the gateway. Trust, lifecycle, grounding
and strength are four separate things and no rule blends them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from tasks.domain.scope import Scope


class EpisodeKind(StrEnum):
    """What kind of thing was met. `environment` and `note` are never consolidated."""

    SESSION = "session"
    ERROR = "error"
    CORRECTION = "correction"
    SURPRISE = "surprise"
    ENVIRONMENT = "environment"
    NOTE = "note"


CONSOLIDATED = (EpisodeKind.CORRECTION, EpisodeKind.ERROR, EpisodeKind.SURPRISE)
"""The kinds that may become a lesson, in the order in which the passes take them."""


class Grounding(StrEnum):
    """What a claim rests on: the person's words, a tool's result, a reading, another memory."""

    PERSON = "person"
    TOOL = "tool"
    INFERRED = "inferred"
    FOREIGN = "foreign"


DEFAULT_K: Final = 8
"""How many units are recalled at most for whoever does not say."""


class Trust(StrEnum):
    """What a lesson may be used for; only evidence or a person moves it."""

    CANDIDATE = "candidate"
    CORROBORATED = "corroborated"
    VERIFIED = "verified"
    DISPUTED = "disputed"
    REJECTED = "rejected"


USABLE = (Trust.CORROBORATED, Trust.VERIFIED)
"""Trusts that may be rendered, primed and predicted from."""
RECALLABLE = (Trust.CANDIDATE, *USABLE)
"""Trusts that recall may return; a candidate is labelled unconfirmed."""


class Lifecycle(StrEnum):
    """Where a unit is in its life."""

    LIVE = "live"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Strength:
    """Reachability at an instant. Decay is computed from it, never stored on a schedule."""

    value: float
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Episode:
    """One thing that happened, with the words that show it.

    Attributes:
        anchor: uuid of the record with the person's words, or the `tool_use_id` of a result.
        title: at most 120 characters, for lists.
        gist: a few deterministic sentences: what went on.
        words: the person's words (correction, note) or the quoted evidence (error, surprise).
        rule: the span of the person's words that states a lasting rule, else ""; GAP stands in it
            where something pasted was cut out.
        at: when it happened; `recorded_at`: when we read of it.
        lasting: the words state a preference or fact that helps later sessions.
        standing: a lasting rule stated without a correction; left out of the repeat rate.
        tool, error_class, command: set for errors; `command` is the first word of what was run.
        topic: the tools and command words around it, for asking whether a subject came up again.
    """

    id: str
    scope: Scope
    agent: str
    session_id: str
    kind: EpisodeKind
    anchor: str
    title: str
    gist: str
    words: str
    at: datetime
    recorded_at: datetime
    grounding: Grounding
    strength: Strength
    rule: str = ""
    lasting: bool = False
    standing: bool = False
    tool: str = ""
    error_class: str = ""
    command: str = ""
    topic: tuple[str, ...] = ()
    recalls: int = 0
    archived_at: datetime | None = None

    @property
    def meaning(self) -> str:
        """Return the text whose vector stands for this episode: the words alone, if a person's."""
        if self.kind in (EpisodeKind.CORRECTION, EpisodeKind.NOTE):
            return self.words
        return f"{self.title}\n{self.gist}"


@dataclass(frozen=True, slots=True)
class Lesson:
    """The current version of something learned.

    Attributes:
        text: a template of ours with the person's spans in it; at most 300 characters.
        quote: the person's own words, or the error text, kept beside the rule as its evidence.
        sources: ids of the episodes it rests on, sorted; rows in the store.
        sessions: the distinct session ids of its sources, sorted.
        valid_from, valid_until: true in the world; `recorded_at`: believed by us.
        hash: identity between memories (kind and canonical text).
        seen: number of independent sessions behind it.
    """

    id: str
    version: int
    scope: Scope
    kind: EpisodeKind
    text: str
    quote: str
    trust: Trust
    lifecycle: Lifecycle
    grounding: Grounding
    sources: tuple[str, ...]
    sessions: tuple[str, ...]
    valid_from: datetime
    recorded_at: datetime
    strength: Strength
    hash: str
    valid_until: datetime | None = None
    pinned: bool = False
    origin: str = ""

    @property
    def seen(self) -> int:
        """Return how many distinct sessions stand behind the lesson."""
        return len(self.sessions)


class Outcome(StrEnum):
    """How a prediction ended."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    UNEXERCISED = "unexercised"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A bet that a lesson's subject will come up again in a session that was not shown it."""

    id: str
    lesson_id: str
    scope: Scope
    text: str
    made: datetime
    outcome: Outcome = Outcome.OPEN
    resolved: datetime | None = None
    by_episode: str = ""


class TombstoneKind(StrEnum):
    """Why a value must not come back."""

    REJECTED = "rejected"
    FORGOTTEN = "forgotten"
    SUPERSEDED = "superseded_by_person"
    VETO = "veto"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A refused value, keyed on its canon (as keyed digests), its sources and its scope.

    It holds no text: `digests` maps canon version to the HMAC of the canonical text.
    """

    id: str
    kind: TombstoneKind
    scope: Scope
    unit: str
    unit_id: str
    digests: tuple[tuple[str, str], ...]
    sources: tuple[str, ...]
    reason: str
    actor: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Project:
    """A body of work; every folder met is kept, so that a moved one keeps its id."""

    project_id: str
    name: str
    path: str
    cwds: tuple[str, ...]
    first_seen: datetime
    ignored: bool = False
