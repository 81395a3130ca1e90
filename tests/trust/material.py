"""What happened before a run: transcripts of two projects, nights and words of earlier days."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Final

from flows.nightly import night
from tasks.compose import setting
from tasks.demo import week
from tasks.demo_records import Transcript
from tasks.domain.clock import instant, utc_now
from tasks.domain.project import Identified
from tasks.domain.proposals import Actor
from tasks.memory import Memory
from tasks.night import opened
from tasks.render.places import encode
from tasks.runs import new_run
from tasks.said import remember
from tasks.steps import plain_steps
from tasks.store.digest import store_digest
from tasks.store.handle import open_store
from tasks.store.schema import MIGRATIONS

Step = Mapping[str, str]

PAPERBOAT: Final = "/home/mia/code/paperboat"
TIDEWATER: Final = "/home/mia/code/tidewater"
FADED: Final = "the kiosk printer is lent to the harbour office"
_LANTERN: Final[tuple[Step, ...]] = (
    {"you": "Draw the lamp of the lighthouse on the title page."},
    {"runs": "make render", "fails": "Exit code 2\nmake: *** No rule to make target 'render'."},
    {"says": "There is no such target; I'll call the script."},
    {"runs": "python draw.py", "gives": "drawn"},
    {"you": "No, always build with make lamp in this repo, never call draw.py yourself."},
    {"says": "Built with make lamp."},
)
_LANTERN_LATER: Final[tuple[Step, ...]] = (
    {"you": "Now the buoys."},
    {"runs": "make render", "fails": "Exit code 2\nmake: *** No rule to make target 'render'."},
    {"you": "No, never call draw.py yourself, always build with make lamp in this repo."},
    {"says": "Built with make lamp."},
)
_SPLIT: Final = 5
"""How many of the demo's scenes took place before the first night."""


def first_week(claude: Path, now: datetime) -> None:
    """Write what an agent left behind before the first night."""
    scenes = sorted(week(now), key=lambda scene: scene.started)
    for scene in scenes[:_SPLIT]:
        _write(claude, scene.cwd, scene.started, scene.steps, scene.title)
    _write(claude, TIDEWATER, _day(now, 6), _LANTERN)


def second_week(claude: Path, now: datetime) -> None:
    """Write what came since: more sessions, and more turns at the end of an older one."""
    scenes = sorted(week(now), key=lambda scene: scene.started)
    for scene in (scenes[7], scenes[10]):
        _write(claude, scene.cwd, scene.started, scene.steps, scene.title)
    _write(claude, TIDEWATER, _day(now, 6), (*_LANTERN, *_LANTERN_LATER), "The lamp")
    _write(claude, TIDEWATER, _day(now, 2), _LANTERN_LATER)


def _day(now: datetime, days: int) -> datetime:
    return datetime.combine(now.date() - timedelta(days=days), time(9, 30), UTC)


def _write(
    claude: Path, cwd: str, started: datetime, steps: Iterable[Step], title: str = ""
) -> None:
    session = str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{cwd} {started.isoformat()}"))
    transcript = Transcript(session, cwd, "main", started)
    for step in steps:
        transcript.act({act: text.replace("{token}", "a token") for act, text in step.items()})
    records = transcript.closed(title) if title else transcript.records
    path = claude / "projects" / encode(cwd) / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    os.utime(path, (transcript.at.timestamp(), transcript.at.timestamp()))


def night_at(at: str) -> None:
    """Run a night on an earlier day; called in a process of its own."""
    where = setting()
    with opened(where, new_run("nightly"), at=instant(at)) as run:
        night(plain_steps(), run)
    lines = map(json.loads, where.places.runs.read_text().splitlines())
    ended = [{**line, "at": min(line["at"], at)} for line in lines]  # a run ends by the wall clock
    where.places.runs.write_text("".join(json.dumps(line) + "\n" for line in ended))


def remembered_at(at: str, text: str, project: str) -> None:
    """Say something on an earlier day; called in a process of its own."""
    where = setting()
    memory = Memory(where.places)
    known = memory.project(project)
    remember(
        memory,
        text,
        scope=where.settings.scope(known.project_id),
        project=Identified(known.project_id, known.name, known.path),
        actor=Actor.PERSON,
        at=instant(at),
    )


def touched_files(claude: Path, project: str) -> tuple[Path, Path, Path]:
    """Return two lesson files and the index of a project: to be edited, deleted and added to."""
    folder = claude / "projects" / encode(project) / "memory"
    files: Sequence[Path] = sorted(folder.glob("everest-*.md"))
    return files[0], files[1], folder / "MEMORY.md"


def opened_by_a_newer_release() -> str:
    """Open the store as a release with one more schema does; return its digest."""
    where = setting()
    newer = (*MIGRATIONS, ("CREATE TABLE newly (x INTEGER)",))
    with open_store(where.places, where.settings, at=utc_now(), migrations=newer) as store:
        return store_digest(store.database)
