"""The projects that sessions belong to, as an ingest meets them."""

from __future__ import annotations

from pathlib import Path

from tasks.domain.project import Probe, identify
from tasks.domain.session import Session
from tasks.domain.units import Project
from tasks.evidence.folders import asks_to_be_ignored
from tasks.store import reads
from tasks.store.handle import Store
from tasks.store.reads import Query, Subject

LeftOut = dict[str, str]
"""Of a session that was left out with its project: the project's id and path."""


class Projects:
    """What is known of projects and folders; a folder met once keeps its project."""

    def __init__(self, store: Store, probe: Probe) -> None:
        self._probe = probe
        self._cwds, self._known = _stored(store)

    def of(self, session: Session) -> Project:
        """Return a session's project, with the session's folder as the one met."""
        found = identify(session.cwd, self._cwds, self._probe)
        known = self._known.get(found.project_id)
        project = Project(
            found.project_id,
            known.name if known else found.name,
            known.path if known else found.path,
            (session.cwd,) if session.cwd else (),
            known.first_seen if known else session.started,
            ignored=known.ignored if known else False,
        )
        self._known.setdefault(found.project_id, project)
        if session.cwd:
            self._cwds.setdefault(session.cwd, found.project_id)
        return project

    def is_watched_again(self, left_out: LeftOut | None) -> bool:
        """Tell whether a file was left out with its project, and the project is not any more."""
        if left_out is None:
            return False
        known = self._known.get(left_out["project"])
        return not (known and known.ignored) and not asks_to_be_ignored(Path(left_out["path"]))


def leaves_out(project: Project) -> LeftOut | None:
    """Return what to keep of a session that is not to be read, None when it is."""
    if project.ignored or asks_to_be_ignored(Path(project.path)):
        return {"project": project.project_id, "path": project.path}
    return None


def _stored(store: Store) -> tuple[dict[str, str], dict[str, Project]]:
    cwds: dict[str, str] = {}
    projects: dict[str, Project] = {}
    for scope in reads.scopes(store.database):
        for row in reads.rows(store.database, Query(Subject.CWDS, scope)):
            cwds[row["cwd"]] = row["project_id"]
        for row in reads.rows(store.database, Query(Subject.PROJECTS, scope)):
            projects[row["project_id"]] = Project(
                row["project_id"],
                row["name"],
                row["path"],
                (),
                row["first_seen"],
                row["ignored"],
            )
    return cwds, projects
