"""Which project a command speaks of: the one named, or the one this folder belongs to."""

from __future__ import annotations

import os
from pathlib import Path

from tasks.domain.project import Identified, identify
from tasks.domain.scope import Scope
from tasks.errors import UnknownProject, UsageError
from tasks.evidence.folders import probe
from tasks.memory import Memory
from tasks.settings import Settings, absolute


def reading_scope(memory: Memory, settings: Settings, project: str | None) -> Scope:
    """Return the scope a read is of.

    Raises:
        UnknownProject: when the name, or this folder, is no project that the memory knows.
        AmbiguousName: when the name fits several.
    """
    if project is not None:
        return settings.scope(memory.project(_absolute(project)).project_id)
    here = _here(memory)
    known = {one.project_id for one in memory.projects}
    known |= {note.scope.project_id for note in memory.overlay.notes}  # made by the next night
    if here.project_id not in known:
        raise UnknownProject(here.path, sorted(known))
    return settings.scope(here.project_id)


def reading_scopes(memory: Memory, settings: Settings, project: str | None) -> list[Scope]:
    """Return the scopes that a list is of: one project's, or every one's for the person."""
    if project is not None:
        scope = reading_scope(memory, settings, project)
        return [scope, scope.everywhere()]
    projects = [settings.scope(one.project_id) for one in memory.projects]
    return [*projects, *({scope.everywhere() for scope in projects})]


def writing_project(memory: Memory, project: str | None) -> Identified:
    """Return the project that a write goes to; a folder never met before makes one.

    Raises:
        AmbiguousName: when the name fits several.
        UnknownProject: when a name that is no folder fits none.
    """
    if project is None:
        return _here(memory)
    try:
        known = memory.project(_absolute(project))
    except UnknownProject:
        if not Path(_absolute(project)).is_absolute():
            raise
        return identify(_absolute(project), memory.known_cwds(), probe)
    return Identified(known.project_id, known.path, known.name)


def named(project: str | None) -> str:
    """Return how another process of this machine is told of the project: by name or folder.

    An application that was started from a desktop stands at the root, where nobody works: what is
    said there is said at home.

    Raises:
        UsageError: when none is named and the present folder is gone.
    """
    if project is not None:
        return _absolute(project)
    here = _cwd()
    return str(absolute(Path("~"))) if here == os.sep else here


def _here(memory: Memory) -> Identified:
    return identify(_cwd(), memory.known_cwds(), probe)


def _cwd() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        why = "the folder you are in is gone; go to another one, or name a project with --project"
        raise UsageError(why) from None


def _absolute(name: str) -> str:
    """Return a path as an absolute one; a plain name stays what it is."""
    if name.startswith(("~", ".")) or os.sep in name:
        return str(absolute(Path(name)))
    return name
