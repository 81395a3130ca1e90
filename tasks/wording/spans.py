"""From a span that the person typed to a rule: framed, never rephrased.

Invariant: every content word of a rule stands in the span. Only courtesies at its ends are taken
off, and an opening that is sure to leave a bare verb becomes an imperative; whatever is not sure is
quoted. A span whose meaning lies outside it makes no rule.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tasks.cues import table

_ROOM: Final = 160
_CONTENT_WORDS: Final = 2
_DONT: Final = re.compile(r"^Dont\b")
_WORD: Final = re.compile(r"[\w'’./`-]+")


def rule_of(span: str, about: str = "") -> str:
    """Return a rule from a span of the person's words, "" when it would not stand by itself.

    Args:
        span: words as typed, one line.
        about: a tool or command name of the same turn, put before a span that hangs on it.
    """
    bare = trimmed(span)
    if _matches("hanging", bare):
        bare = trimmed(_pattern("aside").sub("", bare))
    if not _has_content(bare) or len(bare) > _ROOM:
        return ""
    if _matches("tied", bare) or _matches("vague", bare):
        return ""
    rule = _imperative(bare) or _quoted(bare, span)
    if not rule:
        return ""
    if not _matches("hanging", bare):
        return rule
    return f"About `{about}`: {rule}" if about else ""


def trimmed(span: str) -> str:
    """Return a span without the courtesies at its ends."""
    front = _pattern("lead_in").sub("", span.strip(), count=1)
    return _pattern("lead_out").sub("", front).strip()


def content_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that mean something by themselves, lower-cased, in order."""
    empty = _empty()
    words = (word.strip(".-/`'’").lower() for word in _WORD.findall(text))
    return tuple(word for word in words if word and word.replace("’", "'") not in empty)


def _imperative(bare: str) -> str:
    """Return the span as an order, "" when its grammar is not certain."""
    asked = bare.endswith("?")
    plain = bare.rstrip("?. ")
    for opening in table(__package__, "frames")["opening"]:
        rest, found = _compiled(opening["pattern"]).subn("", plain, count=1)
        if found:
            rest = trimmed(rest)
            if opening["becomes"]:
                return f"{opening['becomes']}{rest}."
            return f"{_capital(rest)}." if _matches("imperative", rest) else ""
    order = _pattern("condition").sub("", plain, count=1)
    if asked or not _matches("imperative", order):
        return ""
    condition = plain.removesuffix(order)
    return f"{_capital(condition)}{order}." if condition else f"{_capital(order)}."


def _quoted(bare: str, span: str) -> str:
    """Return the span as what the person said or asked, "" when it says nothing of anything."""
    asked = span.rstrip().endswith("?")
    if not _matches("rhetorical" if asked else "verb", bare):
        return ""
    verb = "asked" if asked else "said"
    return f'The person {verb}: "{bare.replace(chr(34), chr(39))}"'


def _capital(text: str) -> str:
    """Return a text with a capital first letter and the apostrophe that "dont" lacks."""
    return _DONT.sub("Don't", text[:1].upper() + text[1:])


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
