"""The one entry: a session in, everything the detectors find out.

Invariant: pure, and never a word about the first message of a session: there is nothing it could
correct.
"""

from __future__ import annotations

from collections.abc import Iterator

from tasks.domain.session import AgentTurn, PersonTurn, ResultState, Session, Turn
from tasks.evidence.detectors.failures import environment_in, errors_in, surprises_in
from tasks.evidence.detectors.findings import (
    Answer,
    Correction,
    Findings,
    Offer,
    RefusedCall,
)
from tasks.evidence.detectors.offers import answered, offered, stopped
from tasks.evidence.detectors.reading import Exchange, Reading, read


def detect(session: Session) -> Findings:
    """Return everything the detectors find in a session."""
    readings = [(exchange, read(exchange)) for exchange in exchanges(session)]
    return Findings(
        corrections=tuple(_corrections(readings)),
        refusals=tuple(_refusals(session)),
        errors=errors_in(session),
        surprises=surprises_in(session),
        environment=environment_in(session),
        offers=tuple(_offers(session, readings)),
    )


def exchanges(session: Session) -> tuple[Exchange, ...]:
    """Return each message of the person's but the first, with the agent's turns around it."""
    turns = session.turns
    found: list[Exchange] = []
    before: AgentTurn | None = None
    first = True
    for place, turn in enumerate(turns):
        if isinstance(turn, AgentTurn):
            before = turn
        elif first:
            first = False
        else:
            found.append(Exchange(turn, before, _next_reply(turns, place)))
    return tuple(found)


def _next_reply(turns: tuple[Turn, ...], place: int) -> AgentTurn | None:
    following = turns[place + 1] if place + 1 < len(turns) else None
    return following if isinstance(following, AgentTurn) else None


def _corrections(readings: list[tuple[Exchange, Reading]]) -> Iterator[Correction]:
    for exchange, reading in readings:
        if reading.correction or reading.rule:
            yield Correction(
                turn=exchange.turn,
                before=exchange.before,
                words=reading.words,
                rule=reading.rule,
                lasting=bool(reading.rule),
                standing=reading.standing,
            )


def _refusals(session: Session) -> Iterator[RefusedCall]:
    reasons = {
        turn.refused.id: turn.text
        for turn in session.turns
        if isinstance(turn, PersonTurn) and turn.refused is not None
    }
    for turn in session.turns:
        for call in turn.calls if isinstance(turn, AgentTurn) else ():
            if call.result and call.result.state is ResultState.REFUSED:
                yield RefusedCall(call, reasons.get(call.id, ""))


def _offers(session: Session, readings: list[tuple[Exchange, Reading]]) -> Iterator[Offer]:
    """Yield one offer a waiting reply; of several messages after it the last one answers."""
    answers = {id(exchange.before): (exchange, reading) for exchange, reading in readings}
    for turn in session.turns:
        if not isinstance(turn, AgentTurn):
            continue
        exchange, reading = answers.get(id(turn), (None, None))
        answer = exchange.turn if exchange else None
        kind = offered(turn, answer)
        if kind is None:
            continue
        at_call = stopped(turn, answer) is not None
        if exchange is None or reading is None:
            yield Offer(turn, kind, Answer.OTHER, "", at_call)
        else:
            how = answered(reading, exchange.turn, turn)
            yield Offer(turn, kind, how, exchange.turn.uuid, at_call)
