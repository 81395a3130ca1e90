"""Terms of a text, for the lexical arm and the hashed space: what two texts must share to match.

Casefolded unicode words with English endings taken off; an identifier gives its parts and itself
whole; scripts written without spaces give pairs of characters. Invariants: pure, and the same terms
on every machine, for they are hashed into files; loading it loads nothing else, and plain ASCII
needs nothing else, for a hook has no time to load or compile a regular expression.
"""

from __future__ import annotations

FUNCTION_WORDS = frozenset(
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

_JOINERS = "'-/.:\\"
_BREAKERS = "_-/.:\\"
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")
_FULL_VOWELS = frozenset("aeiou")
_VOWELS = _FULL_VOWELS | {"y"}
_KEPT = _LOWER | _UPPER | _DIGITS | frozenset("_" + _JOINERS)
_BETWEEN = {code: " " for code in range(128) if chr(code) not in _KEPT}
_PARTED = {ord(mark): " " for mark in _BREAKERS}


def tokens(text: str) -> list[str]:
    """Return the words and identifiers of `text` as written, in order."""
    if not text.isascii():
        from tasks.embedding import scripts  # noqa: PLC0415  rarely needed

        return scripts.tokens(text)
    stripped = [run.strip(_JOINERS) for run in text.translate(_BETWEEN).split()]
    return [token for token in stripped if token]


def terms_of(token: str) -> tuple[str, ...]:
    """Return the terms of one token: its stem, or its parts and itself when it has parts."""
    if token.isascii() and token.isalpha() and token[1:].islower():  # most of them
        return (stem(token.lower()),)
    if token[-2:] in ("'s", "'S", "’s", "’S"):
        token = token[:-2]
    plain = token.replace("'", "").replace("’", "")
    parts = [part for run in plain.translate(_PARTED).split(" ") for part in _parts(run)]
    found = [term for part in parts for term in _word_terms(part.casefold())]
    if len(parts) > 1:
        found.append(plain.casefold())
    return tuple(found)


def terms(text: str) -> list[str]:
    """Return the terms of `text`, in order, repeats kept."""
    return [term for token in tokens(text) for term in terms_of(token)]


def asked_terms(query: str) -> list[str]:
    """Return the distinct terms a query is about; its function words only when it has no others."""
    distinct = list(dict.fromkeys(terms(query)))
    return [term for term in distinct if term not in FUNCTION_WORDS] or distinct


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


def _parts(run: str) -> list[str]:
    """Return the parts of an identifier in camel case: `parseHTTPDate` is parse, HTTP and Date."""
    if run[1:] == run[1:].lower():
        return [run] if run else []
    cuts = [at for at in range(1, len(run)) if _begins_part(run, at)]
    return [run[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(run)], strict=True)]


def _begins_part(run: str, at: int) -> bool:
    if run[at] not in _UPPER:
        return False
    before = run[at - 1]
    if before in _UPPER:
        return run[at + 1 : at + 2] in _LOWER
    return before in _LOWER or before in _DIGITS


def _word_terms(word: str) -> list[str]:
    if word.isascii():
        return [stem(word)]
    from tasks.embedding import scripts  # noqa: PLC0415  rarely needed

    runs = scripts.runs(word)
    return [term for run in runs for term in (scripts.pairs(run) or [stem(run)])]


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
            return root + "e" if _is_short(root) else root
    return word


def _is_root(root: str, ending: str) -> bool:
    if len(root) < 2 or _VOWELS.isdisjoint(root):
        return False
    return ending == "ing" or root[-1] not in "aeiou"


def _bare(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2]:
        return word[:-1]
    root = word.removesuffix("e")
    return word if _is_short(root) else root


def _is_short(root: str) -> bool:
    """Tell whether a root is one syllable that ends in a vowel and a consonant, as in `hop`."""
    return (
        root[-2:-1] in _VOWELS and root[-1] not in "aeiouwxy" and _FULL_VOWELS.isdisjoint(root[:-2])
    )
