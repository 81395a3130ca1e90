"""A home with published lessons, and the hook client run as an agent runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.domain.proposals import PutProject
from tasks.domain.units import Project
from tasks.hooks.wired import command
from tasks.store import publish
from tests.store.build import EARLIER, NOW, SCOPE, Home, episode, home_in, lesson, put, session

SESSION = "told-0"
"""Not held out at a half."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a hook's command came to."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Return what the model is to read, "" for nothing."""
        if not self.out:
            return ""
        told = json.loads(self.out)
        return str(told.get("reason") or told["hookSpecificOutput"]["additionalContext"])


@dataclass(slots=True)
class Hooked:
    """A home with a project folder, whose hooks are wired."""

    home: Home
    cwd: Path
    agent: str = "claude-code"
    env: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> Path:
        return self.home.places.home

    def line(self, event: str, *, agent: str | None = None) -> str:
        places = self.home.places
        return command(Path(sys.executable), places.home, places.socket, agent or self.agent, event)

    def __call__(
        self, event: str, told: Mapping[str, Any] | bytes, *, agent: str | None = None
    ) -> Ran:
        given = told if isinstance(told, bytes) else json.dumps(self.told(**told)).encode()
        done = subprocess.run(
            ["sh", "-c", self.line(event, agent=agent)],
            input=given,
            capture_output=True,
            env=self.environment(),
            timeout=20,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def told(self, **more: Any) -> dict[str, Any]:
        return {"session_id": SESSION, "cwd": str(self.cwd), **more}

    def environment(self) -> dict[str, str]:
        patient = {"EVEREST_HOOK_SECONDS": "9"}  # whatever else runs beside the tests
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **patient, **self.env}

    def prompted(self, prompt: str, **more: Any) -> Ran:
        return self("UserPromptSubmit", {"prompt": prompt, **more})

    def spooled(self) -> list[dict[str, Any]]:
        path = self.place / "spool" / "hooks.jsonl"
        return [json.loads(one) for one in path.read_bytes().splitlines()] if path.exists() else []

    def failures(self) -> list[str]:
        path = self.place / "spool" / "failures"
        return path.read_text().splitlines() if path.exists() else []

    def shown(self) -> list[dict[str, Any]]:
        files = sorted((self.place / "shown").glob("*.jsonl"))
        return [json.loads(one) for path in files for one in path.read_bytes().splitlines()]


def hooked(base: Path, texts: Sequence[str], **given: Any) -> Hooked:
    """Return a home that has learned the texts in a project folder, as the night publishes them."""
    cwd = base / "work" / "shop"
    cwd.mkdir(parents=True, exist_ok=True)
    home = home_in(base / "home", timezone="UTC", holdout=0.0, **given)
    learn(home, cwd, texts)
    return Hooked(home, cwd)


def learn(home: Home, cwd: Path, texts: Sequence[str], **given: Any) -> None:
    """Put lessons into a home's store and publish them."""
    shop = Project(SCOPE.project_id, "shop", str(cwd), (str(cwd),), EARLIER)
    proposals = [put(PutProject(shop)), put(session("first", cwd=str(cwd)))]
    for n, text in enumerate(texts):
        of = episode(f"{n}-{text}", text)
        proposals += [put(of), put(lesson(of, text=text, **given))]
    home.commit(*proposals)
    publish_home(home)


def publish_home(home: Home) -> None:
    with home.opened() as store:
        publish.publish(store, "hashed", at=NOW)
