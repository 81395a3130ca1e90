"""What the disk says of a folder: whether it is there and which git repository it lies in.

Reads at most two small files and runs no git; a folder that cannot be looked into is answered like
one that is not there, never with an error.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tasks.domain.project import Folder

IGNORE_FILE: Final = ".everest-ignore"
"""A file of this name in a project's folder keeps Everest away from what is done there."""

_POINTER: Final = "gitdir:"
_MOST: Final = 4096


def probe(path: str) -> Folder | None:
    """Return the folder at an absolute path, symlinks resolved; None when out of reach."""
    try:
        if not Path(path).is_absolute() or not Path(path).is_dir():
            return None
        folder = Path(os.path.realpath(path))
    except (OSError, ValueError):  # ValueError: a NUL byte in the path
        return None
    for top in (folder, *folder.parents):
        common = _common(top)
        if common is not None:
            return Folder(str(folder), top=str(top), common=str(common))
    return Folder(str(folder))


def asks_to_be_ignored(folder: Path) -> bool:
    """Tell whether a project's folder holds the file that keeps us away."""
    try:
        return (folder / IGNORE_FILE).exists()
    except (OSError, ValueError):
        return False


def _common(top: Path) -> Path | None:
    """Return the common directory of the repository whose worktree begins at `top`, if one does."""
    entry = top / ".git"
    try:
        if entry.is_dir():
            return Path(os.path.realpath(entry)) if (entry / "HEAD").exists() else None
        pointer = _first_line(entry)
    except (OSError, ValueError):
        return None
    if not pointer.startswith(_POINTER):
        return None
    return _shared(_joined(top, pointer.removeprefix(_POINTER).strip()))


def _shared(git_dir: Path) -> Path:
    """Return what a worktree's git directory shares; a submodule's shares nothing: itself."""
    try:
        return _joined(git_dir, _first_line(git_dir / "commondir"))
    except (OSError, ValueError):
        if (
            git_dir.parent.name == "worktrees"
        ):  # pruned, or its repository moved: the name still says
            return git_dir.parent.parent
        return git_dir


def _first_line(file: Path) -> str:
    with file.open("rb") as stream:
        return os.fsdecode(stream.read(_MOST)).partition("\n")[0].strip()


def _joined(base: Path, written: str) -> Path:
    return Path(os.path.realpath(base / written))
