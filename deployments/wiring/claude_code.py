"""Claude Code: hooks in its settings, the MCP server in the file that it keeps itself."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from deployments.wiring.machine import SERVER, Agent, Machine, Ours
from deployments.wiring.spans import JsonText
from deployments.wiring.wishes import Entry, Hook, Option, Target, Wish

NAME: Final = "claude-code"
EVENTS: Final = (
    "UserPromptSubmit",
    "Stop",
    "PreToolUse",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
)
TIMEOUT: Final = 5
"""Seconds after which Claude Code gives up; our own deadline is far shorter."""


def look(machine: Machine, ours: Ours) -> Agent:
    """Return whether it is here, and what is to be wired."""
    folder = machine.folder("CLAUDE_CONFIG_DIR", ".claude")
    state = state_file(machine)
    hooks: list[Wish] = [
        Hook(
            event,
            {"type": "command", "command": ours.hook(NAME, event), "timeout": TIMEOUT},
        )
        for event in EVENTS
    ]
    if ours.door:
        hooks.append(Option(("env", "ANTHROPIC_BASE_URL"), ours.door))
    entry = {"type": "stdio", **ours.server()}
    return Agent(
        NAME,
        "Claude Code",
        folder.is_dir() or state.is_file() or machine.program("claude") is not None,
        (str(folder), str(state), "the command claude"),
        (
            Target(folder / "settings.json", JsonText, tuple(hooks)),
            Target(state, JsonText, (Entry(("mcpServers", SERVER), entry),), locked=True),
        ),
    )


def state_file(machine: Machine) -> Path:
    """Return the file in which Claude Code keeps its own state and the servers of all projects.

    It lies in the home folder itself unless CLAUDE_CONFIG_DIR is set; old installations have it
    under another name.
    """
    named = machine.environ.get("CLAUDE_CONFIG_DIR", "").strip()
    folder = machine.folder("CLAUDE_CONFIG_DIR", ".claude")
    usual = (folder if named else machine.home) / ".claude.json"
    old = folder / ".config.json"
    return old if old.is_file() and not usual.exists() else usual
