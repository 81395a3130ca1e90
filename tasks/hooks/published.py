"""What was published, as a hook reads it that answers by itself: lessons found by their words.

It reads the arrays of `tasks.hooks.index` where they lie, without numpy. Invariants: it finds what
the warm process finds by words alone; a publication is read whole or not at all.
"""

from __future__ import annotations

import _blake2  # `hashlib` would load the whole of OpenSSL
import math
import mmap
import posix
from bisect import bisect_left

from tasks.embedding.words import asked_terms
from tasks.hooks import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tasks.hooks.plain import Row

BASE = 0.13
BY_WORDS = 0.77
"""Relevance = base + by_words * share, as the warm process has it where there are words alone."""
_K1 = 1.2
_BACKGROUND = 300
_LOOKED_AT = 200
"""Lessons that are looked at beyond their numbers."""
_MANY = 20_000
"""Postings that are gone through without looking for a way round."""


class View:
    """One publication.

    Attributes:
        offsets: journal segment -> bytes that it includes.
        told: settings as the run that published had them.
    """

    def __init__(self, home: str) -> None:
        self._folder = f"{home}/view"
        self._name = plain.read(f"{self._folder}/current")
        found = plain.parsed(plain.read(f"{self._folder}/{self._name.decode().strip()}"))
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
        place = f"{self._folder}/scopes/{folder}/prime"
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
        self._vocabulary = _column(f"{place}/lexical-vocabulary.npy", "Q")
        self._starts = _column(f"{place}/lexical-starts.npy", "q")
        self._rows = _column(f"{place}/lexical-rows.npy", "i")
        self._weights = _column(f"{place}/lexical-weights.npy", "f")
        self._count = _column(f"{place}/lexical-size.npy", "d")[0]
        self._begins = _column(f"{place}/lessons-starts.npy", "q")
        self._lines = posix.open(f"{place}/lessons.jsonl", posix.O_RDONLY)

    def near(self, text: str, cut: float) -> list[tuple[float, Row]]:
        """Return lessons that share a word with a text, each with its relevance, best first.

        Of those under the cut some may be left out where many share a word.
        """
        sums, most = self._sums(text, (cut - BASE) / BY_WORDS)
        best = sorted(sums, key=lambda row: -sums[row])[:_LOOKED_AT]
        found = [(min(BASE + BY_WORDS * sums[row] / most, 1.0), self._row(row)) for row in best]
        return sorted(found, key=lambda one: (-one[0], one[1]["id"]))

    def _sums(self, text: str, least: float) -> tuple[dict[int, float], float]:
        """Return the BM25 of each lesson, and the most that one could have."""
        asked = sorted([self._postings(term) for term in asked_terms(text)], key=_worth_first)
        most = left = sum(self._worth(found) for found in asked)
        is_short = sum(len(found) for found in asked) <= _MANY
        sums: dict[int, float] = {}
        for found in asked:
            if is_short or left >= least * most:  # else no lesson that is new here gets far enough
                self._add(found, sums)
            else:
                self._add_to_known(found, sums)
            left -= self._worth(found)
        return sums, most or 1.0

    def _postings(self, term: str) -> range:
        data = term.encode("utf-8", "surrogatepass")
        key = int.from_bytes(_blake2.blake2b(data, digest_size=8).digest(), "little")
        at = bisect_left(self._vocabulary, key)
        if at == len(self._vocabulary) or self._vocabulary[at] != key:
            return range(0)
        return range(self._starts[at], self._starts[at + 1])

    def _worth(self, found: range) -> float:
        texts_with = len(found)
        return (_K1 + 1) * math.log1p(
            (self._count + _BACKGROUND - texts_with + 0.5) / (texts_with + 0.5)
        )

    def _add(self, found: range, sums: dict[int, float]) -> None:
        weights = self._weights[found.start : found.stop]
        for row, weight in zip(self._rows[found.start : found.stop], weights, strict=True):
            sums[row] = sums.get(row, 0.0) + weight

    def _add_to_known(self, found: range, sums: dict[int, float]) -> None:
        for row in sums:
            at = bisect_left(self._rows, row, found.start, found.stop)
            if at < found.stop and self._rows[at] == row:
                sums[row] += self._weights[at]

    def _row(self, row: int) -> Row:
        begin, end = self._begins[row], self._begins[row + 1]
        return plain.parsed(posix.pread(self._lines, end - begin, begin))


def _worth_first(found: range) -> int:
    return len(found)


def _column(path: str, kind: Any) -> Any:
    """Return a one-dimensional array that numpy saved, mapped; `kind` as `memoryview.cast` has."""
    file = posix.open(path, posix.O_RDONLY)
    try:
        data = mmap.mmap(file, 0, access=mmap.ACCESS_READ)
    finally:
        posix.close(file)
    header = 10 + int.from_bytes(data[8:10], "little")
    return memoryview(data)[header:].cast(kind)
