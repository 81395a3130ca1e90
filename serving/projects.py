"""Which project a name means to the door: as the memory knows it, or new."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tasks.domain.project import identify, project_id
from tasks.errors import UnknownProject
from tasks.evidence.folders import probe
from tasks.memory import Memory
from tasks.settings import Places

MOST: Final = 1000
"""Names that are kept; a caller that invents more of them starts the list anew."""


class Projects:
    """Names looked up in the view, kept until another view is published."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._seen: int | None = None
        self._ids: dict[str, str] = {}

    def id_of(self, name: str) -> str:
        """Return the id of the project that an id, a name or an absolute path means.

        A name that is not known yet is a new project's: what is written there makes it.

        Raises:
            AmbiguousName: when several are meant.
        """
        seen = _published(self._places.view / "current")
        if seen != self._seen or len(self._ids) >= MOST:
            self._ids, self._seen = {}, seen
        if name not in self._ids:
            self._ids[name] = self._looked_up(name)
        return self._ids[name]

    def _looked_up(self, name: str) -> str:
        memory = Memory(self._places)
        try:
            return memory.project(name).project_id
        except UnknownProject:
            if Path(name).is_absolute():
                return identify(name, memory.known_cwds(), probe).project_id
            return project_id(name)


def _published(current: Path) -> int | None:
    try:
        return current.stat().st_mtime_ns
    except OSError:
        return None
