"""Which project a session belongs to, and which project a name means.

A folder that was ever met keeps its project, moved or deleted; all worktrees of a repository are
one project. The disk is asked only through the probe that is passed in.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tasks.domain.units import Project
from tasks.errors import AmbiguousName, UnknownProject

NO_FOLDER: Final = "no-folder"
"""The name of the one project of sessions whose host records no folder."""

_EXTENDED: Final = re.compile(r"^//[?.]/(?:UNC/)?", re.IGNORECASE)
_DRIVE: Final = re.compile(r"^[A-Za-z]:(?=/|$)")
_WORKTREE: Final = re.compile(r"(?<=.)/(?:\.claude/worktrees|\.worktrees)/.+$", re.DOTALL)
_NOT_SLUG: Final = re.compile(r"[^a-z0-9]+")
_SLUG_LENGTH: Final = 40
_ID: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[0-9a-f]{8}\Z")
_HASH: Final = re.compile(r"-[0-9a-f]{8}\Z")


@dataclass(frozen=True, slots=True)
class Folder:
    """An existing folder, as a probe found it; every path absolute, symlinks resolved.

    Attributes:
        top: the top level of the git worktree it lies in, if any.
        common: that repository's common directory (shared by all its worktrees), if any.
    """

    path: str
    top: str | None = None
    common: str | None = None


@dataclass(frozen=True, slots=True)
class Identified:
    """The project of a folder; a stored project's own path and name win over these."""

    project_id: str
    path: str
    name: str


Probe = Callable[[str], Folder | None]


def identify(cwd: str, known: Mapping[str, str], probe: Probe) -> Identified:
    """Return the project that a session's first working directory belongs to.

    Args:
        cwd: as the host wrote it; blank when it writes none.
        known: raw cwd -> project id, of every folder met before; looked at first.
        probe: what the disk says of a folder, None when it is not there.
    """
    if cwd in known:
        path = _by_name(cwd)
        return Identified(known[cwd], path, _last(path))
    path = _root(cwd, probe(cwd) if cwd.strip() else None)
    return Identified(project_id(path), path, _last(path))


def project_id(path: str) -> str:
    """Return a project's id: slug of the path's last part, `-`, 8 hex of the path's SHA-256."""
    hashed = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{slug(_last(path))}-{hashed[:8]}"


def is_id(name: str) -> bool:
    """Tell whether a name has the form of a project's id."""
    return _ID.match(name) is not None


def by_id(project: str) -> Identified:
    """Return a project of which nothing but its id is known: it is called by what is in that."""
    name = _HASH.sub("", project) or project
    return Identified(project, name, name)


def slug(text: str) -> str:
    """Return `text` as ASCII letters and digits joined by `-`: safe in ids, headers and URLs."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _NOT_SLUG.sub("-", plain).strip("-")[:_SLUG_LENGTH].rstrip("-") or "project"


def normalise(path: str) -> str:
    """Return a path of any system in one spelling: `/`, small drive letter, no slash at the end."""
    slashed = unicodedata.normalize("NFC", path).replace("\\", "/")
    plain = _EXTENDED.sub(lambda m: "//" if "unc" in m[0].lower() else "", slashed)
    lowered = _DRIVE.sub(lambda m: m[0].lower(), plain)
    normal = posixpath.normpath(lowered) if lowered.strip("/ ") else lowered.strip()
    return normal + "/" if _DRIVE.fullmatch(normal) else normal


def resolve_name(name: str, projects: Sequence[Project], aliases: Mapping[str, str]) -> Project:
    """Return the project that an id, a name or an absolute path means.

    Args:
        name: what a person or an agent wrote; an id wins over a path, a path over a name.
        projects: those within the caller's grant.
        aliases: project id (or former name) -> the id it was merged into.

    Raises:
        UnknownProject: when nothing fits.
        AmbiguousName: when several do; lists them.
    """
    by_id = {project.project_id: project for project in projects}
    for fits in (_ids(name, aliases), _at_path(name, projects), _called(name, projects)):
        merged = {current_id(found, aliases) for found in fits} & by_id.keys()
        if len(merged) > 1:
            raise AmbiguousName(name, [f"{by_id[i].name} ({i})" for i in sorted(merged)])
        if merged:
            return by_id[merged.pop()]
    raise UnknownProject(name, sorted(by_id.keys() - aliases.keys()))


def current_id(project: str, aliases: Mapping[str, str]) -> str:
    """Return the id that a project goes by after merges; a circle of aliases is cut."""
    met = {project}
    while (following := aliases.get(project)) is not None and following not in met:
        met.add(following)
        project = following
    return project


def _root(cwd: str, folder: Folder | None) -> str:
    if folder is None:
        return _by_name(cwd)
    if folder.common is not None and posixpath.basename(folder.common) == ".git":
        return normalise(posixpath.dirname(folder.common))
    return normalise(folder.top or folder.path)


def _by_name(cwd: str) -> str:
    """Return the path without a worktree's part: hosts put worktrees under their repository."""
    return _WORKTREE.sub("", normalise(cwd))


def _last(path: str) -> str:
    return posixpath.basename(path.rstrip("/")) or path or NO_FOLDER


def _ids(name: str, aliases: Mapping[str, str]) -> Iterable[str]:
    return (name, current_id(name, aliases))


def _at_path(name: str, projects: Sequence[Project]) -> Iterable[str]:
    places = {normalise(name), _by_name(name)} - {""}
    for project in projects:
        if places & {project.path, *(normalise(cwd) for cwd in project.cwds)}:
            yield project.project_id


def _called(name: str, projects: Sequence[Project]) -> Iterable[str]:
    wanted = unicodedata.normalize("NFC", name).casefold()
    return (
        p.project_id for p in projects if unicodedata.normalize("NFC", p.name).casefold() == wanted
    )
