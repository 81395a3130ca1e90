"""Which project a name means to the door: as the memory knows it, or new."""

from __future__ import annotations

from typing import Final

from serving.reader import Reader
from tasks.domain.project import Identified, by_id
from tasks.errors import UnknownProject
from tasks.store.view import View
from tasks.tell import project_named

MOST: Final = 1000
"""Names that are kept; a caller that invents more of them starts the list anew."""


class Projects:
    """Names looked up in the memory, kept until another view is published."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._seen: View | None = None
        self._named: dict[str, Identified] = {}

    def id_of(self, name: str) -> str:
        """Return the id of the project that an id, a name or an absolute path means.

        A name that is not known yet is a new project's: what is written there makes it.

        Raises:
            AmbiguousName: when several are meant.
            ViewDamaged: when the view cannot be read.
        """
        return self.named(name).project_id

    def named(self, name: str) -> Identified:
        """Return the project that a name means, as `id_of` does."""
        memory = self._reader.memory()
        if memory.view is not self._seen or len(self._named) >= MOST:
            self._named, self._seen = {}, memory.view
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = project_named(memory, name)
        return found

    def of_id(self, wanted: str) -> Identified:
        """Return a project by its id; one that is new is as it was named lately, if it was."""
        try:
            known = self._reader.memory().project(wanted)
        except UnknownProject:
            named = [one for one in list(self._named.values()) if one.project_id == wanted]
            return named[0] if named else by_id(wanted)
        return Identified(known.project_id, known.path, known.name)
