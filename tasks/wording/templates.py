"""A rule that a model put together: a frame of ours, with spans of one message of the person's.

Invariants: every content word is the frame's or the person's, verbatim; what a touched part of the
message negates, limits or binds to a condition stays so, and none of its other words is dropped;
the result reads as an order or a plain statement by the same rules as any other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

from tasks.cues import table
from tasks.domain.clauses import content, stem, words_of
from tasks.domain.markers import GAP
from tasks.domain.polarity import opposed
from tasks.domain.polarity_words import CONDITIONS, GATES, NEGATORS
from tasks.wording.spans import Form, Rule, content_words, orders, rule_of, sentences, tied, trimmed

_SLOT: Final = re.compile(r"\{(\w+)\}")
_EDGES: Final = " \t.,;:!?\"'“”‘’`()"
_LONGEST: Final = 200
_WHENEVER: Final = {"whenever": "when", "if": "when", "till": "until", "once": "when"}
_HERE: Final = "here_stands_a_span"
"""Keeps a negation that ends a text from being taken off as a courtesy."""
_LIMITS: Final = CONDITIONS | GATES | {"only", "except"}


@dataclass(frozen=True, slots=True)
class Unfit:
    """An answer that makes no rule, and why; no word of the memory stands in the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Span:
    """Where a slot's words stand in the message."""

    slot: str
    start: int
    end: int


def frames() -> Mapping[str, Mapping[str, Any]]:
    """Return the frames by name."""
    found: Mapping[str, Mapping[str, Any]] = table(__package__, "templates")["frames"]
    return found


def filled(name: object, spans: object, said: str) -> Rule | Unfit:
    """Return the rule that a frame makes with spans of a message.

    Args:
        name: of the frame, as a model gave it.
        spans: slot -> words, as a model gave them.
        said: the person's words, on one line.
    """
    frame = frames().get(name) if isinstance(name, str) else None
    if frame is None:
        return Unfit("no frame of ours")
    slots = _SLOT.findall(frame["text"])
    if not isinstance(spans, dict) or set(spans) != set(slots):
        return Unfit("other slots than the frame has")
    places = [_place(slot, spans[slot], said) for slot in slots]
    found = [place for place in places if place is not None]
    if len(found) < len(slots) or _overlap(found):
        return Unfit("words that the person did not type so")
    return _checked(frame, found, said)


def found_in(words: object, said: str) -> str | None:
    """Return words as they stand in a text, None when they stand nowhere in it, or twice."""
    place = _place("", words, said)
    return said[place.start : place.end] if place else None


def _checked(frame: Mapping[str, Any], found: Sequence[_Span], said: str) -> Rule | Unfit:
    text = frame["text"].format(**{one.slot: _inside(said[one.start : one.end]) for one in found})
    for reason in _faults(frame.get("against", ()), found, said, text):
        return Unfit(reason)
    return _plain(text, frame["text"], said)


def _faults(against: Sequence[str], found: Sequence[_Span], said: str, text: str) -> Iterator[str]:
    """Yield why a text does not say what was said."""
    context = " ".join(_touched(found, said))
    if not _within(found, said):
        yield "a span over the end of a sentence"
    if GAP in context or tied(context) or _once().search(context):
        yield "words bound to the moment"
    if any(_is_negated(one, said) is not (one.slot in against) for one in found):
        yield "a span that means the reverse there"
    if _limits(context) != _limits(text) or _negations(context) != _negations(text):
        yield "a negation or a condition was lost or added"
    if _dropped(found, said, text):
        yield "a part of a clause was dropped"
    if opposed(text, context):
        yield "it contradicts what was said"


def _plain(text: str, frame: str, said: str) -> Rule | Unfit:
    rule = rule_of(text)
    if rule is None or rule.form is Form.QUOTED:
        return Unfit("it does not stand by itself")
    ours = {*content_words(_SLOT.sub(" ", frame)), *content_words(said)}
    if not ours.issuperset(content_words(rule.text)):
        return Unfit("a word that is not the person's")
    return rule


def _inside(words: str) -> str:
    """Return words as they stand within a sentence: an order that began one begins it no more."""
    return words[:1].lower() + words[1:] if orders(words) else words


def _place(slot: str, span: object, said: str) -> _Span | None:
    """Return where a span stands, None when it stands nowhere, or in two places."""
    if not isinstance(span, str) or not 0 < len(bare := span.strip(_EDGES)) <= _LONGEST:
        return None
    pattern = r"\s+".join(re.escape(word) for word in bare.split())
    found = list(re.finditer(rf"(?<!\w){pattern}(?!\w)", said, re.IGNORECASE))
    return _Span(slot, found[0].start(), found[0].end()) if len(found) == 1 else None


def _overlap(found: Sequence[_Span]) -> bool:
    ordered = sorted(found, key=lambda one: one.start)
    return any(b.start < a.end for a, b in pairwise(ordered))


def _parts(said: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence stands."""
    at = 0
    for sentence in sentences(said):
        start = said.index(sentence, at)
        at = start + len(sentence)
        yield start, at


def _touched(found: Sequence[_Span], said: str) -> Iterator[str]:
    """Yield the sentences that hold a span, without the courtesies at their ends."""
    for start, end in _parts(said):
        if any(start <= one.start < end for one in found):
            yield trimmed(said[start:end])


def _within(found: Sequence[_Span], said: str) -> bool:
    """Tell whether each span is of one sentence."""
    parts = list(_parts(said))
    return all(any(s <= one.start and one.end <= e for s, e in parts) for one in found)


def _is_negated(span: _Span, said: str) -> bool:
    """Tell whether the words before a span, in its own clause, turn it."""
    start = max(s for s, _ in _parts(said) if s <= span.start)
    clause = next(c for c in _clauses(said, start, len(said)) if span.start < c[1])
    before = words_of(trimmed(f"{said[clause[0] : span.start]} {_HERE}"))
    return sum(word in NEGATORS for word in before) % 2 == 1


def _negations(text: str) -> int:
    return sum(word in NEGATORS for word in words_of(text))


def _limits(text: str) -> Counter[str]:
    return Counter(_WHENEVER.get(word, word) for word in words_of(text) if word in _LIMITS)


def _dropped(found: Sequence[_Span], said: str, text: str) -> bool:
    """Tell whether a clause that a span is of says more than the rule does."""
    kept = content(words_of(text)) | _around()
    for start, end in _parts(said):
        spans = [one for one in found if start <= one.start < end]
        for first, last in _clauses(said, start, end) if spans else ():
            touched = any(one.start < last and first < one.end for one in spans)
            if touched and content(words_of(said[first:last])) - kept:
                return True
    return False


def _clauses(said: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the clauses of a sentence stand: what is between two marks."""
    at = start
    for mark in re.finditer(r"[,;:()—–](?=\s|$)|\s-\s|\bbut\b", said[start:end]):
        yield at, start + mark.start()
        at = start + mark.end()
    yield at, end


@cache
def _around() -> frozenset[str]:
    return frozenset(map(stem, table(__package__, "templates")["around"]["words"]))


@cache
def _once() -> re.Pattern[str]:
    return re.compile(table(__package__, "templates")["once"]["pattern"])
