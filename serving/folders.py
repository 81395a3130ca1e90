"""The project of a folder that an agent works in, and whether it is to be left alone."""

from __future__ import annotations

from pathlib import Path

from serving.reader import Reader
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
        projects = self._reader.memory().projects
        known = next((one for one in projects if one.project_id == project), None)
        if known is not None and known.ignored:
            return True
        path = known.path if known is not None else self._paths.get(project)
        return path is not None and asks_to_be_ignored(Path(path))
