"""What a render is given and what it tells, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path

from tasks.domain.scope import GLOBAL
from tasks.domain.units import USABLE, Lesson, Lifecycle, Project, Tombstone
from tasks.errors import WriteFailed
from tasks.render.memory_md import OverLimit
from tasks.settings import Places


@dataclass(frozen=True, slots=True)
class RenderPlan:
    """Everything that decides what the files say.

    Attributes:
        lessons: current versions, of any trust and lifecycle; what may be rendered is chosen here.
        tombstones: those standing; vetoes among them are listed.
        host_root: the host's root whose transcripts were read, None to write under our home alone.
        at: the instant of the render; its ISO week in `zone` decides which lines are held out.
        holdout: share of a host's lines left out, 0 to 1.
    """

    lessons: tuple[Lesson, ...]
    projects: tuple[Project, ...]
    tombstones: tuple[Tombstone, ...]
    places: Places
    host_root: Path | None
    at: datetime
    zone: tzinfo
    holdout: float


@dataclass(frozen=True, slots=True)
class HostLines:
    """Which lessons' lines a host's `MEMORY.md` holds now; full ids, best first.

    Attributes:
        shown: those that the host loads.
        held_out: left out this week, to be measured against.
        omitted: no room for them, or beyond what the host loads.
    """

    index: Path
    project_id: str
    shown: tuple[str, ...]
    held_out: tuple[str, ...]
    omitted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a render did.

    Attributes:
        kept_edited: files that somebody else edited and that were left as they are.
        busy: `MEMORY.md` files that another program kept writing; the next render does them.
        over_limit: hosts' `MEMORY.md` files that are longer than their host loads.
        failed: files that could not be written, each with its reason; the others were.
    """

    written: int
    unchanged: int
    removed: int
    kept_edited: tuple[Path, ...]
    busy: tuple[Path, ...]
    over_limit: tuple[tuple[Path, OverLimit], ...]
    hosts: tuple[HostLines, ...]
    folders: tuple[Path, ...]
    failed: tuple[WriteFailed, ...]

    @property
    def held_out(self) -> int:
        """Return how many lines were left out for the week."""
        return sum(len(host.held_out) for host in self.hosts)


def renderable(lesson: Lesson) -> bool:
    """Tell whether a lesson may stand in a file: borne out or verified, live, and never else."""
    return lesson.trust in USABLE and lesson.lifecycle is Lifecycle.LIVE


def lessons_of(plan: RenderPlan, project_id: str) -> list[Lesson]:
    """Return the lessons whose files belong into a project's folder: its own and global ones."""
    return [
        lesson
        for lesson in plan.lessons
        if renderable(lesson) and lesson.scope.project_id in (project_id, GLOBAL)
    ]
