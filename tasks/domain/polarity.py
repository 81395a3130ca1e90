"""Whether two rules contradict each other, though their vectors are nearly the same.

Joining them would teach the reverse of what was said, so a doubt counts as opposed: rules that are
kept apart cost one confirmation. English only; made for rules and corrections, not for logs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from tasks.domain.clauses import NUMBER, Clause, among, clauses_of, content, stem, words_of
from tasks.domain.polarity_words import ALTERNATIVES, NEGATORS

_GROUPS: Final = tuple(frozenset(map(stem, group)) for group in ALTERNATIVES)
_NEAR: Final = 0.5
"""The share of the shorter rule's words that two rules about one thing have in common."""


def opposed(a: str, b: str) -> bool:
    """Tell whether two rules contradict each other, or give one thing two different values."""
    (one, mine), (two, theirs) = _read(a), _read(b)
    return (
        _signs_clash(mine, theirs)
        or _signs_clash(theirs, mine)
        or _values_clash(mine, theirs)
        or _numbers_clash(one, two)
        or _order_clashes(one, two)
    )


@lru_cache(maxsize=1 << 14)
def _read(text: str) -> tuple[list[str], list[Clause]]:
    """Return a rule's words and clauses; remembered, since a night compares each rule with many."""
    words = words_of(text)
    return words, clauses_of(words)


def _signs_clash(mine: list[Clause], theirs: list[Clause]) -> bool:
    """Tell whether one forbids what the other wants, unless it wants that itself elsewhere."""
    wanted = [clause for clause in mine if clause.sign > 0]
    return any(
        _meet(no, yes) and not any(_meet(no, own) for own in wanted)
        for no in mine
        if no.sign < 0
        for yes in theirs
        if yes.sign > 0
    )


def _meet(no: Clause, yes: Clause) -> bool:
    """Tell whether a prohibition and a command are about one thing, at one place and time."""
    shared = no.about & (yes.about | yes.where)
    if not shared or not _compatible(no.circumstances, yes.circumstances - shared):
        return False
    each_has_more = bool(no.about - shared) and bool(yes.about - shared)
    return not each_has_more or len(shared) > _NEAR * len(no.about)


def _compatible(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two circumstances can hold at once; one that is not named always can."""
    if not one or not other:
        return True
    return bool(one & other) and not any(_differ(one, other, group) for group in _GROUPS)


def _differ(one: frozenset[str], other: frozenset[str], group: frozenset[str]) -> bool:
    return bool(one & group) and bool(other & group) and not one & other & group


def _values_clash(mine: list[Clause], theirs: list[Clause]) -> bool:
    """Tell whether they want values that exclude each other, unless one wants both itself."""
    return any(
        _exclude(one, other)
        and not any(_exclude(one, own) for own in mine)
        and not any(_exclude(other, own) for own in theirs)
        for one in mine
        for other in theirs
    )


def _exclude(one: Clause, other: Clause) -> bool:
    """Tell whether two clauses want, of one thing, values that exclude each other."""
    return one.sign == other.sign and any(
        _differ(one.about | one.where, other.about | other.where, group)
        and (one.sign > 0 or len(group) == 2)
        and _alike(one.about - group, other.about - group)
        and _compatible(one.circumstances - group, other.circumstances - group)
        for group in _GROUPS
    )


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two sets of words name one thing: half of the smaller in common."""
    return len(one & other) >= _NEAR * min(len(one), len(other))


def _numbers_clash(one: list[str], two: list[str]) -> bool:
    """Tell whether one noun has different numbers or versions in two texts about one thing."""
    mine, theirs = _numbered(one), _numbered(two)
    return _alike(content(one), content(two)) and any(
        not any(_same_number(n, m) for n in mine[noun] for m in theirs[noun])
        for noun in mine.keys() & theirs.keys()
    )


def _numbered(words: list[str]) -> dict[str, set[str]]:
    """Return the numbers next to each noun: "node 18", "node version 18", "2 spaces"."""
    found: dict[str, set[str]] = {}
    for at, word in enumerate(words):
        if NUMBER.match(word):
            before = [w for w in words[max(at - 4, 0) : at] if content([w]) - {"version", "v"}]
            for noun in content(before[-1:] + words[at + 1 : at + 2]):
                found.setdefault(noun, set()).add(word)
    return found


def _same_number(one: str, other: str) -> bool:
    """Tell whether two versions can be the same: 18 names 18.2 too."""
    return one == other or one.startswith(other + ".") or other.startswith(one + ".")


def _order_clashes(one: list[str], two: list[str]) -> bool:
    """Tell whether two texts put the same two things in reverse order."""
    mine, theirs = _order(one), _order(two)
    return bool(mine[0] & theirs[1]) and bool(mine[1] & theirs[0]) and mine != theirs


def _order(words: list[str]) -> tuple[frozenset[str], frozenset[str]]:
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
