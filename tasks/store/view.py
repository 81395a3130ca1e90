"""The published view as its readers see it: immutable folders, one a scope, mapped, never locked.

A read opens its scope's folder and the owner's `@global` one, so no arm of a search can leave its
scope. Lists need a JSON parser, and searches numpy too (`scope_view`): nothing of the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from tasks.domain.scope import Scope
from tasks.errors import ScopeMissing, ViewDamaged, ViewGone
from tasks.segments import read_plain

if TYPE_CHECKING:
    from tasks.store.scope_view import ScopeView

VERSION: Final = 1
_NAME: Final = re.compile(rb"(\d{1,20}\.json)\s*")
_SHAPES: Final = {
    "number": int,
    "at": str,
    "scopes": list,
    "offsets": dict,
    "digest": str,
    "space": str,
    "catalog": str,
}
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
        """Return the manifest that a file holds.

        Raises:
            KeyError, ScopeMissing, TypeError, ValueError: when it holds none.
        """
        found = orjson.loads(data)
        if not all(isinstance(found[name], kind) for name, kind in _SHAPES.items()):
            raise TypeError("it is no manifest")
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


class View:
    """One publication, opened for reading."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._file = folder / f"{manifest.number}.json"
        self.manifest = manifest
        self._opened: dict[Scope, ScopeView] = {}

    def scope(self, scope: Scope) -> ScopeView | None:
        """Return a scope's folder, or None when nothing was ever published in it."""
        from tasks.store.scope_view import ScopeView  # noqa: PLC0415  loads numpy

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
            with as_published(path, self._file):
                path.stat()

    def listed(self, name: str) -> list[dict[str, Any]]:
        """Return a list of the catalog by its name: projects, lessons, sessions and others."""
        path = self._folder / self.manifest.catalog / f"{name}.jsonl"
        with as_published(path, self._file):
            return [orjson.loads(line) for line in read_plain(path).split(b"\n") if line]


def current(folder: Path) -> View | None:
    """Return the current view, or None before the first publication.

    Raises:
        ViewDamaged: when the pointer or what it names cannot be read as what it is.
    """
    name = _named(folder)
    while name:
        path = folder / name
        try:
            data = read_plain(path)
        except FileNotFoundError as error:  # two publications went by since its name was read?
            before, name = name, _named(folder)
            if name == before:
                raise ViewDamaged(path, "it is not there") from error
        except OSError as error:
            raise ViewDamaged(path, _why(error)) from error
        else:
            with as_published(path, path):
                return View(folder, Manifest.parse(data))
    return None


@contextmanager
def as_published(path: Path, manifest: Path) -> Iterator[None]:
    """Name what cannot be read of a publication as damage to it, unless it was taken away whole.

    The file of a manifest goes before the folders that it names.
    """
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, ScopeMissing) as error:
        if _is_gone(manifest):
            raise ViewGone(path) from error
        raise ViewDamaged(path, _why(error)) from error


def _is_gone(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _why(error: Exception) -> str:
    """Return an error in words, without the path that is told beside it."""
    return getattr(error, "strerror", None) or str(error)


def _named(folder: Path) -> str:
    """Return the name that the pointer holds, "" before there is one; no other path is followed."""
    pointer = folder / "current"
    try:
        found = _NAME.fullmatch(read_plain(pointer))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ViewDamaged(pointer, _why(error)) from error
    if found is None:
        raise ViewDamaged(pointer, "it names no publication")
    return found[1].decode()
