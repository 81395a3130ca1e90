"""The agents' real command lines: each with a home of its own, before a scripted model.

They are taken from PATH (npm's @anthropic-ai/claude-code, @openai/codex, @google/gemini-cli).
Invariant: nothing of theirs lies outside the person's home, and nothing runs on behind them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar

import pytest

from tasks.domain.holdout import held_out
from tests.serving.shipped import Everest
from tests.serving.terminal import Terminal, terminal, wait_until
from tests.serving.upstream import Received, Upstream

_FENCED = re.compile(r"(?:<|&lt;)everest-memory(?:>|&gt;)(.*?)(?:<|&lt;)/everest-memory(?:>|&gt;)")
_LONGEST = 120
_ALLOWED = ("--permission-mode", "default", "--allowedTools", "Bash")


@dataclass(frozen=True, slots=True)
class Request:
    """What an agent sent to its model."""

    received: Received

    @property
    def text(self) -> str:
        """Return its body."""
        return self.received.body.decode()

    @property
    def fenced(self) -> list[str]:
        """Return what stands in it in our fence, one text a fence."""
        return _FENCED.findall(self.text)

    @property
    def is_work(self) -> bool:
        """Tell whether the agent works with it: titles and counts offer no tools."""
        return bool(json.loads(self.text or "{}").get("tools"))


@dataclass(frozen=True, slots=True)
class Agent(ABC):
    """One command line for one person.

    Attributes:
        base: where it takes its model to be.
        wired: its name for `everest setup`.
        ready: stands on its screen when it can be typed into.
        leave: ends it.
    """

    person: Everest
    model: Upstream
    base: str
    command: ClassVar[str]
    wired: ClassVar[str]
    ready: ClassVar[str]
    leave: ClassVar[str]

    @property
    def env(self) -> dict[str, str]:
        """Return its environment."""
        more = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", **self.pointers()}
        return self.person.env(**more)

    def asked(self, prompt: str, session: str = "") -> list[Request]:
        """Let it answer one prompt with nobody there; return what it asked its model."""
        with self.asking() as asked:
            told = subprocess.run(
                [self.command, *self.headless(prompt, session)],
                env=self.env,
                cwd=self.person.cwd,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LONGEST,
                check=False,
            )
        assert told.returncode == 0, told.stderr.decode() + told.stdout.decode()
        return asked

    def typed(self, *talk: tuple[str, str], session: str = "") -> list[Request]:
        """Let the person say something, wait for the answer, and so on, then leave.

        Args:
            talk: what is typed, and with what the answer to it ends.
            session: the name to give the session.

        Returns:
            What the agent asked its model.
        """
        with self.asking() as asked, self.opened(session) as screen:
            screen.sees(self.ready)
            for typed, answer in talk:
                before = screen.screen().count(answer)
                screen.types(typed)
                screen.sees(answer, times=before + 1)
                screen.settles()
            screen.types(self.leave)
            wait_until(screen.is_over)
        return asked

    @contextmanager
    def asking(self) -> Iterator[list[Request]]:
        """Give a list that holds, once the block has ended, what was asked of the model in it."""
        before, asked = len(self.model.received), list[Request]()
        yield asked
        made = [Request(one) for one in self.model.received[before:] if one.method == "POST"]
        asked += [one for one in made if one.is_work]

    @contextmanager
    def opened(self, session: str = "") -> Iterator[Terminal]:
        """Run it at a terminal."""
        command, socket = [self.command, *self.screen(session)], self.person.base / "tmux"
        with terminal(command, env=self.env, cwd=self.person.cwd, socket=socket) as screen:
            yield screen

    @abstractmethod
    def settle(self) -> None:
        """Make its home as it is after the first run: it asks nothing."""

    def trust_hooks(self) -> None:
        """Let the person agree to the hooks that are new, if it asks for that."""
        return

    @abstractmethod
    def pointers(self) -> dict[str, str]:
        """Return the environment that leads it to its home and its model."""

    @abstractmethod
    def headless(self, prompt: str, session: str) -> Sequence[str]:
        """Return its words for one prompt."""

    @abstractmethod
    def screen(self, session: str) -> Sequence[str]:
        """Return its words for a terminal."""


class Claude(Agent):
    """Claude Code."""

    command, wired, ready, leave = "claude", "claude-code", "❯", "/exit"

    def settle(self) -> None:
        self.person.claude.mkdir(exist_ok=True)
        state = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
            "projects": {str(self.person.cwd): {"hasTrustDialogAccepted": True}},
        }
        (self.person.user / ".claude.json").write_text(json.dumps(state))

    def pointers(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.base,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_TMPDIR": str(self.person.base),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def headless(self, prompt: str, session: str) -> Sequence[str]:
        return ["-p", prompt, *self.screen(session)]

    def screen(self, session: str) -> Sequence[str]:
        named = ["--session-id", session] if session else []
        return ["--model", "claude-opus-4-8", *_ALLOWED, *named]


class Codex(Agent):
    """Codex; its background server is left off, or it would outlive the test."""

    command, wired, ready, leave = "codex", "codex", "Ask Codex", "/quit"

    def settle(self) -> None:
        home = self.person.user / ".codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(f"""
model = "gpt-5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[features]
daemon_auto_start = false
[model_providers.scripted]
name = "scripted"
base_url = "{self.base}/v1"
wire_api = "responses"
env_key = "DUMMY_KEY"
supports_websockets = false
[projects."{self.person.cwd}"]
trust_level = "trusted"
""")

    def trust_hooks(self) -> None:
        with self.opened() as screen:
            screen.sees("Trust all and continue")
            screen.settles()  # it takes no key before
            screen.press("Down")
            screen.sees("› 2.")
            screen.press("Enter")
            screen.sees(self.ready)
            screen.types(self.leave)
            wait_until(screen.is_over)

    def pointers(self) -> dict[str, str]:
        return {"DUMMY_KEY": "dummy"}

    def headless(self, prompt: str, session: str) -> Sequence[str]:
        assert not session, "it takes no name for a session"
        return ["exec", prompt]

    def screen(self, session: str) -> Sequence[str]:
        assert not session, "it takes no name for a session"
        return []


class Gemini(Agent):
    """Gemini CLI."""

    command, wired, ready, leave = "gemini", "gemini", "Type your message", "/quit"

    def settle(self) -> None:
        home = self.person.user / ".gemini"
        home.mkdir(exist_ok=True)
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True},
        }
        (home / "settings.json").write_text(json.dumps(settings, indent=2))

    def pointers(self) -> dict[str, str]:
        return {
            "GOOGLE_GEMINI_BASE_URL": self.base,
            "GEMINI_API_KEY": "dummy",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def headless(self, prompt: str, session: str) -> Sequence[str]:
        return ["-p", prompt, *self.screen(session)]

    def screen(self, session: str) -> Sequence[str]:
        named = ["--session-id", session] if session else []
        return ["--approval-mode", "yolo", "-m", "gemini-2.5-flash", *named]


def in_time(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test of the person's hooks once more when it fails while hooks were too late.

    A hook that is late says nothing, which is right, and on a busy machine a few are.
    """

    @wraps(test)
    def tried(**given: Any) -> None:
        person = next(one.person for one in given.values() if hasattr(one, "person"))
        before = _late(person)
        try:
            test(**given)
        except AssertionError:
            if _late(person) == before:
                raise
            test(**given)

    return tried


def _late(person: Everest) -> int:
    """Return how many hooks were too late so far."""
    path = person.home / "spool" / "failures"
    return path.read_text().lower().count("late\n") if path.exists() else 0


def need(*commands: str) -> None:
    """Skip where a command is not installed."""
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip(f"the command {command} is not installed")


def session(share: float, *, held: bool) -> str:
    """Return a new session's id that is held out at a share, or that is not."""
    while held_out(made := str(uuid.uuid4()), share) is not held:
        pass
    return made
