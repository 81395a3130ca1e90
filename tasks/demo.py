"""A made-up week of two projects, written as Claude Code transcripts, for a newcomer's first night.

The scenes are data (`demo_week.toml`); this writes them in the host's record format, with the
noise that real files have. Invariant: the same `now` gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tasks.demo_records import Transcript
from tasks.durable import swap_file
from tasks.render.places import encode

_SCENES: Final = "demo_week.toml"
_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "demo.everest-memory")


@dataclass(frozen=True, slots=True)
class DemoWeek:
    """What was written.

    Attributes:
        root: the folder to give to `--transcripts`, or to take for a host's root.
        files: one transcript a session, in the order in which the sessions took place.
        projects: the folders the sessions claim to have worked in; they need not exist.
        token: the made-up credential that a person pastes in one of them.
    """

    root: Path
    files: tuple[Path, ...]
    projects: tuple[str, ...]
    token: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One session as it is told in the data."""

    cwd: str
    started: datetime
    branch: str
    title: str
    steps: tuple[Mapping[str, str], ...]


def write_week(root: Path, *, now: datetime) -> DemoWeek:
    """Write the week that ended the day before `now` (UTC) under `root`, laid out as the host does.

    Raises:
        WriteFailed: when the disk refuses.
    """
    token = _token(now)
    scenes = sorted(week(now), key=lambda scene: scene.started)
    files = tuple(_write(root, scene, token) for scene in scenes)
    return DemoWeek(root, files, tuple(sorted({scene.cwd for scene in scenes})), token)


def week(now: datetime) -> list[Scene]:
    """Return the scenes, dated back from `now`."""
    told = tomllib.loads(resources.files("tasks").joinpath(_SCENES).read_text("utf-8"))
    return [_scene(session, told["projects"], now) for session in told["session"]]


def _scene(told: Mapping[str, Any], projects: Mapping[str, str], now: datetime) -> Scene:
    day = now.astimezone(UTC).date() - timedelta(days=told["day"])
    return Scene(
        cwd=projects[told["project"]],
        started=datetime.combine(day, time.fromisoformat(told["time"]), UTC),
        branch=told["branch"],
        title=told["title"],
        steps=tuple(told["steps"]),
    )


def _write(root: Path, scene: Scene, token: str) -> Path:
    session_id = str(uuid.uuid5(_NAMESPACE, f"{scene.cwd} {scene.started.isoformat()}"))
    transcript = Transcript(session_id, scene.cwd, scene.branch, scene.started)
    for step in scene.steps:
        transcript.act({act: text.replace("{token}", token) for act, text in step.items()})
    records = transcript.closed(scene.title)
    path = root / "projects" / encode(scene.cwd) / f"{session_id}.jsonl"
    swap_file(path, b"".join(_line(record) for record in records))
    ended = transcript.at.timestamp()
    os.utime(path, (ended, ended))
    return path


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _token(now: datetime) -> str:
    # Put together here, so that no scanner finds a credential in the repository.
    return "ghp_" + hashlib.sha256(f"demo {now.date()}".encode()).hexdigest()[:36]
