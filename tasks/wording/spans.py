"""From a span that the person typed to a rule: framed, never rephrased.

Invariant: every content word of a rule stands in the span. Only courtesies and preambles at its
ends are taken off, marks are set between an order and its reason, and an opening that is sure to
leave a bare verb becomes an imperative; a plain statement stands as it is, and whatever is not sure
is quoted. A span whose meaning lies outside it, or that lost a part of it, makes no rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Final

from tasks.cues import table
from tasks.domain.markers import GAP

_ROOM: Final = 160
_CONTENT_WORDS: Final = 2
_SENTENCE_END: Final = re.compile(r"(?<=[.?!])\s+(?=\S)")
_DONT: Final = re.compile(r"\b([Dd])ont\b")
_WORD: Final = re.compile(r"[\w'’./`-]+")


class Form(IntEnum):
    """How a rule is put, the clearest first."""

    ORDER = 0
    STATEMENT = 1
    QUOTED = 2


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule made of a span, and how it is put."""

    text: str
    form: Form


def rule_of(span: str, about: str = "") -> Rule | None:
    """Return a rule from a span of the person's words, None when it would not stand by itself.

    Args:
        span: words as typed, one line.
        about: a tool or command name of the same turn, put before a span that hangs on it.
    """
    bare = trimmed(span)
    if _matches("hanging", bare):
        bare = _without_aside(bare)
    if not _has_content(bare) or len(bare) > _ROOM:
        return None
    if GAP in bare or _matches("lost", bare):
        return None
    if _matches("tied", bare) or _matches("vague", bare):
        return None
    rule = _put(bare, span)
    if rule is None or not _matches("hanging", bare):
        return rule
    return Rule(f"About `{about}`: {rule.text}", rule.form) if about else None


def open_question(words: str) -> bool:
    """Tell whether the words begin by asking for an answer, not for a change."""
    first = sentences(words)[0]
    asks_for_change = _matches("rhetorical", first) or any(
        _compiled(opening["pattern"]).search(first)
        for opening in table(__package__, "frames")["opening"]
    )
    return first.endswith("?") and not asks_for_change


def one_sentence(words: str) -> bool:
    """Tell whether the words are a single sentence, courtesies at their ends left out."""
    return len(sentences(words)) == 1


def orders(words: str) -> bool:
    """Tell whether words open with the verb of an order."""
    return _matches("imperative", words)


def tied(words: str) -> bool:
    """Tell whether words are bound to one ticket, version or moment."""
    return _matches("tied", words)


def stopped_first(rule: Rule, tool: str, command: str) -> Rule:
    """Return a rule that says "first" with what it comes before: the call that was stopped."""
    before = table(__package__, "frames")["first"]["tools"].get(tool, "")
    if not before or ("{command}" in before and not command) or not _matches("first", rule.text):
        return rule
    order = rule.text[:1].lower() + rule.text[1:]
    return Rule(f"{before.format(command=command)}: {order}", rule.form)


def trimmed(span: str) -> str:
    """Return a span without the courtesies and preambles at its ends."""
    front, before = span.strip(), ""
    while front != before:
        before = front
        front = _pattern("preamble").sub("", _pattern("lead_in").sub("", front, count=1), count=1)
    return _pattern("lead_out").sub("", front).strip()


def content_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that mean something by themselves, lower-cased, in order."""
    empty = _empty()
    words = (word.strip(".-/`'’").lower() for word in _WORD.findall(text))
    return tuple(word for word in words if word and word.replace("’", "'") not in empty)


def sentences(words: str) -> list[str]:
    """Return the sentences of words, without the courtesies at their ends."""
    return _SENTENCE_END.split(trimmed(words))


def _without_aside(bare: str) -> str:
    """Return a span up to its aside; an aside that says why just now makes all of it fleeting."""
    aside = _pattern("aside").search(bare)
    if aside is None or _matches("fleeting", aside.group()):
        return bare
    return trimmed(bare[: aside.start()])


def _put(bare: str, span: str) -> Rule | None:
    if order := _imperative(bare):
        return Rule(order, Form.ORDER)
    if stated := _stated(bare, span):
        return Rule(stated, Form.STATEMENT)
    quoted = _quoted(bare, span)
    form = Form.STATEMENT if _matches("taste", bare) else Form.QUOTED
    return Rule(quoted, form) if quoted else None


def _imperative(bare: str) -> str:
    """Return the span as an order, "" when its grammar is not certain."""
    asked = bare.endswith("?")
    plain = bare.rstrip("?. ")
    for opening in table(__package__, "frames")["opening"]:
        rest, found = _compiled(opening["pattern"]).subn("", plain, count=1)
        if found:
            rest = _marked(trimmed(rest))
            if opening["becomes"]:
                return f"{opening['becomes']}{rest}."
            return f"{_capital(rest)}." if _matches("imperative", rest) else ""
    order = _pattern("condition").sub("", plain, count=1)
    if asked or not _matches("imperative", order) or _matches("noun_first", order):
        return ""
    condition = plain.removesuffix(order)
    marked = _marked(trimmed(order) if condition else order)
    return f"{_capital(condition)}{_spelt(marked)}." if condition else f"{_capital(marked)}."


def _stated(bare: str, span: str) -> str:
    """Return the span as the plain statement that it is, "" when that is not certain."""
    if span.rstrip().endswith("?") or _matches("first_person", bare):
        return ""
    return f"{_capital(bare)}." if _matches("statement", bare) else ""


def _quoted(bare: str, span: str) -> str:
    """Return the span as what the person said or asked, "" when it says nothing of anything."""
    asked = span.rstrip().endswith("?")
    if not _matches("rhetorical" if asked else "verb", bare):
        return ""
    verb = "asked" if asked else "said"
    mark = "?" if asked else ""
    return f'The person {verb}: "{bare.rstrip("?").replace(chr(34), chr(39))}{mark}"'


def _marked(order: str) -> str:
    """Return an order with a mark between it and a further order or its reason."""
    for mark in table(__package__, "frames")["mark"]:
        order = _compiled(mark["pattern"]).sub(mark["becomes"], order, count=1)
    return order


def _capital(text: str) -> str:
    return _spelt(text[:1].upper() + text[1:])


def _spelt(text: str) -> str:
    """Return a text with the apostrophe that "dont" lacks."""
    return _DONT.sub(r"\1on't", text)


def _has_content(text: str) -> bool:
    return len(set(content_words(text))) >= _CONTENT_WORDS


def _matches(section: str, text: str) -> bool:
    return bool(_pattern(section).search(text))


def _pattern(section: str) -> re.Pattern[str]:
    return _compiled(table(__package__, "frames")[section]["pattern"])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)


@cache
def _empty() -> frozenset[str]:
    return frozenset(table(__package__, "frames")["empty"]["words"])
