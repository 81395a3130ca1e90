"""Whether two rules contradict each other, though their vectors are nearly the same.

Joining them would teach the reverse of what was said, so a doubt counts as opposed: rules that are
kept apart cost one confirmation. English only; made for rules and corrections, not for logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from sys import intern
from typing import Final

from tasks.domain.clauses import NUMBER, Clause, among, clauses_of, content, stem, words_of
from tasks.domain.polarity_words import ALTERNATIVES, NEGATORS

_GROUPS: Final = tuple(frozenset(map(stem, group)) for group in ALTERNATIVES)
_VALUES: Final = frozenset[str]().union(*_GROUPS)
_NEAR: Final = 0.5
"""The share of the shorter rule's words that two rules about one thing have in common."""

_Order = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Choice:
    """A clause with the groups of values that it chooses from, and what that excludes."""

    clause: Clause
    groups: tuple[frozenset[str], ...]
    held: frozenset[str]
    excluded: frozenset[str]

    @classmethod
    def of(cls, clause: Clause) -> _Choice:
        """Return a clause's choice; one that chooses nothing has no groups."""
        groups = tuple(group for group in _GROUPS if not group.isdisjoint(clause.reach))
        held = _VALUES & clause.reach
        excluded = _together(group - clause.reach for group in groups)
        return cls(clause, groups, held, excluded)


@dataclass(frozen=True, slots=True)
class Stance:
    """All that the comparison of one text with others needs of it.

    Attributes:
        forbidding: the clauses that say what not to do, and `wanting` what to do.
        choosing: the clauses that hold a value which excludes others.
        content: the stems it is about, numbers left out.
        numbers: the numbers next to each noun.
        order: what it puts first, and what second.
        sought: the marks of which another text must offer one to be opposed to it.
        offered: the marks by which others may be opposed to it.
    """

    forbidding: tuple[Clause, ...]
    wanting: tuple[Clause, ...]
    choosing: tuple[_Choice, ...]
    content: frozenset[str]
    numbers: dict[str, frozenset[str]]
    order: _Order
    sought: frozenset[str]
    offered: frozenset[str]


def opposed(a: str, b: str) -> bool:
    """Tell whether two rules contradict each other, or give one thing two different values."""
    return clash(stance_of(a), stance_of(b))


def clash(one: Stance, two: Stance) -> bool:
    """Tell whether the texts of two stances are opposed."""
    return not one.sought.isdisjoint(two.offered) and (
        _numbers_clash(one, two)
        or _signs_clash(one, two)
        or _signs_clash(two, one)
        or _values_clash(one.choosing, two.choosing)
        or _order_clashes(one.order, two.order)
    )


def clashes(stances: Sequence[Stance]) -> Iterator[tuple[int, int]]:
    """Yield the places of all pairs that clash, the smaller first; only pairs that could are asked.

    A mark's holders are the bits of one number, so pairs with nothing to clash about cost nothing.
    """
    holders: dict[str, int] = {}
    for place, stance in enumerate(stances):
        for mark in stance.offered:
            holders[mark] = holders.get(mark, 0) | 1 << place
    for place, stance in enumerate(stances):
        met = 0
        for mark in stance.sought:
            met |= holders.get(mark, 0)
        for other in _bits(met >> place + 1):
            if clash(stance, stances[place + 1 + other]):
                yield place, place + 1 + other


def _bits(number: int) -> Iterator[int]:
    """Yield the places of the bits that are set, lowest first."""
    written = f"{number:b}"[::-1]
    at = written.find("1")
    while at >= 0:
        yield at
        at = written.find("1", at + 1)


@lru_cache(maxsize=1 << 14)
def stance_of(text: str) -> Stance:
    """Return a text's stance; remembered, since a night compares each rule with many."""
    words = words_of(text)
    clauses = clauses_of(words)
    forbidding = tuple(clause for clause in clauses if clause.sign < 0)
    wanting = tuple(clause for clause in clauses if clause.sign > 0)
    numbers, order = _numbered(words), _order(words)
    forbidden = _together(clause.about for clause in forbidding)
    wanted = _together(clause.reach for clause in wanting)
    choosing = tuple(choice for clause in clauses if (choice := _Choice.of(clause)).groups)
    return Stance(
        forbidding,
        wanting,
        choosing,
        content(words),
        numbers,
        order,
        _marks("wants", forbidden)
        | _marks("forbids", wanted)
        | _marks("value", _together(choice.excluded for choice in choosing))
        | _marks("number", numbers)
        | _marks("second", order[0])
        | _marks("first", order[1]),
        _marks("forbids", forbidden)
        | _marks("wants", wanted)
        | _marks("value", _together(choice.held for choice in choosing))
        | _marks("number", numbers)
        | _marks("first", order[0])
        | _marks("second", order[1]),
    )


def _together(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset(chain.from_iterable(sets))


def _marks(role: str, words: Iterable[str]) -> frozenset[str]:
    return frozenset(intern(f"{role} {word}") for word in words)


def _signs_clash(one: Stance, two: Stance) -> bool:
    """Tell whether one forbids what the other wants, unless it wants that itself elsewhere."""
    return any(
        _meet(no, yes) and not any(_meet(no, own) for own in one.wanting)
        for no in one.forbidding
        for yes in two.wanting
    )


def _meet(no: Clause, yes: Clause) -> bool:
    """Tell whether a prohibition and a command are about one thing, at one place and time."""
    shared = no.about & yes.reach
    if not shared or not _compatible(no.circumstances, yes.circumstances - shared):
        return False
    each_has_more = bool(no.about - shared) and bool(yes.about - shared)
    return not each_has_more or len(shared) > _NEAR * len(no.about)


def _compatible(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two circumstances can hold at once; one that is not named always can."""
    if not one or not other:
        return True
    if one.isdisjoint(other):
        return False
    mine, theirs = one & _VALUES, other & _VALUES
    return not (mine and theirs and any(_differ(mine, theirs, group) for group in _GROUPS))


def _differ(one: frozenset[str], other: frozenset[str], group: frozenset[str]) -> bool:
    mine = one & group
    return bool(mine) and mine.isdisjoint(other) and not group.isdisjoint(other)


def _values_clash(mine: tuple[_Choice, ...], theirs: tuple[_Choice, ...]) -> bool:
    """Tell whether they want values that exclude each other, unless one wants both itself."""
    return any(
        _exclude(one, other)
        and not any(_exclude(one, own) for own in mine)
        and not any(_exclude(other, own) for own in theirs)
        for one in mine
        for other in theirs
    )


def _exclude(mine: _Choice, theirs: _Choice) -> bool:
    """Tell whether two clauses want, of one thing, values that exclude each other."""
    one, other = mine.clause, theirs.clause
    return one.sign == other.sign and any(
        _differ(one.reach, other.reach, group)
        and (one.sign > 0 or len(group) == 2)
        and _alike(one.about - group, other.about - group)
        and _compatible(one.circumstances - group, other.circumstances - group)
        for group in mine.groups
    )


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two sets of words name one thing: half of the smaller in common."""
    return len(one & other) >= _NEAR * min(len(one), len(other))


def _numbers_clash(one: Stance, two: Stance) -> bool:
    """Tell whether one noun has different numbers or versions in two texts about one thing."""
    for noun, mine in one.numbers.items():
        theirs = two.numbers.get(noun)
        if theirs is not None and not _share_one(mine, theirs):
            return _alike(one.content, two.content)
    return False


def _share_one(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    if not mine.isdisjoint(theirs):
        return True
    return any([_same_number(n, m) for n in mine for m in theirs])  # noqa: C419  twice as fast


def _numbered(words: list[str]) -> dict[str, frozenset[str]]:
    """Return the numbers next to each noun: "node 18", "node version 18", "2 spaces"."""
    found: dict[str, set[str]] = {}
    for at, word in enumerate(words):
        if NUMBER.match(word):
            before = [w for w in words[max(at - 4, 0) : at] if content([w]) - {"version", "v"}]
            for noun in content(before[-1:] + words[at + 1 : at + 2]):
                found.setdefault(noun, set()).add(word)
    return {noun: frozenset(numbers) for noun, numbers in found.items()}


def _same_number(one: str, other: str) -> bool:
    """Tell whether two versions can be the same: 18 names 18.2 too."""
    return one == other or one.startswith(other + ".") or other.startswith(one + ".")


def _order_clashes(mine: _Order, theirs: _Order) -> bool:
    """Tell whether two texts put the same two things in reverse order."""
    return (
        not mine[0].isdisjoint(theirs[1]) and not mine[1].isdisjoint(theirs[0]) and mine != theirs
    )


def _order(words: list[str]) -> _Order:
    """Return what comes first and what second, by the text's "before" or "after"."""
    at = next((i for i, word in enumerate(words) if word in {"before", "after", "until"}), None)
    if at is None:
        return frozenset(), frozenset()
    before, behind = words[:at], words[at + 1 :]
    if not content(before):  # "before you commit, run the tests"
        comma = behind.index(",") if "," in behind else len(behind)
        before, behind = behind[comma:], behind[:comma]
    first, second = content(before), content(behind)
    turned = (words[at] == "after") != any(among(word, NEGATORS) for word in before)
    return (second, first) if turned else (first, second)
