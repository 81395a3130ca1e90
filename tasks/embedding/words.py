"""Terms of a text, for the lexical arm and the hashed space: what two texts must share to match.

Casefolded unicode words with English endings taken off; an identifier gives its parts and itself
whole; scripts written without spaces give pairs of characters. Invariant: pure, and the same terms
on every machine, for they are hashed into files.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER: Final = rf"[\w\u0300-\u036f\u0900-\u0dff{_UNSPACED}]"
_TOKEN: Final = re.compile(rf"{_LETTER}+(?:['’\-/.:\\]+{_LETTER}+)*")
_ASCII_TOKEN: Final = re.compile(r"\w+(?:['\-/.:\\]+\w+)*", re.ASCII)
_APOSTROPHE: Final = re.compile(r"['’]")
_POSSESSIVE: Final = re.compile(r"['’]s$", re.IGNORECASE)
_BREAK: Final = re.compile(r"[_\-/.:\\]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_RUN: Final = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_UNSPACED_START: Final = re.compile(rf"[{_UNSPACED}]")
_VOWEL: Final = re.compile(r"[aeiouy]")
_SHORT: Final = re.compile(r"[^aeiou]*[aeiouy][^aeiouwxy]")

FUNCTION_WORDS: Final = frozenset(
    """
    a about after all also am an and any are as at be because been before being but by can could
    did do does doing done dont for from get had has have having he her here him his how i if in
    into is it its just like let me more most my no not of on one or our out over please she should
    so some such than that the their them then there these they this those to too up us very was
    we were what when where which while who whom whose why will with would you your
    didnt doesnt isnt wasnt cant couldnt wont im ive id ill youre hes shes theyre weve thats whats
    """.split()  # noqa: SIM905  a list a line each is no easier to read
)
"""English words that say how a question is put, not what it is about; as `terms` gives them."""


def tokens(text: str) -> list[str]:
    """Return the words and identifiers of `text` as written, in order."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    return _TOKEN.findall(unicodedata.normalize("NFKC", text))


def terms_of(token: str) -> tuple[str, ...]:
    """Return the terms of one token: its stem, or its parts and itself when it has parts."""
    plain = _APOSTROPHE.sub("", _POSSESSIVE.sub("", token))
    parts = [part for part in _BREAK.split(plain) if part]
    found = [term for part in parts for term in _word_terms(part.casefold())]
    if len(parts) > 1:
        found.append(plain.casefold())
    return tuple(found)


def terms(text: str) -> list[str]:
    """Return the terms of `text`, in order, repeats kept."""
    return [term for token in tokens(text) for term in terms_of(token)]


def stem(word: str) -> str:
    """Return a casefolded English word without the endings of number and tense.

    Light on purpose: what it does to a word is of no matter so long as the forms of one word meet
    (create, creates, created, creating; try, tried; stop, stopped) and short words stay apart.
    """
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    if word in FUNCTION_WORDS:
        return word
    return _bare(_without_tense(_singular(word)))


def _word_terms(word: str) -> list[str]:
    if word.isascii():
        return [stem(word)]
    return [term for run in _RUN.findall(word) for term in _run_terms(run)]


def _run_terms(run: str) -> list[str]:
    if not _UNSPACED_START.match(run):
        return [stem(run)]
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and _is_root(root, ending):
            return root + "e" if _SHORT.fullmatch(root) else root
    return word


def _is_root(root: str, ending: str) -> bool:
    if len(root) < 2 or not _VOWEL.search(root):
        return False
    return ending == "ing" or root[-1] not in "aeiou"


def _bare(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2]:
        return word[:-1]
    root = word.removesuffix("e")
    return word if _SHORT.fullmatch(root) else root
