"""What was published, as a hook reads it that answers by itself: lessons and how they bear on it.

It reads the arrays of `tasks.hooks.index` where they lie, without numpy. Invariants: it finds what
the warm process finds by words alone; a publication is read whole or not at all.
"""

from __future__ import annotations

import _blake2  # `hashlib` would load the whole of OpenSSL
import mmap
import posix
from bisect import bisect_left

from tasks.bearing import (
    AT_END,
    BY_WORDS,
    LOOKED_AT,
    Sought,
    ending_words,
    prompt_words,
    relevance,
)
from tasks.hooks import plain
from tasks.hooks.heard import STOP, TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tasks.hooks.plain import Row


PRIME = "prime-2"


class View:
    """One publication.

    Attributes:
        offsets: journal segment -> bytes that it includes.
        told: settings as the run that published had them.
    """

    def __init__(self, home: str) -> None:
        self._folder = f"{home}/view"
        self._name = plain.read(f"{self._folder}/current")
        number = self._name.strip().removesuffix(b".json")
        if not number.isdigit():
            raise ValueError("the pointer names no publication")
        found = plain.parsed(plain.read(f"{self._folder}/{number.decode()}.json"))
        self.offsets = found["offsets"]
        self.told = found.get("hooks") or {}
        self._catalog = f"{self._folder}/{found['catalog']}"
        self._scopes = {tuple(keys): folder for keys, folder, _ in found["scopes"]}

    def is_current(self) -> bool:
        """Tell whether it is the newest still."""
        return plain.read(f"{self._folder}/current") == self._name

    def lessons(self, scope: tuple[str, ...]) -> Lessons | None:
        """Return the lessons of a scope, None when nothing was published in it."""
        folder = self._scopes.get(scope)
        place = f"{self._folder}/scopes/{folder}/{PRIME}"
        try:
            return Lessons(place) if folder else None
        except FileNotFoundError:  # published before there was an index for hooks
            return None

    def listed(self, name: str, field: str, value: str) -> list[Row]:
        """Return the rows of a list of the catalog whose field is a text."""
        data = plain.read(f"{self._catalog}/{name}.jsonl")
        wanted = f'"{field}":{plain.quoted(value)}'.encode(errors="surrogateescape")
        rows, at = [], data.find(wanted)
        while at >= 0:
            end = data.find(b"\n", at)
            rows.append(plain.parsed(data[data.rfind(b"\n", 0, at) + 1 : end]))
            at = data.find(wanted, end)
        return [row for row in rows if row.get(field) == value]


class Lessons:
    """The lessons of one scope; row i is the same in every array."""

    def __init__(self, place: str) -> None:
        self._vocabulary = _column(f"{place}/vocabulary.npy", "Q")
        self._starts = _column(f"{place}/starts.npy", "q")
        self._rows = _column(f"{place}/rows.npy", "i")
        self._weights = _column(f"{place}/weights.npy", "d")
        self._begins = _column(f"{place}/lessons-starts.npy", "q")
        self._lines = plain.opened(f"{place}/lessons.jsonl")

    def near(self, moment: str, words: str) -> list[tuple[float, Row]]:
        """Return the lessons that words of a moment touch, each with its relevance, best first."""
        terms, weigh = _weighing(words, moment)
        sums: dict[int, float] = {}
        for term in terms:
            self._add(term, sums)
        best = sorted(sums, key=lambda row: (-sums[row], row))[:LOOKED_AT]
        rows = [self._row(row) for row in best]
        return sorted([(weigh(row), row) for row in rows], key=lambda one: (-one[0], one[1]["id"]))

    def _add(self, term: str, sums: dict[int, float]) -> None:
        data = term.encode("utf-8", "surrogatepass")
        key = int.from_bytes(_blake2.blake2b(data, digest_size=8).digest(), "little")
        at = bisect_left(self._vocabulary, key)
        if at == len(self._vocabulary) or self._vocabulary[at] != key:
            return
        begin, end = self._starts[at], self._starts[at + 1]
        for row, weight in zip(self._rows[begin:end], self._weights[begin:end], strict=True):
            sums[row] = sums.get(row, 0.0) + weight

    def _row(self, row: int) -> Row:
        begin, end = self._begins[row], self._begins[row + 1]
        return plain.parsed(posix.pread(self._lines, end - begin, begin))


def _weighing(words: str, moment: str) -> tuple[list[str], Callable[[Row], float]]:
    """Return the terms by which lessons are looked up, and what tells a lesson's relevance."""
    if moment == TOOL:
        from tasks.calls import Call, bears  # noqa: PLC0415  of this moment alone

        call = Call(words)
        return call.terms(), lambda row: float(
            row["kind"] == "error" and bears(row["profile"], call)
        )
    sought = Sought(ending_words(words) if moment == STOP else prompt_words(words))
    weighing = AT_END if moment == STOP else BY_WORDS
    return sought.terms(), lambda row: relevance(row["profile"], sought, weighing)


def _column(path: str, kind: Any) -> Any:
    """Return a one-dimensional array that numpy saved, mapped; `kind` as `memoryview.cast` has."""
    file = plain.opened(path)
    try:
        data = mmap.mmap(file, 0, access=mmap.ACCESS_READ)
    finally:
        posix.close(file)
    header = 10 + int.from_bytes(data[8:10], "little")
    return memoryview(data)[header:].cast(kind)
