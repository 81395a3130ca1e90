"""The reader of a process that answers a call and ends, or runs while no warm one does.

It opens the view anew for each reading, and loads no model: questions are read by their words.
"""

from __future__ import annotations

from serving.bound import Bound
from tasks.compose import Setting
from tasks.domain.clock import utc_now
from tasks.domain.project import Identified
from tasks.embedding.hashed import Hashed
from tasks.embedding.space import Space
from tasks.memory import Memory
from tasks.settings import Places


class ColdReader:
    """Reads the view as it lies on the disk."""

    space: Space = Hashed()  # a view in the model's space is then searched by words alone

    def __init__(self, places: Places) -> None:
        self._places = places

    def memory(self) -> Memory:
        """Return a reading."""
        return Memory(self._places)


def bound_here(where: Setting, project: Identified) -> Bound:
    """Return what calls of this process are bound to: one project of the person's."""
    scope = where.settings.scope(project.project_id)
    return Bound(ColdReader(where.places), scope, project, where.settings.zone, utc_now)
