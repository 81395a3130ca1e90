"""What lessons are compared with: the words of a text, and its meaning if that is had in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from tasks.embedding.space import WORDS
from tasks.ranking import Asked

_HEAD: Final = 400
_TAIL: Final = 200
"""Characters of a long text whose words are compared with lessons."""
_MEANING: Final = 120
"""Characters whose meaning is: an encoder takes 5 ms, and a quarter for each word's part."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Reads texts as lessons are compared with them.

    Attributes:
        read: gives a text with the vector of its meaning, which takes a while.
        patience: seconds to wait for the meaning; after them the words must do.
    """

    read: Callable[[str, str], Asked]
    patience: float
    encoder: ThreadPoolExecutor = field(repr=False, default_factory=partial(ThreadPoolExecutor, 1))

    async def of(self, words: str) -> Asked:
        """Return what lessons are compared with; one text is encoded at a time."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.patience):
                return await loop.run_in_executor(self.encoder, self.at_leisure, words)
        except TimeoutError:
            return Asked(cut(words), None, WORDS)

    def at_leisure(self, words: str) -> Asked:
        """Return the same, however long it takes."""
        return self.read(cut(words), words[:_MEANING])


def cut(words: str) -> str:
    """Return the beginning and the end of a long text."""
    if len(words) <= _HEAD + _TAIL:
        return words
    return f"{words[:_HEAD]}\n{words[-_TAIL:]}"
