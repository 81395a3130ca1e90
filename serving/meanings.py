"""Texts' vectors, kept for who asks next: a hook and the proxy ask for the same prompt's."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.space import Space

_MOST: Final = 500


class Meanings:
    """The newest texts' vectors by space; safe between threads."""

    def __init__(self) -> None:
        self._alone = Lock()
        self._known: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    def of(self, space: Space, text: str) -> NDArray[np.float32]:
        """Return a text's vector; one that says nothing is asked for again."""
        key = space.name, text
        with self._alone:
            found = self._known.get(key)
        if found is not None:
            return found
        found = space.query(text)
        if found.any():
            with self._alone:
                self._known[key] = found
                if len(self._known) > _MOST:
                    self._known.popitem(last=False)
        return found
