"""English rules read as clauses: each with a sign, what it is about, and where or when it holds.

Crude on purpose and deterministic: `polarity` asks it whether two rules clash, nothing else does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from tasks.domain.polarity_words import (
    CONDITIONS,
    FRESH_STARTS,
    GATES,
    NEGATORS,
    NUMBERS,
    PREFERENCES,
    PREPOSITIONS,
    STOPS,
    VERDICTS,
)

_HELPERS: Final = r"(?:do|does|did|is|are|was|were|has|have|should|must|would|could|can|need)"
_CONTRACTIONS: Final = (
    (re.compile(r"[’ʼ`´]"), "'"),
    (re.compile(r"\b(?:why|how about)\s+(?:not\b|" + _HELPERS + r"n'?t\b)"), "please"),
    (re.compile(r"\b" + _HELPERS + r"n'?t\s+(?:i|we|you|it)\b"), "please"),
    (re.compile(r"\bwhy\s+(?:did|do|are|were|would|have)\s+(?:you|we)\b"), "not"),
    (re.compile(r"\bcannot\b|\bcan'?t\b"), "can not"),
    (re.compile(r"\bwon'?t\b"), "will not"),
    (re.compile(r"\b" + _HELPERS + r"n'?t\b"), "do not"),
    (re.compile(r"\bnot only\b|\bno matter\b|\bno problem\b"), " "),
    (re.compile(r"\b(?:turn|switch)(?:ed|ing)? on\b"), "enable"),
    (re.compile(r"\b(?:turn|switch)(?:ed|ing)? off\b"), "disable"),
    (re.compile(r"\b(?:rather than|instead of|as opposed to|in place of)\b"), " , not "),
)  # fmt: skip
_TOKEN: Final = re.compile(r"[^\W_][\w.+#'/-]*|[,.;:!?\n—–()]")
_BREAKS: Final = frozenset(",.;:!?\n—–()") | {"but"}
_CARRY: Final = frozenset({"or", "nor"})
_ATTACHED: Final = re.compile(r"([a-z]+)-?(\d[\d.]*)$|v?(\d[\d.]*)(?:-([a-z]+))?$")
NUMBER: Final = re.compile(r"\d[\d.]*$")


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that a rule says.

    Attributes:
        sign: 1 do, -1 don't, 0 neither (it depends on a condition).
        about: what it is about.
        where: where and with what it holds; `when`: under which condition.
        reach: `about` and `where` together.
        circumstances: `where` and `when` together.
    """

    sign: int
    about: frozenset[str]
    where: frozenset[str]
    when: frozenset[str]
    reach: frozenset[str] = field(init=False)
    circumstances: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Join the sets once, not for each clause they are compared with."""
        object.__setattr__(self, "reach", self.about | self.where)
        object.__setattr__(self, "circumstances", self.where | self.when)


@lru_cache(maxsize=1 << 14)
def stem(word: str) -> str:
    """Return a crude common form of an English word: tests, testing and tested become test."""
    for ending, least in (("ing", 6), ("ed", 5), ("es", 6), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)]
            break
    doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sleo"
    word = word[:-1] if doubled else word
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def words_of(text: str) -> list[str]:
    """Return the words in order, numbers apart from what they are attached to, breaks kept."""
    text = text.casefold()
    for pattern, plain in _CONTRACTIONS:
        text = pattern.sub(plain, text)
    return [word for token in _TOKEN.findall(text) for word in _split(token)]


def _split(token: str) -> Iterator[str]:
    stripped = token if token in _BREAKS else token.rstrip(".'-/")
    yield from _parted(stripped)
    if token.endswith(".") and stripped != token:
        yield "."


def _parted(token: str) -> Iterator[str]:
    token = token.removesuffix("'s")
    if m := _ATTACHED.match(token):
        yield from (part.rstrip(".") for part in m.groups() if part)
        return
    parts = re.sub(r"[_-](?=case)", "", token).split("-")
    flag = parts[0] in NEGATORS  # `no-verify` forbids nothing
    yield from [token] if flag else (NUMBERS.get(part, part) for part in parts)


def clauses_of(words: list[str]) -> list[Clause]:
    """Return what a text says, clause by clause; a clause about nothing is left out."""
    read: list[Clause] = []
    sign = 1
    for segment in _segments(words):
        sign = sign if segment[0] in _CARRY else 1
        for sign, part in _signed(segment, sign):  # noqa: B020  the last sign carries over an "or"
            clause = _with_subject(_clause(sign, part), read)
            if clause is not None:
                read.append(clause)
    return read


def _with_subject(clause: Clause, read: list[Clause]) -> Clause | None:
    """Return the clause with what it is about: "… but not in Python", "with mocks, please"."""
    if clause.about:
        return clause
    if clause.sign < 0 and clause.where and read:
        return replace(clause, about=read[-1].about)
    return replace(clause, about=clause.where, where=frozenset()) if clause.where else None


def _segments(words: list[str]) -> Iterator[list[str]]:
    """Yield the stretches between breaks; an "and" that begins another rule is one."""
    segment: list[str] = []
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in _BREAKS or (word == "and" and following in FRESH_STARTS | NEGATORS):
            if segment:
                yield segment
            segment = []
        else:
            segment.append(word)
    if segment:
        yield segment


def _signed(segment: list[str], sign: int) -> Iterator[tuple[int, list[str]]]:
    """Yield each clause of a segment with its sign.

    A negation turns what follows it, or what stood before when nothing follows ("pip is not
    allowed"). Behind a negation, "without" or "until" names the condition that lifts it: what
    stood before is then neither wanted nor unwanted, and the condition is wanted.
    """
    part: list[str] = []
    for at, word in enumerate(segment):
        over = word == "over" and any(among(w, PREFERENCES) for w in segment[:at])
        if not (over or among(word, NEGATORS) or (word in GATES and sign < 0)):
            part.append(word)
        elif word in GATES and sign < 0 and content(part):
            yield 0, part
            sign, part = 1, []
        elif not content(part) or not content(segment[at + 1 :]) - VERDICTS:
            sign = -sign
        else:
            yield sign, part
            sign, part = -1, []
    yield sign, part


def _clause(sign: int, part: list[str]) -> Clause:
    about: list[str] = []
    where: list[str] = []
    when: list[str] = []
    into = about
    for at, word in enumerate(part):
        if word in CONDITIONS:
            into = when
        elif word in PREPOSITIONS and (content(about) or (at == 0 and word != "to")):
            into = where
        else:
            into.append(word)
    return Clause(sign, content(about), content(where), content(when))


def content(words: list[str]) -> frozenset[str]:
    """Return the stems of the words that say what a text is about; numbers are looked at apart."""
    return frozenset(
        stem(word)
        for word in words
        if not (among(word, STOPS | PREPOSITIONS) or among(word, NEGATORS))
        and word not in _BREAKS
        and not NUMBER.match(word)
    )


def among(word: str, words: frozenset[str]) -> bool:
    """Tell whether a word, or its stem, is one of `words`."""
    return word in words or stem(word) in words
