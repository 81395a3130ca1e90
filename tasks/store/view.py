"""The published view as its readers see it: immutable folders, one a scope, mapped, never locked.

A read opens its scope's folder and the owner's `@global` one, so no arm of a search can leave its
scope. Reading needs numpy and a JSON parser, nothing of the store.
"""

from __future__ import annotations

import functools
import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from tasks.domain.scope import Scope
from tasks.embedding.dense import Dense
from tasks.embedding.index import Lexical
from tasks.errors import ViewDamaged, ViewGone

VERSION: Final = 1
PRIME: Final = "prime-2"
"""The folder of the prime index in that of a scope; its number grows with what is in it."""


@dataclass(frozen=True, slots=True)
class ScopeEntry:
    """A scope in a manifest: its folder, and the stamp of what was published in it."""

    scope: Scope
    folder: str
    stamp: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """One publication.

    Attributes:
        offsets: journal segment -> bytes that it includes; the overlay starts there.
        digest: the store's, as published.
        space: the embedding space of its vectors.
        catalog: the folder of lists.
        hooks: settings that a hook goes by while no warm process runs, which knows them itself.
    """

    number: int
    at: str
    scopes: tuple[ScopeEntry, ...]
    offsets: Mapping[str, int]
    digest: str
    space: str
    catalog: str
    hooks: Mapping[str, Any] = field(default_factory=dict)

    def dump(self) -> bytes:
        """Return the manifest's file."""
        return orjson.dumps(
            {
                "v": VERSION,
                "number": self.number,
                "at": self.at,
                "scopes": [[list(e.scope.keys()), e.folder, e.stamp] for e in self.scopes],
                "offsets": dict(self.offsets),
                "digest": self.digest,
                "space": self.space,
                "catalog": self.catalog,
                "hooks": dict(self.hooks),
            },
            option=orjson.OPT_INDENT_2,
        )

    @classmethod
    def parse(cls, data: bytes) -> Manifest:
        """Return the manifest that a file holds."""
        found = orjson.loads(data)
        scopes = tuple(ScopeEntry(Scope(*keys), *rest) for keys, *rest in found["scopes"])
        return cls(
            found["number"],
            found["at"],
            scopes,
            found["offsets"],
            found["digest"],
            found["space"],
            found["catalog"],
            found.get("hooks", {}),
        )


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
        with _as_published(self._folder, self._manifest):
            return Table(self._folder, "rows")

    @functools.cached_property
    def at(self) -> NDArray[np.float64]:
        """Return when each row was, in seconds since 1970, shape (n,)."""
        return self._array("at")

    @functools.cached_property
    def words(self) -> Lexical:
        """Return the lexical index over the rows."""
        with _as_published(self._folder, self._manifest):
            return Lexical.load(self._folder / "words")

    @functools.cached_property
    def vectors(self) -> Dense | None:
        """Return the vectors of the units, the first m <= n rows; None when there are none.

        A unit that is not embedded yet has a row of zeros.
        """
        with _as_published(self._folder, self._manifest):
            found = Dense.load(self._folder / "vectors")
        return found if found.matrix.shape[1] else None

    @functools.cached_property
    def lessons(self) -> NDArray[np.int64]:
        """Return which rows are lessons, ascending.

        Of a folder that was published before there was such a list every row is looked at.
        """
        path = self._folder / "lessons.npy"
        if not path.exists():
            found = [i for i, row in enumerate(self.rows) if row["unit"] == "lesson"]
            return np.array(found, dtype=np.int64)
        with _as_published(path, self._manifest):
            listed: NDArray[np.int64] = np.load(path, mmap_mode="r")
        return listed

    @functools.cached_property
    def profiles(self) -> tuple[dict[str, Any], ...]:
        """Return what moments are compared with of each lesson, in the order of `lessons`.

        None of a folder that was published before there was such an index.
        """
        path = self._folder / PRIME
        if not path.exists():
            return ()
        with _as_published(path, self._manifest):
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
        with _as_published(self._folder, self._manifest):
            return frozenset(orjson.loads((self._folder / "tombstones.json").read_bytes()))

    def _array(self, name: str) -> NDArray[np.float64]:
        with _as_published(self._folder, self._manifest):
            found: NDArray[np.float64] = np.load(self._folder / f"{name}.npy", mmap_mode="r")
        return found


class View:
    """One publication, opened for reading."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._file = folder / f"{manifest.number}.json"
        self.manifest = manifest
        self._opened: dict[Scope, ScopeView] = {}

    def scope(self, scope: Scope) -> ScopeView | None:
        """Return a scope's folder, or None when nothing was ever published in it."""
        for entry in self.manifest.scopes:
            if entry.scope == scope:
                view = ScopeView(self._folder / "scopes" / entry.folder, scope, self._file)
                return self._opened.setdefault(scope, view)
        return None

    def require_whole(self) -> None:
        """Look whether every folder that this publication names is there.

        Raises:
            ViewDamaged: when one is not; the first is named.
        """
        names = [f"scopes/{entry.folder}/rows.jsonl" for entry in self.manifest.scopes]
        for path in (self._folder / name for name in (*names, self.manifest.catalog)):
            if not path.exists():
                raise ViewDamaged(path, "it is not there")

    def listed(self, name: str) -> list[dict[str, Any]]:
        """Return a list of the catalog by its name: projects, lessons, sessions and others."""
        path = self._folder / self.manifest.catalog / f"{name}.jsonl"
        with _as_published(path, self._file):
            return [orjson.loads(line) for line in path.read_bytes().split(b"\n") if line]


def current(folder: Path) -> View | None:
    """Return the current view, or None before the first publication."""
    name = _named(folder)
    while name:
        try:
            data = (folder / name).read_bytes()
        except FileNotFoundError as error:  # two publications went by since its name was read?
            before, name = name, _named(folder)
            if name == before:
                raise ViewDamaged(folder / name, "it is not there") from error
        else:
            with _as_published(folder / name, folder / name):
                return View(folder, Manifest.parse(data))
    return None


@contextmanager
def _as_published(path: Path, manifest: Path) -> Iterator[None]:
    """Name what cannot be read of a publication as damage to it, unless it was taken away whole.

    The file of a manifest goes before the folders that it names.
    """
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        if not manifest.exists():
            raise ViewGone(path) from error
        raise ViewDamaged(path, str(error)) from error


def _named(folder: Path) -> str:
    try:
        return (folder / "current").read_text("ascii").strip()
    except FileNotFoundError:
        return ""


def _mapped(path: Path) -> mmap.mmap | bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
