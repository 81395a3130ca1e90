"""Lessons, projects and plans for the tests of rendering."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tasks.domain.ids import digest_of
from tasks.domain.scope import Scope
from tasks.domain.units import (
    EpisodeKind,
    Grounding,
    Lesson,
    Lifecycle,
    Project,
    Strength,
    Tombstone,
    TombstoneKind,
    Trust,
)
from tasks.render.lesson_file import file_name
from tasks.render.plan import Rendered, RenderPlan
from tasks.render.render import render
from tasks.settings import Places

NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
SHOP = "shop-0a1b2c3d"
TIDE = "tide-4e5f6071"


def scope(project_id: str) -> Scope:
    return Scope("me", "user", "default", project_id)


def lesson(
    name: str, text: str = "", *, project: str = SHOP, sessions: int = 1, **changes: Any
) -> Lesson:
    made = Lesson(
        id=digest_of("test", name),
        version=1,
        scope=scope(project),
        kind=EpisodeKind.CORRECTION,
        text=text or f"Use {name}.",
        quote=f"no, use {name}",
        trust=Trust.CORROBORATED,
        lifecycle=Lifecycle.LIVE,
        grounding=Grounding.PERSON,
        sources=("e1",),
        sessions=tuple(f"s{n}" for n in range(sessions)),
        valid_from=NOW - timedelta(days=6),
        recorded_at=NOW,
        strength=Strength(1.0, NOW),
        hash="0" * 64,
    )
    return replace(made, **changes)


def veto(of: Lesson) -> Tombstone:
    return Tombstone(
        "t1",
        TombstoneKind.VETO,
        of.scope,
        "lesson",
        of.id,
        (),
        (),
        "its file was deleted",
        "file",
        NOW,
    )


@dataclass
class Desk:
    """A home, a host's root and repositories in a temporary folder, and what is known of them."""

    root: Path
    lessons: tuple[Lesson, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    holdout: float = 0.0
    at: datetime = NOW
    with_host: bool = True
    names: tuple[str, ...] = (SHOP,)
    projects: tuple[Project, ...] = field(init=False)

    def __post_init__(self) -> None:
        made = []
        for name in self.names:
            path = self.root / "code" / name
            path.mkdir(parents=True, exist_ok=True)
            made.append(Project(name, name, str(path), (str(path),), NOW))
        self.projects = tuple(made)

    @property
    def places(self) -> Places:
        return Places(self.root / "home")

    @property
    def host(self) -> Path:
        return self.root / "claude"

    def render(self) -> Rendered:
        return render(
            RenderPlan(
                lessons=self.lessons,
                projects=self.projects,
                tombstones=self.tombstones,
                places=self.places,
                host_root=self.host if self.with_host else None,
                at=self.at,
                zone=UTC,
                holdout=self.holdout,
            )
        )

    def host_memory(self) -> Path:
        (found,) = self.host.glob("projects/*/memory")
        return found

    def host_index(self) -> Path:
        return self.host_memory() / "MEMORY.md"

    def host_file(self, of: Lesson) -> Path:
        return self.host_memory() / file_name(of.id)

    def home_file(self, of: Lesson, project: str = SHOP) -> Path:
        return self.places.memory / project / file_name(of.id)

    def files(self) -> dict[Path, tuple[int, bytes]]:
        """Every file with its time of change and its bytes."""
        return {
            path: (path.stat().st_mtime_ns, path.read_bytes())
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }
