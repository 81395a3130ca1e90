"""Why recall answers as it does: what was looked for, what was left out, and what that lacks.

Invariant: it goes by the cuts of `tasks/ranking.py`, and what it calls left out recall left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from tasks.domain.scope import Scope
from tasks.embedding.space import Space
from tasks.embedding.words import asked_terms, terms, terms_of, tokens
from tasks.memory import Memory
from tasks.ranking import BESIDE_BEST, SPEAK
from tasks.recall import Recalled, considered, recall

NEAREST: Final = 3
"""What was left out, to be told."""


class Lack(StrEnum):
    """Why something was left out."""

    NEAR_NOTHING = "nothing that is held fits well enough"
    FAR_BEHIND = "far behind the best"
    NO_ROOM = "no room: -k lists more"


@dataclass(frozen=True, slots=True)
class Weighed:
    """A unit, or a passage, against the question.

    Attributes:
        words: those of the question that stand in it, as asked.
        needed: the relevance from which it would have been listed.
        lack: why it is not, None for what is listed.
    """

    one: Recalled
    words: tuple[str, ...]
    needed: float
    lack: Lack | None


@dataclass(frozen=True, slots=True)
class Explained:
    """An answer and how it came about.

    Attributes:
        sought: the question's words, without those that only say how it is put.
        by_meaning: whether meanings were compared too, or words alone.
        listed: what is answered, best first.
        left_out: the nearest of the rest, the most relevant first.
        echoes: how many more there are that say what is listed, or that it rests on.
    """

    sought: tuple[str, ...]
    by_meaning: bool
    listed: tuple[Weighed, ...]
    left_out: tuple[Weighed, ...]
    echoes: int


def explain(  # noqa: PLR0913  as `recall` is asked
    memory: Memory, query: str, *, scope: Scope, space: Space, k: int, now: datetime
) -> Explained:
    """Return what `recall` answers to the same question, and why."""
    listed = recall(memory, query, scope=scope, space=space, k=k, now=now)
    every = considered(memory, query, scope=scope, space=space, now=now)
    best = {one.scope: one.hit.relevance for one in reversed(every)}
    by_meaning = not space.gauge.of_words and any(one.hit.cosine is not None for one in every)
    said = _said(listed)
    rest = [one for one in every if said.isdisjoint(_ids(one))]
    told = [one for one in rest if by_meaning or one.hit.lexical]
    sought = _sought(query)
    return Explained(
        tuple(sought),
        by_meaning,
        tuple(Weighed(one, _words(one, sought), _needed(best[one.scope]), None) for one in listed),
        tuple(_left_out(one, best[one.scope], sought) for one in told[:NEAREST]),
        len(every) - len(rest) - len(listed),
    )


def _left_out(one: Recalled, best: float, sought: Sequence[str]) -> Weighed:
    needed = _needed(best)
    lack = Lack.FAR_BEHIND if one.hit.relevance < needed else Lack.NO_ROOM
    return Weighed(one, _words(one, sought), needed, Lack.NEAR_NOTHING if best < SPEAK else lack)


def _said(listed: Iterable[Recalled]) -> set[str]:
    """Return the ids of all that is listed, and of what it rests on."""
    return {unit for one in listed for unit in (*_ids(one), *one.row.get("sources", ()))}


def _ids(one: Recalled) -> tuple[str, ...]:
    """Return a row's id, and those of the units that a passage holds."""
    return one.row["id"], *one.row.get("units", ())


def _needed(best: float) -> float:
    return max(SPEAK, best * BESIDE_BEST)


def _sought(query: str) -> list[str]:
    """Return the words of a question that are looked up, as they were put."""
    asked = set(asked_terms(query))
    return [one for one in dict.fromkeys(tokens(query)) if not asked.isdisjoint(terms_of(one))]


def _words(one: Recalled, sought: Iterable[str]) -> tuple[str, ...]:
    held = set(terms(f"{one.row['text']} {one.row.get('gist', '')}"))
    return tuple(word for word in sought if not held.isdisjoint(terms_of(word)))
