"""Words in text beyond ASCII: normal forms, marks that belong to letters, unspaced scripts.

Apart from `words`, which loads it when it meets such text: compiling these patterns takes longer
than a hook has.
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
_RUN: Final = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_UNSPACED_START: Final = re.compile(rf"[{_UNSPACED}]")


def tokens(text: str) -> list[str]:
    """Return the words and identifiers of `text`, in order."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text))


def runs(word: str) -> list[str]:
    """Return the parts of a word that are, or are not, of a script written without spaces."""
    return _RUN.findall(word)


def pairs(run: str) -> list[str]:
    """Return the pairs of characters of a run without spaces, none of any other."""
    if not _UNSPACED_START.match(run):
        return []
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]
