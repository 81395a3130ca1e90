"""Claude Code: hooks in its settings, the MCP server in the file that it keeps itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from deployments.wiring.dialect import WITH_MARK, ignored
from deployments.wiring.machine import SERVER, Agent, Machine, Ours
from deployments.wiring.peek import flag, peek
from deployments.wiring.spans import JsonText
from deployments.wiring.upstream import elsewhere
from deployments.wiring.wishes import Entry, Hook, Option, Target, Wish

NAME: Final = "claude-code"
EVENTS: Final = (
    "UserPromptSubmit",
    "Stop",
    "PreToolUse",
    "SessionStart",
    "SessionEnd",
)
"""PreCompact is none: it would put our whole command on the person's screen, and the transcript
keeps what was said before all the same."""
TIMEOUT: Final = 5
"""Seconds after which Claude Code gives up; our own deadline is far shorter."""
_ADDRESS: Final = ("env", "ANTHROPIC_BASE_URL")


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
    settings = peek(folder / "settings.json", JsonText)
    obstacles = [*ignored(folder / "settings.json", WITH_MARK), *ignored(state, WITH_MARK)]
    obstacles += _off(machine, settings)
    if ours.door:
        refused = elsewhere(ours, flag(settings, *_ADDRESS), "anthropic")
        obstacles += refused
        hooks += () if refused else (Option(_ADDRESS, ours.door),)
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
        obstacles=tuple(obstacles),
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


def _off(machine: Machine, settings: Any) -> Iterator[str]:
    """Yield what keeps hooks or the server of ours from running."""
    if flag(settings, "disableAllHooks") is True:
        yield "disableAllHooks is true in your settings: no hook runs until that is taken out"
    folder = "Library/Application Support/ClaudeCode" if machine.mac else "etc/claude-code"
    managed = machine.system / folder
    for path in (managed / "managed-settings.json", *_fragments(managed)):
        found = peek(path, JsonText)
        for name in ("disableAllHooks", "allowManagedHooksOnly"):
            if flag(found, name) is True:
                yield f"{name} is true in {path}, your administrator's: our hooks do not run"
        if flag(found, "allowManagedMcpServersOnly") is True:
            yield f"allowManagedMcpServersOnly is true in {path}: our server does not run"
    if (managed / "managed-mcp.json").is_file():
        yield f"{managed / 'managed-mcp.json'} alone says which servers run: ours does not"


def _fragments(managed: Path) -> list[Path]:
    try:
        return sorted((managed / "managed-settings.d").glob("*.json"))
    except OSError:
        return []
