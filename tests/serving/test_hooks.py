"""Hooks as agents run them: the shipped process, its socket, and what an agent is to print."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving.running import RunningProxy, body_of, request, running_proxy, status_of
from tests.serving.shipped import Everest

FOLDER = "/home/mia/code/paperboat"
ASKS = "Do we use pnpm or npm in this repo?"
LESSON = "We always use pnpm in this repo."


@pytest.fixture(scope="module")
def home(slept_once: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(slept_once[1], tmp_path_factory.mktemp("hooks") / "base"))


@pytest.fixture(scope="module")
def door(home: Path) -> Iterator[RunningProxy]:
    with running_proxy(Everest(home)) as running:
        yield running


def fired(door: RunningProxy, event: str, agent: str = "claude-code", **told: Any) -> str:
    """Return what a hook is to print."""
    given = {
        "session_id": "s1",
        "cwd": FOLDER,
        "hook_event_name": event,
        **told,
    }
    answer = door.raw_unix(request(f"/hook/{agent}/{event}", body=json.dumps(given).encode()))
    assert status_of(answer) == 200, answer
    return body_of(answer).decode()


def test_a_prompt_is_told_the_lesson_that_bears_on_it(door: RunningProxy) -> None:
    printed = fired(door, "UserPromptSubmit", prompt=ASKS)

    told = json.loads(printed)["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert LESSON in told["additionalContext"]
