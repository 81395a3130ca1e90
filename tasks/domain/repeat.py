"""When two corrections, or two errors, are the same one again.

Invariant: the key is a pure function of the episode's own words or names, so that a measure taken
twice counts the same.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from tasks.domain.units import Episode, EpisodeKind

_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# fmt: off  one word a line would hide the list
_EMPTY: Final = frozenset(
    {
        "a",
        "about",
        "again",
        "all",
        "also",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "being",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "done",
        "for",
        "from",
        "get",
        "got",
        "had",
        "has",
        "have",
        "here",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "know",
        "let",
        "lets",
        "like",
        "make",
        "me",
        "more",
        "must",
        "my",
        "need",
        "no",
        "not",
        "now",
        "of",
        "ok",
        "okay",
        "on",
        "one",
        "or",
        "our",
        "out",
        "please",
        "should",
        "so",
        "some",
        "still",
        "sure",
        "than",
        "that",
        "the",
        "them",
        "then",
        "there",
        "these",
        "they",
        "think",
        "this",
        "those",
        "to",
        "too",
        "up",
        "us",
        "very",
        "want",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "yes",
        "you",
        "your",
    }
)
# fmt: on
_CONTRACTED: Final = re.compile(r"n['’]?t$|['’]\w*$")
_ENDINGS: Final = ("ing", "ed", "es", "s")
_STEM: Final = 4  # letters that must be left when an ending goes


def repeat_key(episode: Episode) -> str:
    """Return the key that the same correction or error has every time; "" when it has no content.

    A correction's key is the set of its content words, without endings, sorted; an error's is its
    class, tool and first word of the command.
    """
    if episode.kind is EpisodeKind.ERROR:
        return f"{episode.error_class} {episode.tool} {episode.command}"
    text = unicodedata.normalize("NFKC", episode.rule or episode.words).casefold()
    return " ".join(sorted({stem for word in _WORD.findall(text) if (stem := _stem(word))}))


def _stem(word: str) -> str:
    bare = _CONTRACTED.sub("", word)
    if bare in _EMPTY or word.replace("’", "").replace("'", "") in _EMPTY or len(bare) < 2:
        return ""
    for ending in _ENDINGS:
        if bare.endswith(ending) and len(bare) - len(ending) >= _STEM:
            return bare.removesuffix(ending)
    return bare
