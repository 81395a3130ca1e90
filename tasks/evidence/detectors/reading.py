"""How one message of the person's is read, between the agent's turns before and after it.

Invariant: clauses are scored, never whole messages, because approval and correction share messages.
English only: other languages score nothing, and so are no corrections. A report that something
fails is never lasting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tasks.domain.session import AgentTurn, Channel, PersonTurn
from tasks.evidence.detectors.cues import compiled, cues, first_in, table, weight_of
from tasks.evidence.detectors.text import clauses, own_words

_TAIL: Final = 400
_HEAD: Final = 200
_FEW: Final = 3
_CLAUSE: Final = 600
_COMMA: Final = re.compile(r",\s+")
_CONDITION: Final = re.compile(r"(?i)(?:before|after|when|whenever|if|unless|while|for)\b")
_HANGS: Final = re.compile(r"(?i)(?:[\w'’-]+\s){1,4}(?:it|them|they|that|its)\b")
_ASIDE: Final = re.compile(r"\s\([^()]*\)?\s*$")
_WRITES: Final = frozenset({"Write", "Edit", "MultiEdit"})


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message of the person's with the agent's turns around it."""

    turn: PersonTurn
    before: AgentTurn | None = None
    after: AgentTurn | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message is.

    Attributes:
        words: what the person typed.
        score: how much speaks for a correction, in the units of the table's weights.
        rule: the clause that states a lasting rule, verbatim; "" when none does.
    """

    words: str
    score: float
    correction: bool
    rule: str

    @property
    def standing(self) -> bool:
        """Tell whether a lasting rule was stated without a correction."""
        return bool(self.rule) and not self.correction


def read(exchange: Exchange) -> Reading:
    """Return what the message of an exchange is."""
    words = own_words(exchange.turn.text)
    parts = clauses(words)
    if not parts:
        return Reading(words, 0.0, correction=False, rule="")
    score = _clause_score(parts) + _context(exchange, words, len(parts))
    score += weight_of(words.lower(), cues("corrections", "message"))
    correction = score >= float(table("corrections")["threshold"])
    return Reading(words, score, correction, _rule(parts, exchange, correction=correction))


def _clause_score(parts: tuple[str, ...]) -> float:
    scores = sorted(
        (weight_of(_lowered(part), cues("corrections", "cue")) for part in parts), reverse=True
    )
    second = max(scores[1], 0.0) if len(scores) > 1 else 0.0
    return scores[0] + float(table("corrections")["echo"]) * second


def _context(exchange: Exchange, words: str, count: int) -> float:
    turn = exchange.turn
    tail = exchange.before.text[-_TAIL:].lower() if exchange.before else ""
    head = exchange.after.text.lstrip()[:_HEAD].lower() if exchange.after else ""
    asked = tail.rstrip().endswith("?")
    present = {
        "refusal": turn.channel is Channel.REFUSAL,
        "command": turn.channel is Channel.COMMAND,
        "answer": turn.channel is Channel.ANSWER,
        "after_interrupt": turn.after_interrupt,
        "offer": asked,
        "bare_no": asked and bool(_pattern("corrections", "bare_no").search(words.lower())),
        "claimed_done": bool(_pattern("corrections", "done").search(tail)),
        "asked_if_more": bool(_pattern("corrections", "asked_if_more").search(tail)),
        "conceded": bool(_pattern("corrections", "conceded").search(head)),
    }
    weights: Mapping[str, float] = table("corrections")["context"]
    crowd = weights["crowded"] * max(0, count - _FEW)
    return crowd + sum(weights[name] for name, stands in present.items() if stands)


def _rule(parts: tuple[str, ...], exchange: Exchange, *, correction: bool) -> str:
    """Return the clause that most looks like lasting, "" when none reaches the bar."""
    best, most = "", 0.0
    for part in parts:
        weight = _lasting(part)
        if weight > most:
            best, most = part, weight
    bar = float(table("lasting")["threshold" if correction else "standing"])
    bar -= _lasting_context(exchange, correction=correction)
    return _from_first(best, bar) if most >= bar else ""


def _from_first(clause: str, bar: float) -> str:
    """Return a clause from its first part that reaches the bar alone, its last aside left out.

    A condition before that part ("before you commit, …") stays with it, and so does all before it
    that it speaks of ("the folder is generated, never edit it").
    """
    bare = _ASIDE.sub("", clause)
    starts = [0, *(comma.end() for comma in _COMMA.finditer(bare))]
    ends = [*starts[1:], len(bare)]
    condition = 0
    for start, end in zip(starts, ends, strict=True):
        part = bare[start:end].strip(" ,")
        if _lasting(part) >= bar:
            return bare[0 if _HANGS.match(part) else condition :].strip()
        condition = start if _CONDITION.match(part) else end
    return clause


def _lasting(clause: str) -> float:
    """Return how much speaks for a lasting rule, 0.0 when something forbids one."""
    bounds = table("lasting")
    lowered = _lowered(clause)
    if len(clause) > bounds["longest"] or first_in(lowered, cues("lasting", "veto")):
        return 0.0
    weights = [cue.weight for cue in cues("lasting", "cue").standing(lowered)]
    return sum(weights) if max(weights, default=0.0) >= bounds["strong"] else 0.0


def _lowered(clause: str) -> str:
    """Return a clause as patterns see it: its beginning, so that no clause costs without bound."""
    return clause[:_CLAUSE].lower()


def _lasting_context(exchange: Exchange, *, correction: bool) -> float:
    present = {
        "correction": correction,
        "refusal": exchange.turn.channel is Channel.REFUSAL,
        "after_interrupt": exchange.turn.after_interrupt,
        "kept": _kept(exchange.after),
    }
    weights: Mapping[str, float] = table("lasting")["context"]
    return sum(weights[name] for name, stands in present.items() if stands)


def _kept(after: AgentTurn | None) -> bool:
    """Tell whether the agent wrote to a memory file in its next turn."""
    if after is None:
        return False
    files = _pattern("lasting", "memory")
    return any(call.name in _WRITES and files.search(call.line.lower()) for call in after.calls)


def _pattern(name: str, section: str) -> re.Pattern[str]:
    return compiled(table(name)[section]["pattern"])
