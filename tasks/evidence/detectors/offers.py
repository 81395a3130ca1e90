"""Which replies waited on the person, what they offered, and how the person answered.

Invariant: a reply waits when its last lines ask or invite, or when a call of its was refused. An
offer does not predict a correction; it decides what a short reply means.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tasks.domain.session import AgentTurn, Channel, PersonTurn, ResultState, ToolCall
from tasks.evidence.detectors.cues import cues, first_in, table
from tasks.evidence.detectors.findings import Answer, OfferKind
from tasks.evidence.detectors.reading import Reading
from tasks.evidence.detectors.text import clauses

_LINES: Final = 3
_TAIL: Final = 320


def offered(before: AgentTurn | None, answer: PersonTurn | None = None) -> OfferKind | None:
    """Return what a reply offered or waited for, None when it did not wait.

    Args:
        before: the reply.
        answer: the message after it, whose channel tells of a refused call.
    """
    if before is None:
        return None
    refused = stopped(before, answer)
    if refused is not None:
        return kind_of(refused)
    tail = closing(before.text).lower()
    if not first_in(tail, cues("offers", "waits")):
        return None
    return OfferKind(first_in(_asking(tail), cues("offers", "kind")) or OfferKind.OTHER)


def answered(reading: Reading, turn: PersonTurn, before: AgentTurn) -> Answer:
    """Return how a message answered a reply that waited."""
    if reading.correction:
        return Answer.CORRECTED
    parts = clauses(reading.words)
    first = parts[0].lower() if parts else ""
    if stopped(before, turn) is not None or first_in(first, cues("offers", "declines")):
        return Answer.DECLINED
    if any(first_in(part.lower(), cues("offers", "approves")) for part in parts[:2]):
        return Answer.OTHER if first.rstrip().endswith("?") else Answer.APPROVED
    return Answer.OTHER


def closing(text: str) -> str:
    """Return the last few lines of a reply: where it asks, if it asks."""
    lines = [line for line in text.splitlines() if line.strip()][-_LINES:]
    return "\n".join(lines)[-_TAIL:]


def _asking(tail: str) -> str:
    """Return the clauses of a reply's end that ask or invite, else all of it."""
    asking = [part for part in clauses(tail) if first_in(part, cues("offers", "waits"))]
    return " ".join(asking) or tail


def stopped(before: AgentTurn, answer: PersonTurn | None) -> ToolCall | None:
    """Return the call at which the person stopped a reply, None when none was refused."""
    if answer is not None and answer.channel is Channel.REFUSAL and answer.refused is not None:
        return answer.refused
    last = before.calls[-1] if before.calls else None
    if last is not None and last.result and last.result.state is ResultState.REFUSED:
        return last
    return None


def kind_of(call: ToolCall) -> OfferKind:
    """Return what kind of action a call is, by its tool, else by its command."""
    tools: Mapping[str, str] = table("offers")["tools"]
    if call.name in tools:
        return OfferKind(tools[call.name])
    return OfferKind(first_in(call.line.lower(), cues("offers", "kind")) or OfferKind.RUN)
