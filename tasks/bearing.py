"""Whether a lesson bears on a moment, by words alone: pure, and it loads nothing but words.

A short lesson and a long prompt are no two like texts: what counts is how much of the lesson the
moment touches, what it names, and whether both are of one kind of work (`tasks/bearing_words.py`).

    relevance = 1 / (1 + e^-odds),  odds = base
        + asked  * weight of the moment's terms that are the lesson's or of its kinds / of all
        + both   * root of asked and of the weight of the lesson's terms that the moment holds, or
                   holds another of their kind of, / weight of all its terms
        + work   * kinds of work that both are of, at most 2, / 2
        + names  * terms of the lesson that it holds and are neither common nor worn, at most 3
        + spoken,   when there is one of those
        + order,    when the moment is an order to do something
        + unwanted, when it names what the lesson speaks against and does not deny it
        + met,      when it names one of the means that the lesson wants
        + rival,    when it names none of them and another of their kind
        + length * log(1 + weight of the moment's terms): a long one holds much by chance
        + meaning * likeness of meaning (`Gauge.likeness`), where a model tells it

with `asked` and `both` only where more than one word of kind alone is touched, and `base` alone
where none is. `asked` reckons a moment as at most ten words, and two more that are nobody's: of a
long prompt a part is enough, and one of a single word tells little. A word or a kind counts the
less the more of what was ever asked in the scope holds it (`tasks.profiles.worn_by`): where all is
about posts, "post" tells nothing. Kinds of work are of what is to be done, and tell nothing of what
only asks and names no term of the lesson: "do we use pnpm?" is no work on packages. The numbers are
chosen on one half of the labelled cases in `tests/cases/prime` and on moments of real transcripts;
`tests/benchmarks/prime.py` tells what they come to on the other cases.
A lesson of failed calls bears on a call by what it names: `tasks/calls.py`. A lesson's side
is made by `tasks/profiles.py` when it is published. A hook that answers by itself has no time to
load more.
"""

from __future__ import annotations

import math

from tasks.bearing_words import ASKING, COMMON, DOING, QUIET, WORK
from tasks.embedding.words import FUNCTION_WORDS, stem, terms

TYPE_CHECKING = False
if TYPE_CHECKING:  # by a name of ours, since `typing` takes long to load
    from collections.abc import Iterable, Mapping
    from typing import Any

    Profile = Mapping[str, Any]
    """A lesson's side, as `tasks.profiles.profile` makes it."""
    Weighing = Mapping[str, float]
    """How much each sign adds to the log-odds; one that is missing adds nothing."""

CUT = 0.5
"""Relevance from which a lesson is shown unasked, at every moment and in every space."""
LOOKED_AT = 100
"""Lessons of a scope that are weighed at a moment: of more that it touches, those of which it holds
the heaviest terms."""
BY_WORDS = {"base": -3.5, "asked": 11.0, "both": 6.5, "names": -0.7, "work": 2.0, "order": 1.45}
"""At a prompt."""
BY_MEANING = {
    "base": -4.0,
    "asked": 9.5,
    "both": 5.5,
    "names": -0.6,
    "work": 1.6,
    "order": 1.45,
    "meaning": 11.0,
}
"""At a prompt, where a model tells how alike both are in meaning."""
AT_END = {
    "base": -2.4,
    "spoken": 2.7,
    "work": 3.0,
    "unwanted": 2.4,
    "met": -1.0,
    "rival": 2.3,
    "length": -1.35,
}
"""At the end of a turn."""

_HEAD, _TAIL = 400, 200
_KIN = 0.5
_TOUCHED = 0.5
_NAMES = 3
_LONG, _IMAGINED = 10.0, 2.0
_TRACES = ("at ", 'File "', "thread '", "Thread ", "note:", "Traceback", "Backtrace", "Error in")
_MARKS = frozenset("[>$✖!│|^~")
_LEADS = (
    *("and ", "so ", "but ", "then ", "now ", "ok "),
    *("please ", "can you ", "could you ", "let's "),
)
_DENYING = frozenset("never not no don't don’t nobody avoid without kein keine keinen nie".split())  # noqa: SIM905
_ENDS_DENIAL = frozenset(
    "in on for to before under from by of than outside unless until has have as is and with".split()  # noqa: SIM905
)


class Sought:
    """What a moment is about.

    Attributes:
        weights: its terms, each with how much it says.
        kinds: the kinds of work that they belong to.
        orders: it is an order: a part of it opens with a verb of doing.
        asks: share of its sentences that ask something and order nothing.
        denied: terms that it says are not so.
    """

    __slots__ = ("asks", "denied", "kinds", "orders", "weights", "whole")

    def __init__(self, text: str) -> None:
        found = (term for term in terms(text) if term not in FUNCTION_WORDS)
        self.weights = {term: QUIET if term in COMMON else 1.0 for term in found}
        self.whole = sum(self.weights.values()) or 1.0
        self.kinds = frozenset(kind for term in self.weights for kind in WORK.get(term, ()))
        self.orders = _orders(text)
        self.asks = _asks(text)
        self.denied = frozenset(_denied(text))

    def terms(self) -> list[str]:
        """Return what lessons are looked up by: a lesson that has none of it does not bear."""
        return [*self.weights, *map(kind_term, self.kinds)]


def prompt_words(text: str) -> str:
    """Return what of a prompt is the person's order: not what is fenced, logged or traced.

    Of what is left the beginning and the end, at most 600 characters, are read.
    """
    bare = _unfenced(text)
    lines = bare.splitlines()
    if len(lines) > 1:
        bare = "\n".join([line for line in lines if not _is_pasted(line.lstrip())])
    return _ends_of(bare)


def ending_words(text: str) -> str:
    """Return what of an agent's reply tells what it did: its beginning and its end."""
    return _ends_of(_unfenced(text))


def terms_told(lesson: Profile) -> set[str]:
    """Return what a lesson is looked up by at a prompt and at the end of a turn."""
    kinds = {kind for told in lesson["kinds"].values() for kind in told}
    return {*lesson["weights"], *map(kind_term, kinds)}


def relevance(lesson: Profile, moment: Sought, weighing: Weighing, alike: float = 0.0) -> float:
    """Return how likely a lesson bears on a moment, in [0, 1].

    Args:
        lesson: its profile.
        moment: what it is about.
        weighing: of such a moment.
        alike: how alike both are in meaning, where a model tells it.
    """
    return relevances(lesson, moment, weighing, (alike,))[0]


def relevances(
    lesson: Profile, moment: Sought, weighing: Weighing, alike: Iterable[float]
) -> list[float]:
    """Return the same as `relevance` for each of several likenesses in meaning."""
    odds = weighing["base"]
    for sign, strength in _signs(lesson, moment).items():
        odds += weighing.get(sign, 0.0) * strength
    meaning = weighing.get("meaning", 0.0)
    return [1 / (1 + math.exp(-odds - meaning * one)) for one in alike]


def kind_term(kind: str) -> str:
    """Return what a kind of work is looked up by."""
    return f"work:{kind}"


def _signs(lesson: Profile, moment: Sought) -> dict[str, float]:
    """Return how strong each sign is that a lesson bears on a moment; none where none is."""
    weights, own, worn = lesson["weights"], lesson["kinds"], lesson["worn"]
    held = {term: weight for term, weight in weights.items() if term in moment.weights}
    kin = 0.0
    for term, kinds in own.items():
        if term not in held and (both := moment.kinds.intersection(kinds)):
            kin += weights[term] * max(worn.get(kind_term(kind), 1.0) for kind in both)
    hits = sum(held.values())
    if not hits and not kin:
        return {}
    whole = sum(weights.values())
    kinds = {kind for told in own.values() for kind in told}
    left = {term: weight * worn.get(term, 1.0) for term, weight in held.items()}
    names = sum(weight > _TOUCHED for weight in left.values())
    doing = 1 - moment.asks
    asked = 0.0
    if hits + _KIN * kin > _TOUCHED:
        asked = _asked(moment, lesson, kinds, 1.0 if names else doing)
    work = sum(worn.get(kind_term(kind), 1.0) for kind in kinds & moment.kinds)
    against = any(term in held and term not in moment.denied for term in lesson["unwanted"])
    missed = [] if any(term in held for term in lesson["means"]) else lesson["means"]
    return {
        "asked": asked,
        "both": math.sqrt(asked * (sum(left.values()) + doing * kin) / whole),
        "work": doing * min(work, 2.0) / 2,
        "names": min(names, _NAMES),
        "spoken": float(names > 0),
        "order": float(moment.orders),
        "unwanted": float(against),
        "met": float(bool(lesson["means"]) and not missed),
        "rival": float(any(_rivals(moment, weights, own.get(term, ())) for term in missed)),
        "length": math.log1p(moment.whole),
    }


def _asked(moment: Sought, lesson: Profile, kinds: set[str], doing: float) -> float:
    """Return how much of a moment is of a lesson, in words or in kind, in [0, 1).

    Args:
        moment: what it is about.
        lesson: its profile.
        kinds: the kinds of work that the lesson is of.
        doing: how much they tell of the moment.
    """
    weights, worn = lesson["weights"], lesson["worn"]
    of_both = 0.0
    for term, weight in moment.weights.items():
        if term in weights:
            of_both += weight * worn.get(term, 1.0)
        elif both := kinds.intersection(WORK.get(term, ())):
            of_both += doing * weight * max(worn.get(kind_term(kind), 1.0) for kind in both)
    whole = min(moment.whole, _LONG)
    return min(of_both, whole) / (whole + _IMAGINED)


def _rivals(moment: Sought, weights: Mapping[str, float], kinds: Iterable[str]) -> bool:
    """Tell whether a moment names what is of the kinds of a means, and not of the lesson."""
    return any(
        term not in weights and not set(kinds).isdisjoint(WORK.get(term, ()))
        for term in moment.weights
    )


def _unfenced(text: str) -> str:
    return "\n".join(text.split("```")[::2]) if "```" in text else text


def _ends_of(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def _is_pasted(line: str) -> bool:
    """Tell whether a line is of a log, a trace or a quotation, by how it begins."""
    first, _, rest = line.partition(" ")
    return (
        line[:1] in _MARKS
        or line.startswith(_TRACES)
        or first.rstrip(":").endswith(("Error", "Exception"))
        or (line[:1].isdigit() and (not rest or first.strip("0123456789") in ("", ":", ".", "|")))
        or (line[:4].isdigit() and line[4:5] == "-")
        or (line[:1] == "#" and line[1:2].isdigit())
    )


def _orders(text: str) -> bool:
    """Tell whether a part of a text opens with a verb of doing, or with a lead up to one.

    What stands before a colon, as a ticket's name does, is a part of its own.
    """
    for mark in ".!?,:\n":
        text = text.replace(mark, "\n")
    return any(stem(_opening(part)) in DOING for part in text.split("\n"))


def _asks(text: str) -> float:
    """Return the share of a text's sentences that are questions; "can you add it?" orders."""
    for mark in ".!?":
        text = text.replace(f"{mark} ", f"{mark}\n")
    told = [part for line in text.split("\n") if (part := line.strip())]
    return sum(map(_is_question, told)) / (len(told) or 1)


def _is_question(sentence: str) -> bool:
    word = _opening(sentence)
    return stem(word) not in DOING and (word in ASKING or sentence.endswith("?"))


def _opening(part: str) -> str:
    part = part.strip().lower()
    for lead in _LEADS:
        part = part.removeprefix(lead)
    return part.partition(" ")[0]


def _denied(text: str) -> list[str]:
    """Return the terms that stand behind a denial, up to where its clause ends."""
    found: list[str] = []
    denying = False
    for mark in ",.:;()\n":
        text = text.replace(mark, f" {mark} ")
    for word in text.lower().split():
        if word in _DENYING:
            denying = True
        elif word in ",.:;()" or word in _ENDS_DENIAL:
            denying = False
        elif denying:
            found.extend(terms(word))
    return found
