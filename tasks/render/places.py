"""Where a project's lesson files go: always under our home; into a host's memory if asked.

A host's folder is named from the project's path (its git repository), never a session's folder.
Invariant: without a host root nothing outside our home is named.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tasks.domain.units import Project

INDEX: Final = "MEMORY.md"
"""The file of a memory folder that the host loads at every start."""

_LONGEST: Final = 200
_OTHER: Final = re.compile(r"[^A-Za-z0-9]")
_DRIVE: Final = re.compile(r"[A-Za-z]:(?=/|\Z)")


@dataclass(frozen=True, slots=True)
class Folder:
    """One place where a project's lessons are written.

    Attributes:
        of_host: an agent loads it by itself, so lines in it are held out and count as shown.
    """

    path: Path
    project_id: str
    of_host: bool

    @property
    def index(self) -> Path:
        """Return the folder's `MEMORY.md`."""
        return self.path / INDEX


def encode(path: str) -> str:
    """Return the name that Claude Code gives a folder's path; a long one is cut and hashed.

    The hash of a long name is ours: the host's is not documented, so `host_folder` looks for it.
    """
    plain = _OTHER.sub("-", path)
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[:_LONGEST]}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"


def home_folder(memory: Path, project: Project) -> Folder:
    """Return the project's folder under our own home, whose `memory/` is given."""
    return Folder(memory / project.project_id, project.project_id, of_host=False)


def host_folder(host_root: Path, project: Project) -> Folder | None:
    """Return the project's memory folder in a host's root, None when the host would not look there.

    It would for a folder it has already named, or for a project that lies on this machine.
    """
    if not (project.path.startswith("/") or _DRIVE.match(project.path)):
        return None
    projects = host_root / "projects"
    named = next((p for p in _spellings(projects, project.path) if p.is_dir()), None)
    if named is None and len(project.path) <= _LONGEST and Path(project.path).is_dir():
        named = projects / encode(project.path)
    return None if named is None else Folder(named / "memory", project.project_id, of_host=True)


def folders(
    projects: Iterable[Project], *, memory: Path, host_root: Path | None
) -> tuple[Folder, ...]:
    """Return every folder to write, sorted by path; ignored projects have none."""
    found: dict[Path, Folder] = {}
    for project in sorted(projects, key=lambda p: p.project_id):
        if project.ignored:
            continue
        host = host_folder(host_root, project) if host_root is not None else None
        for folder in (home_folder(memory, project), host):
            if folder is not None:
                found.setdefault(folder.path, folder)
    return tuple(found[path] for path in sorted(found))


def _spellings(projects: Path, path: str) -> list[Path]:
    # A host writes a drive letter as the shell gave it; ours is lower-cased.
    names = [encode(path)]
    if _DRIVE.match(path):
        names.append(encode(path[0].upper() + path[1:]))
    if len(path) > _LONGEST:
        cut = _OTHER.sub("-", path)[:_LONGEST]
        names = sorted(p.name for p in projects.glob(f"{cut}-*"))
        return [projects / names[0]] if len(names) == 1 else []
    return [projects / name for name in names]
