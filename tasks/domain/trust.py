"""Trust: what a lesson may be used for, and the only ways in which it moves.

Evidence or a person moves it. Recall, injection, decay and age never do, and nothing leaves
`rejected`. Every value has a producer: candidate and corroborated by `start_trust`,
`after_corroboration` and `after_discounting`, verified by `after_prediction` and a person, disputed
by `after_objection`, rejected by a person's rejection or veto.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tasks.domain.proposals import Actor
from tasks.domain.units import Grounding, Outcome, Trust

ENOUGH_SESSIONS: Final = 2
ENOUGH_OBJECTIONS: Final = 2
STARTS: Final = (Trust.CANDIDATE, Trust.CORROBORATED)
"""The trusts that a new lesson may have; the others are earned or decided."""

_DOUBT: Final = frozenset({Actor.PERSON, Actor.TRANSCRIPT, Actor.SLEEP, Actor.AGENT})
"""Who may dispute: an agent's edit lowers a lesson, never raises it; a transcript holds the
person's retraction."""
_REFUSE: Final = frozenset({Actor.PERSON, Actor.FILE})
"""Who may reject: the person, also by deleting a lesson's file (the guarded veto)."""
_CONFIRM: Final = frozenset({Actor.PERSON, Actor.SLEEP})

MOVES: Final[Mapping[tuple[Trust, Trust], frozenset[Actor]]] = {
    (Trust.CANDIDATE, Trust.CORROBORATED): _CONFIRM,
    (Trust.CANDIDATE, Trust.VERIFIED): frozenset({Actor.PERSON}),
    (Trust.CANDIDATE, Trust.DISPUTED): _DOUBT,
    (Trust.CANDIDATE, Trust.REJECTED): _REFUSE,
    (Trust.CORROBORATED, Trust.CANDIDATE): frozenset({Actor.SLEEP}),
    (Trust.CORROBORATED, Trust.VERIFIED): _CONFIRM,
    (Trust.CORROBORATED, Trust.DISPUTED): _DOUBT,
    (Trust.CORROBORATED, Trust.REJECTED): _REFUSE,
    (Trust.VERIFIED, Trust.DISPUTED): _DOUBT,
    (Trust.VERIFIED, Trust.REJECTED): _REFUSE,
    (Trust.DISPUTED, Trust.CORROBORATED): frozenset({Actor.PERSON}),
    (Trust.DISPUTED, Trust.VERIFIED): frozenset({Actor.PERSON}),
    (Trust.DISPUTED, Trust.REJECTED): _REFUSE,
}
"""(from, to) -> who may. What is not here is not allowed to anybody."""


def may_move(start: Trust, end: Trust, actor: Actor) -> bool:
    """Tell whether `actor` may move a lesson from `start` to `end`; staying is always allowed."""
    return start == end or actor in MOVES.get((start, end), frozenset())


def start_trust(grounding: Grounding, *, lasting: bool, sessions: int) -> Trust:
    """Return a new lesson's trust.

    Args:
        grounding: PERSON only when the quoted words were found in the transcript.
        lasting: those words state a preference or fact that helps later sessions.
        sessions: how many independent sessions stand behind it (`independent_sessions`).
    """
    said = grounding is Grounding.PERSON and lasting
    return Trust.CORROBORATED if said else after_corroboration(Trust.CANDIDATE, grounding, sessions)


def after_corroboration(trust: Trust, grounding: Grounding, sessions: int) -> Trust:
    """Return the trust once `sessions` independent sessions stand behind a lesson.

    Only a candidate moves. A received lesson stays one, however often its sender says it: local
    evidence raises its grounding first.
    """
    if trust is not Trust.CANDIDATE or grounding is Grounding.FOREIGN:
        return trust
    return Trust.CORROBORATED if sessions >= ENOUGH_SESSIONS else Trust.CANDIDATE


def after_discounting(trust: Trust, *, lasting: bool, met: int, independent: int) -> Trust:
    """Return the trust once it is known which of the sessions behind a lesson had been told it.

    What they had raised is lowered again, so that it does not matter whether a session or the news
    of what it was told came first.

    Args:
        trust: what it was.
        lasting: one of its sources alone suffices.
        met: the sessions of its sources.
        independent: those of them that bear witness.
    """
    fell = independent < ENOUGH_SESSIONS <= met
    return Trust.CANDIDATE if trust is Trust.CORROBORATED and fell and not lasting else trust


def after_prediction(trust: Trust, grounding: Grounding, outcome: Outcome) -> Trust:
    """Return the trust once a prediction ended: a confirmed one verifies the person's own rule.

    A failed one lowers nothing, because a lesson that works prevents what it predicts.
    """
    earned = outcome is Outcome.CONFIRMED and grounding is Grounding.PERSON
    return Trust.VERIFIED if earned and trust is Trust.CORROBORATED else trust


def after_objection(trust: Trust, *, retracted: bool, against: int) -> Trust:
    """Return the trust after objections.

    Args:
        trust: what it was.
        retracted: the person took the rule back in so many words.
        against: corrections against it in sessions that were shown it.
    """
    objected = retracted or against >= ENOUGH_OBJECTIONS
    return Trust.DISPUTED if objected and trust is not Trust.REJECTED else trust


def independent_sessions(sessions: Iterable[str], shown: frozenset[str]) -> tuple[str, ...]:
    """Return the distinct sessions, sorted, that can bear witness: those not shown the lesson.

    Words first seen in our own injected text are no source at all; the readers drop them before.

    Raises:
        ValueError: when a session id is blank, since "unknown" would count as one witness for all.
    """
    met = set(sessions)
    if any(not session.strip() for session in met):
        raise ValueError("a source without a session id cannot be counted as a witness")
    return tuple(sorted(met - shown))
