"""What the detectors find in a session, as plain data.

Invariant: every finding points back at the record that shows it (a turn's uuid or a call's id), and
every quoted text in it is verbatim.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tasks.domain.session import AgentTurn, PersonTurn, ToolCall


class OfferKind(StrEnum):
    """What a reply offered to do, or waited on the person for."""

    COMMIT = "commit"
    PUSH = "push"
    RUN = "run"
    EDIT = "edit"
    INSTALL = "install"
    NETWORK = "network"
    DELETE = "delete"
    PLAN = "plan"
    QUESTION = "question"
    OTHER = "other"


class Answer(StrEnum):
    """How the person answered an offer; `OTHER` also when the session ended there."""

    CORRECTED = "corrected"
    DECLINED = "declined"
    APPROVED = "approved"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Correction:
    """A message in which the person corrects the agent or states a rule that outlives the task.

    Attributes:
        words: what the person typed, without what was pasted.
        rule: the verbatim span of the words that carries the rule; "" unless lasting or standing.
        standing: a lasting rule stated without a correction.
        before: the agent's turn that the message follows.
    """

    turn: PersonTurn
    before: AgentTurn | None
    words: str
    rule: str
    lasting: bool
    standing: bool


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call the person said no to; `reason` is "" when none was typed."""

    call: ToolCall
    reason: str


@dataclass(frozen=True, slots=True)
class Error:
    """A call that failed.

    Attributes:
        command: the first word of what was run, "" for other tools.
        ways: how each step was run (`go test`).
        instead: the way that failed, and the one that worked in its place soon after.
    """

    call: ToolCall
    error_class: str
    command: str
    text: str
    at: datetime
    ways: tuple[str, ...] = ()
    instead: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Surprise:
    """A sentence in which the agent itself says that something was not as it thought."""

    turn: AgentTurn
    sentence: str


@dataclass(frozen=True, slots=True)
class Environment:
    """Something outside the work got in the way: a limit, the network, a full disk."""

    anchor: str
    at: datetime
    cause: str
    text: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A reply that offered to act or waited.

    Attributes:
        answered_by: the answering turn's uuid.
        at_call: it waited because a call of its was refused.
    """

    turn: AgentTurn
    kind: OfferKind
    answer: Answer
    answered_by: str
    at_call: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything the detectors found in one session, each list in the session's order."""

    corrections: tuple[Correction, ...] = ()
    refusals: tuple[RefusedCall, ...] = ()
    errors: tuple[Error, ...] = ()
    surprises: tuple[Surprise, ...] = ()
    environment: tuple[Environment, ...] = ()
    offers: tuple[Offer, ...] = ()

    @property
    def waits(self) -> int:
        """Return how many replies waited on the person."""
        return len(self.offers)
