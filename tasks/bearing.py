"""Whether a lesson bears on a moment, by words alone: pure, and it loads nothing but words.

A short lesson and a long prompt are no two like texts: what counts is how much of the lesson the
moment touches, what it names, and whether both are of one kind of work (`tasks/bearing_words.py`).

    relevance = 1 / (1 + e^-odds),  odds = base
        + named    * weight of the lesson's terms that the moment holds / weight of all its terms
        + kin      * weight of those of which it holds only another of their kind of work / the same
        + best     * weight of the heaviest held, at most 1.3
        + asked    * weight of the moment's terms that are the lesson's or of its kinds / of all
        + hits     * weight of the terms held, at most 4, / 4
        + work     * kinds of work that both are of, at most 2, / 2
        + question, when the moment is a question
        + unwanted, when it names what the lesson speaks against and does not deny it
        + obeyed,   when it names much of what the lesson wants, and not that
        + meaning  * likeness of meaning (`Gauge.likeness`), where a model tells it

with `asked` and `question` only where more than one word of kind alone is touched, and `base` alone
where none is. The numbers are fitted on one half of the labelled cases in `tests/cases/prime`;
`tests/benchmarks/prime.py` tells what they come to on the other. A lesson of failed calls bears on
a call by what it names: `tasks/calls.py`. A lesson's side is made by `tasks/profiles.py` when it is
published. A hook that answers by itself has no time to load more than this.
"""

from __future__ import annotations

import math

from tasks.bearing_words import COMMON, QUIET, WORK
from tasks.embedding.words import FUNCTION_WORDS, terms

TYPE_CHECKING = False
if TYPE_CHECKING:  # by a name of ours, since `typing` takes long to load
    from collections.abc import Mapping
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
BY_WORDS = {
    "base": -4.9,
    "named": 1.0,
    "kin": 2.2,
    "best": 1.1,
    "asked": 3.2,
    "hits": 0.4,
    "work": 4.0,
    "question": -1.3,
}
"""At a prompt."""
BY_MEANING = {
    "base": -4.7,
    "named": 0.9,
    "kin": 2.2,
    "best": 0.9,
    "asked": 3.0,
    "hits": 0.3,
    "work": 3.8,
    "question": -1.2,
    "meaning": 6.3,
}
"""At a prompt, where a model tells how alike both are in meaning."""
AT_END = {
    "base": -4.4,
    "named": 0.3,
    "kin": 0.4,
    "best": 2.4,
    "work": 1.8,
    "unwanted": 1.0,
    "obeyed": -0.6,
}
"""At the end of a turn; likeness of meaning made it no better."""

_HEAD, _TAIL = 400, 200
_LOUD = 1.3
_KIN = 0.5
_TOUCHED = 0.5
_OBEYED = 0.4
_TRACES = ("at ", 'File "', "thread '", "Thread ", "note:", "Traceback", "Backtrace", "Error in")
_MARKS = frozenset("[>$✖!│|^~")
_ASKING = frozenset(
    """what which who whose why how when where is are was were does do did would""".split()  # noqa: SIM905
)
_LEADS = ("and ", "so ", "but ")
_DENYING = frozenset("never not no don't don’t nobody avoid without kein keine keinen nie".split())  # noqa: SIM905
_ENDS_DENIAL = frozenset(
    "in on for to before under from by of than outside unless until has have as is and with".split()  # noqa: SIM905
)


class Sought:
    """What a moment is about.

    Attributes:
        weights: its terms, each with how much it says.
        kinds: the kinds of work that they belong to.
        asks: it is a question, not an order.
        denied: terms that it says are not so.
    """

    __slots__ = ("asks", "denied", "kinds", "weights", "whole")

    def __init__(self, text: str) -> None:
        found = (term for term in terms(text) if term not in FUNCTION_WORDS)
        self.weights = {term: QUIET if term in COMMON else 1.0 for term in found}
        self.whole = sum(self.weights.values()) or 1.0
        self.kinds = frozenset(kind for term in self.weights for kind in WORK.get(term, ()))
        self.asks = _asks(text)
        self.denied = frozenset(_denied(text))

    def terms(self) -> list[str]:
        """Return what lessons are looked up by: a lesson that has none of it does not bear."""
        return [*self.weights, *map(_kind_term, self.kinds)]


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
    return {*lesson["weights"], *map(_kind_term, kinds)}


def relevance(lesson: Profile, moment: Sought, weighing: Weighing, alike: float = 0.0) -> float:
    """Return how likely a lesson bears on a moment, in [0, 1].

    Args:
        lesson: its profile.
        moment: what it is about.
        weighing: of such a moment.
        alike: how alike both are in meaning, where a model tells it.
    """
    odds = weighing["base"] + weighing.get("meaning", 0.0) * alike
    for sign, strength in _signs(lesson, moment).items():
        odds += weighing.get(sign, 0.0) * strength
    return 1 / (1 + math.exp(-odds))


def _kind_term(kind: str) -> str:
    return f"work:{kind}"


def _signs(lesson: Profile, moment: Sought) -> dict[str, float]:
    """Return how strong each sign is that a lesson bears on a moment; none where none is."""
    weights, own = lesson["weights"], lesson["kinds"]
    held = {term: weight for term, weight in weights.items() if term in moment.weights}
    kin = 0.0
    for term, kinds in own.items():
        if term not in held and not moment.kinds.isdisjoint(kinds):
            kin += weights[term]
    hits = sum(held.values())
    if not hits and not kin:
        return {}
    whole = sum(weights.values())
    kinds = {kind for told in own.values() for kind in told}
    touched = hits + _KIN * kin > _TOUCHED
    against = any(term in held and term not in moment.denied for term in lesson["unwanted"])
    return {
        "named": hits / whole,
        "kin": kin / whole,
        "best": min(max(held.values(), default=0.0), _LOUD),
        "asked": touched * _asked(moment, weights, kinds),
        "hits": min(hits, 4.0) / 4,
        "work": min(len(kinds & moment.kinds), 2) / 2,
        "question": float(touched and moment.asks),
        "unwanted": float(against),
        "obeyed": float(not against and _is_obeyed(lesson, held)),
    }


def _asked(moment: Sought, weights: Mapping[str, float], kinds: set[str]) -> float:
    of_both = 0.0
    for term, weight in moment.weights.items():
        if term in weights or not kinds.isdisjoint(WORK.get(term, ())):
            of_both += weight
    return of_both / moment.whole


def _is_obeyed(lesson: Profile, held: Mapping[str, float]) -> bool:
    wanted = lesson["weights"].keys() - {*lesson["unwanted"], *lesson["occasion"]}
    whole = float(sum(lesson["weights"][term] for term in wanted))
    return whole > 0.0 and sum(held.get(term, 0.0) for term in wanted) >= _OBEYED * whole


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


def _asks(text: str) -> bool:
    """Tell whether a text is a question: it ends as one, and a part of it opens as one."""
    if not text.rstrip().endswith("?"):
        return False
    for mark in ".!?,\n":
        text = text.replace(mark, "\n")
    return any(_opening(part) in _ASKING for part in text.split("\n"))


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
