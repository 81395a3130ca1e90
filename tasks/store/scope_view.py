"""A scope's folder in the published view: its rows, and the arrays that searches go by, mapped.

Opened lazily. Apart from `view`, so that a process that reads lists alone loads no numpy.
"""

from __future__ import annotations

import functools
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from tasks.domain.scope import Scope
from tasks.embedding.dense import Dense
from tasks.embedding.index import Lexical
from tasks.errors import ViewDamaged
from tasks.segments import open_plain, read_plain
from tasks.store.view import PRIME, as_published


class Table:
    """Rows of JSON lines with an index of where each begins: one row costs one read.

    The file stays open, so that later publications, which delete old folders, take nothing away.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.jsonl"
        self._lines = _mapped(self._path)
        self._starts: NDArray[np.int64] = np.load(folder / f"{name}-starts.npy", mmap_mode="r")

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> dict[str, Any]:
        start, end = int(self._starts[row]), int(self._starts[row + 1])
        try:
            found: dict[str, Any] = orjson.loads(self._lines[start:end])
        except ValueError as error:
            raise ViewDamaged(self._path, str(error)) from error
        return found


class ScopeView:
    """One scope's folder, opened lazily; row i is the same in every array, units come first.

    What was opened stays, whatever is published meanwhile; opening another of its files may tell
    that the publication, whose file is `manifest`, is gone.
    """

    def __init__(self, folder: Path, scope: Scope, manifest: Path) -> None:
        self.scope = scope
        self._folder = folder
        self._manifest = manifest

    @functools.cached_property
    def rows(self) -> Table:
        """Return the rows themselves: episodes, lessons and passages, told apart by `unit`."""
        with as_published(self._folder, self._manifest):
            return Table(self._folder, "rows")

    @functools.cached_property
    def at(self) -> NDArray[np.float64]:
        """Return when each row was, in seconds since 1970, shape (n,)."""
        return self._array("at")

    @functools.cached_property
    def words(self) -> Lexical:
        """Return the lexical index over the rows."""
        with as_published(self._folder, self._manifest):
            return Lexical.load(self._folder / "words")

    @functools.cached_property
    def vectors(self) -> Dense | None:
        """Return the vectors of the units, the first m <= n rows; None when there are none.

        A unit that is not embedded yet has a row of zeros.
        """
        with as_published(self._folder, self._manifest):
            found = Dense.load(self._folder / "vectors")
        return found if found.matrix.shape[1] else None

    @functools.cached_property
    def lessons(self) -> NDArray[np.int64]:
        """Return which rows are lessons, ascending.

        Of a folder that was published before there was such a list every row is looked at.
        """
        path = self._folder / "lessons.npy"
        with as_published(path, self._manifest):
            if not path.exists():
                found = [i for i, row in enumerate(self.rows) if row["unit"] == "lesson"]
                return np.array(found, dtype=np.int64)
            listed: NDArray[np.int64] = np.load(path, mmap_mode="r")
        return listed

    @functools.cached_property
    def profiles(self) -> tuple[dict[str, Any], ...]:
        """Return what moments are compared with of each lesson, in the order of `lessons`.

        None of a folder that was published before there was such an index.
        """
        path = self._folder / PRIME
        with as_published(path, self._manifest):
            if not path.exists():
                return ()
            return tuple(line["profile"] for line in Table(path, "lessons"))

    def strengths(self, now: float) -> NDArray[np.float64]:
        """Return each row's strength at `now`, halved every 45 whole days; a passage has none."""
        value, as_of = self._strength
        days = np.maximum(np.floor((now - as_of) / 86_400), 0)
        return value * np.exp2(-days / 45)

    @functools.cached_property
    def _strength(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._array("strength"), self._array("as-of")

    @functools.cached_property
    def buried(self) -> frozenset[str]:
        """Return the keyed digests of the values that tombstones keep out of this scope."""
        with as_published(self._folder, self._manifest):
            return frozenset(orjson.loads(read_plain(self._folder / "tombstones.json")))

    def _array(self, name: str) -> NDArray[np.float64]:
        with as_published(self._folder, self._manifest):
            found: NDArray[np.float64] = np.load(self._folder / f"{name}.npy", mmap_mode="r")
        return found


def _mapped(path: Path) -> mmap.mmap | bytes:
    with open_plain(path) as file:
        size = file.seek(0, os.SEEK_END)
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
