"""A lesson as moments are compared with it: what it names, when it holds, what it speaks against.

Made once, when a lesson is published, and read by `tasks/bearing.py` and `tasks/calls.py`.
Invariant: all of it can be written as JSON and read back the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any, Final

from tasks.bearing import Sought, kind_term, prompt_words
from tasks.bearing_words import COMMON, QUIET, WORK
from tasks.calls import OCCASIONS
from tasks.embedding.words import FUNCTION_WORDS, terms, terms_of, tokens

_LOUD: Final = 1.3
"""Weight of what is written as no ordinary word is: a name, a path, a command."""
_FAINT: Final = 0.5
_WORN_OUT: Final = 0.12
"""Share of what is asked in a scope from which a word that it holds tells nothing there."""
_IMAGINED: Final = 30
"""Prompts imagined besides the scope's, that hold none of its words: a few tell little of it."""
_CARRIED: Final = ("through", "back", "ahead", "forward", "around")
"""Behind a verb they make another of it: who pushes something through does not push."""
_QUOTED: Final = re.compile(r"`([^`]+)`")
_OCCASION: Final = re.compile(
    r"\b(?:before|when|whenever|after|if|unless|while|until|without)\s+"
    r"(?:(?:you|we|i|they|it|any|the|each|every|an?)\s+)*([^,.:;()]+)",
    re.IGNORECASE,
)
_UNWANTED: Final = re.compile(
    r"\b(?:never|not|no|don['’]?t|nobody|avoid|without|instead of|rather than|kein\w*|nie)\b\s*"
    r"((?:(?!\b(?:in|on|for|to|before|under|from|by|of|than|outside|unless|until|has|have|as|is"
    r"|and|with)\b)[^,.:;()])+)",
    re.IGNORECASE,
)
_MEANS: Final = re.compile(
    r"\b(?:with|use|using|through|via|by|from|in)\s+(?:(?:the|our|an?)\s+)?"
    r"((?:(?!\b(?:in|on|for|to|before|under|and|of|not|never|instead|rather)\b)[^,.:;()])+)",
    re.IGNORECASE,
)
_TOOL: Final = re.compile(
    r"(?<=[a-z,:;] )(?:Read|Edit|Write|MultiEdit|NotebookEdit|Grep|Glob|LS|WebFetch|WebSearch"
    r"|Task|Agent)\b|\b(?:mcp__\w+|apply_patch|read_file|write_file|run_shell_command)\b"
)
_RATHER: Final = re.compile(r"`([^`]+)`,? (?:not|instead of|rather than) `[^`]+`")
_NOUN: Final = re.compile(r"\b(?:an?|each|every|any) (\w+)(?: or (\w+))?")


def worn_by(prompts: Iterable[str]) -> dict[str, float]:
    """Return what a term still tells in a scope, and a kind of work, by all that was asked there.

    What was said twice in the same words counts once, or who repeats a correction would wear out
    the words of the lesson that comes of it.

    Returns:
        term -> 1 less the share of prompts that hold it over `_WORN_OUT`, at least `QUIET`; a term
        that is not there tells all.
    """
    asked = [Sought(text) for text in dict.fromkeys(map(prompt_words, prompts))]
    held = Counter(term for one in asked for term in one.terms())
    most = _WORN_OUT * (len(asked) + _IMAGINED)
    return {term: round(max(QUIET, 1 - count / most), 3) for term, count in held.items()}


def profile(text: str, worn: Mapping[str, float], *, of_error: bool) -> dict[str, Any]:
    """Return a lesson's profile, a JSON object.

    Args:
        text: of the lesson.
        worn: what terms and kinds of work still tell in its scope, see `worn_by`.
        of_error: it was learned from failed calls: then it bears on what it names and on its
            occasion, for the rest of its words is ours.

    Returns:
        weights: its terms, each with how much it says. kinds: the kinds of work that a term belongs
        to; a quoted command's words belong to none. occasion: the terms of the clause that says
        when it holds ("before you commit"). unwanted: those of what it speaks against. means: those
        of what is to be used ("with pnpm"). worn: of its terms and kinds, what those still tell
        that tell less. tools, acts, commands, rather: what of a call it holds for, see
        `tasks.calls.bears`.
    """
    commands = {term for quoted in _QUOTED.findall(text) for term in terms(quoted)}
    weights = _weights(text, commands)
    occasion = _within(_OCCASION, text, weights)
    if sum(weights[term] for term in occasion) < _FAINT:
        occasion = set()
    unwanted = {t for t in _within(_UNWANTED, text, weights) if weights[t] >= 1} - occasion
    if of_error and (kept := occasion or commands & weights.keys()):
        weights = {term: weight for term, weight in weights.items() if term in kept}
    means = {t for t in _within(_MEANS, text, weights) if weights[t] >= 1} - occasion - unwanted
    kinds = {t: list(WORK[t]) for t in weights if t in WORK and t not in commands}
    told = {*weights, *(kind_term(kind) for of_term in kinds.values() for kind in of_term)}
    return {
        "weights": weights,
        "kinds": kinds,
        "occasion": sorted(occasion),
        "unwanted": sorted(unwanted & weights.keys()),
        "means": sorted(means),
        "worn": {term: worn[term] for term in sorted(told & worn.keys())},
        **(_grounds(text, occasion, weights) if of_error else {}),
    }


def _grounds(text: str, occasion: set[str], weights: Mapping[str, float]) -> dict[str, Any]:
    """Return what of a call a lesson holds for."""
    quoted = [[_bare(word) for word in one.split()] for one in _QUOTED.findall(text)]
    rather = _RATHER.search(text)
    instead = [_bare(word) for word in rather[1].split()] if rather else []
    named = {t for pair in _NOUN.findall(text) for noun in pair for t in terms(noun)}
    said = occasion or (set() if quoted else weights.keys())
    return {
        "tools": sorted(set(_TOOL.findall(text))),
        "acts": sorted({OCCASIONS[term] for term in {*said, *named} if term in OCCASIONS}),
        "commands": [words for words in quoted if words and words != instead],
        "rather": instead,
    }


def _weights(text: str, commands: set[str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    said = tokens(text)
    for token, after in zip_longest(said, said[1:], fillvalue=""):
        if after in _CARRIED:
            continue
        odd = not token.isalpha() or not token[1:].islower()
        for term in terms_of(token):
            if term not in FUNCTION_WORDS and (len(term) > 1 or term == "r"):
                weight = _weight(term, 1 + (term in commands), loud=odd or term in commands)
                weights[term] = max(weights.get(term, 0.0), weight)
    return weights


def _weight(term: str, quiet: int, *, loud: bool) -> float:
    if term in COMMON:
        return quiet * QUIET
    return _LOUD if loud else 1.0


def _within(pattern: re.Pattern[str], text: str, weights: Mapping[str, float]) -> set[str]:
    return {t for span in pattern.findall(text) for t in terms(span) if t in weights}


def _bare(word: str) -> str:
    """Return a word without its folder, as a program is named."""
    return word if word.startswith("./") else word.rsplit("/", 1)[-1]
