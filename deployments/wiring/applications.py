"""Applications that take an MCP server and nothing else: Claude Desktop, Cursor, Windsurf, VS Code.

They start it in the folder that is open, or in none; `everest serve` makes do with either.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from deployments.wiring.dialect import PLAIN, ignored
from deployments.wiring.machine import SERVER, Agent, Machine, Ours
from deployments.wiring.spans import JsonText
from deployments.wiring.wishes import Entry, Target

DESKTOP: Final = "claude-desktop"
CURSOR: Final = "cursor"
WINDSURF: Final = "windsurf"
VSCODE: Final = "vscode"
_SERVERS: Final = "mcpServers"


def claude_desktop(machine: Machine, ours: Ours) -> Agent:
    """Return whether Claude Desktop is here, and what is to be wired."""
    path = machine.applications / "Claude" / "claude_desktop_config.json"
    restart = "quit it and start it again; while it runs it may write its own settings back"
    agent = _agent(DESKTOP, "Claude Desktop", path, ours.server())
    return replace(agent, notes=(restart,), obstacles=tuple(ignored(path, PLAIN)))


def cursor(machine: Machine, ours: Ours) -> Agent:
    """Return whether Cursor is here, and what is to be wired."""
    path = machine.home / ".cursor" / "mcp.json"
    return _agent(CURSOR, "Cursor", path, ours.server())


def windsurf(machine: Machine, ours: Ours) -> Agent:
    """Return whether Windsurf is here, and what is to be wired."""
    path = machine.home / ".codeium" / "windsurf" / "mcp_config.json"
    return _agent(WINDSURF, "Windsurf", path, ours.server())


def vscode(machine: Machine, ours: Ours) -> Agent:
    """Return whether VS Code is here, and what is to be wired: it has a key of its own."""
    path = machine.applications / "Code" / "User" / "mcp.json"
    return _agent(VSCODE, "VS Code", path, {"type": "stdio", **ours.server()}, key="servers")


def _agent(
    name: str,
    title: str,
    path: Path,
    entry: dict[str, Any],
    *,
    key: str = _SERVERS,
) -> Agent:
    target = Target(path, JsonText, (Entry((key, SERVER), entry),))
    return Agent(name, title, path.parent.is_dir(), (str(path.parent),), (target,))
