"""Which conversation an answer was of, for clients that send only what is new.

It is kept beside what conversations were told, a line an answer, so that a chain goes on after a
restart. It holds ids and no words, and can be deleted at any time: then a chain begins anew.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Final

import orjson

from tasks.durable import after_a_cut, append_line, make_folder, swap_file

_KEPT: Final = 10_000
_LONGEST: Final = 4 << 20
"""Bytes of the file from which it is written anew with what is kept."""


class Chains:
    """The newest answers' conversations, with a file those of earlier processes too.

    It is safe between threads.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._alone = path, Lock()
        self._roots: OrderedDict[str, str] = OrderedDict()

    def learn(self, answer: str, conversation: str) -> None:
        """Keep that an answer was of a conversation; an answer with no name is of none."""
        if not answer or not conversation:
            return
        with self._alone:
            self._roots[answer] = conversation
            self._roots.move_to_end(answer)
            if len(self._roots) > _KEPT:
                self._roots.popitem(last=False)

    def root(self, answer: str) -> str:
        """Return the conversation of an answer; of an unknown one it is the answer's own name."""
        return self._roots.get(answer, answer)

    def load(self) -> None:
        """Take up what earlier processes kept; what was learned meanwhile is newer."""
        if self._path is None:
            return
        with contextlib.suppress(FileNotFoundError):
            kept = list(_read(self._path.read_bytes()))
            for answer, conversation in (*kept, *self._known()):
                self.learn(answer, conversation)

    def keep(self, answer: str, conversation: str) -> None:
        """Write down what was learned.

        Raises:
            WriteFailed: when the disk refuses.
        """
        if self._path is None or not answer or not conversation:
            return
        make_folder(self._path.parent)
        append_line(self._path, after_a_cut(self._path) + _line(answer, conversation))
        if self._path.stat().st_size > _LONGEST:
            swap_file(self._path, b"".join(_line(*one) for one in self._known()))

    def _known(self) -> list[tuple[str, str]]:
        with self._alone:
            return list(self._roots.items())


def _line(answer: str, conversation: str) -> bytes:
    return orjson.dumps({"v": 1, "answer": answer, "conversation": conversation}) + b"\n"


def _read(data: bytes) -> Iterable[tuple[str, str]]:
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            told = orjson.loads(line)
            yield str(told["answer"]), str(told["conversation"])
