"""Memory as every reader has it: the current view with the journal's tail laid over it.

It opens no store and takes no lock. A scope that is not known reads as empty; no scope is an error.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasks.domain import canon
from tasks.domain.clock import instant
from tasks.domain.ids import session_episode_id
from tasks.domain.project import resolve_name
from tasks.domain.scope import GLOBAL, Scope
from tasks.domain.units import Lifecycle, Project, Trust
from tasks.errors import AmbiguousName, UnknownUnit, UsageError
from tasks.segments import is_there
from tasks.settings import Places
from tasks.store import journal
from tasks.store.journal import Append
from tasks.store.keys import DIGEST_KEY, digest_key
from tasks.store.overlay import Overlay, overlay
from tasks.store.rows import scope_of
from tasks.store.view import View, current

if TYPE_CHECKING:
    from tasks.store.scope_view import ScopeView

_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Found:
    """A unit's row, and the scope it is of."""

    row: dict[str, Any]
    scope: Scope


class Memory:
    """One consistent reading: a view and the overlay that belongs to it.

    Attributes:
        append: how this process says something to the journal.
    """

    def __init__(self, places: Places, append: Append | None = None) -> None:
        self.places = places
        self.append: Append = append or functools.partial(journal.append, places.journal)
        self.view: View | None = current(places.view)

    @functools.cached_property
    def key(self) -> bytes | None:
        """Return the key of digests, or None before anything was ever written."""
        if not is_there(self.places.keys / DIGEST_KEY):
            return None
        return digest_key(self.places.keys, ledger=self.places.ledger)

    def key_for_writing(self) -> bytes:
        """Return the key of digests, made now for a new home."""
        return digest_key(self.places.keys, ledger=self.places.ledger)

    @functools.cached_property
    def overlay(self) -> Overlay:
        """Return what was said since the view."""
        offsets = self.view.manifest.offsets if self.view else {}
        return overlay(self.places.journal, offsets, key=self.key)

    def under(self, later: Overlay) -> Memory:
        """Return the same view with what was said since under it, as `later` has it."""
        reading = copy.copy(self)
        reading.overlay = later
        return reading

    @functools.cached_property
    def projects(self) -> list[Project]:
        """Return the projects the view knows, by id."""
        if self.view is None:
            return []
        cwds: dict[str, list[str]] = {}
        for row in self.view.listed("cwds"):
            cwds.setdefault(row["project_id"], []).append(row["cwd"])
        return [
            Project(
                row["project_id"],
                row["name"],
                row["path"],
                tuple(cwds.get(row["project_id"], ())),
                instant(row["first_seen"]),
                row["ignored"],
            )
            for row in self.view.listed("projects")
        ]

    def project(self, name: str) -> Project:
        """Return the project that an id, a name or an absolute path means.

        One that a note was said in counts, though the next night makes it.

        Raises:
            UnknownProject: when none does; lists those there are.
            AmbiguousName: when several do.
        """
        known = {project.project_id for project in self.projects}
        said = {one.project_id: one for one in self.overlay.projects if one.project_id not in known}
        return resolve_name(name, [*self.projects, *said.values()], {})

    def known_cwds(self) -> dict[str, str]:
        """Return every folder met before, with the project it belongs to."""
        return {cwd: p.project_id for p in self.projects for cwd in p.cwds}

    def scopes(self, scope: Scope) -> list[ScopeView]:
        """Return the folders that a read of `scope` opens: its own and the owner's `@global`."""
        if self.view is None:
            return []
        wanted = [scope] if scope.project_id == GLOBAL else [scope, scope.everywhere()]
        return [found for one in wanted if (found := self.view.scope(one)) is not None]

    def digests(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the keyed digests of texts, as the journal carries them."""
        key = self.key_for_writing()
        return [list(pair) for text in texts for pair in canon.digests(key, text)]

    def is_buried(self, text: str, scope: Scope) -> bool:
        """Tell whether this very value was rejected or forgotten in the scope."""
        if self.key is None:
            return False
        mine = {digest for _, digest in canon.digests(self.key, text)}
        if self.overlay.buries(mine, scope):
            return True
        return any(not mine.isdisjoint(view.buried) for view in self.scopes(scope))

    def is_hidden(self, row: dict[str, Any]) -> bool:
        """Tell whether a unit or passage, or the session a passage is of, was taken out since."""
        ids = [row["id"], *row.get("units", ())]
        if row["unit"] == "passage":
            ids.append(session_episode_id(row["agent"], row["session"]))
        return not self.overlay.hidden.isdisjoint(ids)

    def find(self, prefix: str, owner: Scope) -> Found:
        """Return the unit, of any of the owner's projects, whose id begins with `prefix`.

        What an agent asked to take out is found: it waits for the person to decide.

        Raises:
            UsageError: when the prefix is too short to mean one unit.
            UnknownUnit: when nothing does, or a person decided on it already.
            AmbiguousName: when several do.
        """
        wanted = prefix.strip().lower()
        if len(wanted) < _SHORTEST:
            raise UsageError(f"{prefix!r} is too short: give {_SHORTEST} characters of the id")
        found = {unit.row["id"]: unit for unit in self._beginning_with(wanted, owner)}
        if not found:
            raise UnknownUnit(prefix)
        if len(found) > 1:
            raise AmbiguousName(prefix, sorted(found))
        return found.popitem()[1]

    def _beginning_with(self, prefix: str, owner: Scope) -> Iterator[Found]:
        for note in self.overlay.notes:
            if note.row["id"].startswith(prefix) and note.scope.owner_id == owner.owner_id:
                yield Found(note.row, note.scope)
        for entry in self.view.manifest.scopes if self.view else ():
            if entry.scope.owner_id != owner.owner_id or self.view is None:
                continue
            shelf = self.view.scope(entry.scope)
            for row in shelf.rows if shelf else ():
                if row["unit"] == "passage":  # units come first
                    break
                if row["id"].startswith(prefix) and row["id"] not in self.overlay.decided:
                    yield Found(row, entry.scope)
        for row in self._awaited():
            if row["id"].startswith(prefix) and row["owner_id"] == owner.owner_id:
                yield Found(row, scope_of(row))

    def _awaited(self) -> Iterator[dict[str, Any]]:
        """Yield what waits for the person to decide: recall passes over it, an id finds it."""
        if self.view is None:
            return
        for row in self.view.listed("asked"):
            if row["id"] not in self.overlay.decided:
                yield row
        for row in self.view.listed("lessons"):
            disputed = row["trust"] == Trust.DISPUTED and row["lifecycle"] == Lifecycle.LIVE
            if disputed and row["lesson_id"] not in self.overlay.decided:
                yield {**row, "id": row["lesson_id"], "unit": "lesson"}
