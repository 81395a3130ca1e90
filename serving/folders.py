"""The project of a folder that an agent works in: is it to be left alone, and who worked there."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from serving.reader import Reader
from tasks.domain.clock import instant
from tasks.domain.project import identify
from tasks.evidence.folders import asks_to_be_ignored, probe


class Folders:
    """Looks folders up in the memory, then on the disk."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._paths: dict[str, str] = {}

    def project(self, cwd: str) -> str:
        """Return the id of the project of a folder.

        Raises:
            ViewDamaged: when the view cannot be read.
        """
        found = identify(cwd, self._reader.memory().known_cwds(), probe)
        self._paths[found.project_id] = found.path
        return found.project_id

    def is_ignored(self, project: str) -> bool:
        """Tell whether a project is to be left alone: the person said so, or a file in it does.

        Raises:
            ViewDamaged: when the view cannot be read.
        """
        memory = self._reader.memory()
        known = next((one for one in memory.projects if one.project_id == project), None)
        if memory.overlay.ignored.get(project, known is not None and known.ignored):
            return True
        path = known.path if known is not None else self._paths.get(project)
        return path is not None and asks_to_be_ignored(Path(path))

    def worked(self, project: str, agent: str, *, besides: str) -> datetime | None:
        """Return when an agent's last conversation in a project ended, of those that were read.

        Raises:
            ViewDamaged: when the view cannot be read.
        """
        view = self._reader.memory().view
        ended = (
            instant(row["ended"])
            for row in (view.listed("sessions") if view is not None else ())
            if row["project_id"] == project and row["agent"] == agent and row["id"] != besides
        )
        return max(ended, default=None)
