"""Gemini CLI: hooks and the MCP server in its settings, the proxy's address in its `.env`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from deployments.wiring.dialect import WITH_COMMENTS, ignored
from deployments.wiring.dotenv import EnvText
from deployments.wiring.machine import SERVER, Agent, Machine, Ours
from deployments.wiring.peek import flag, peek
from deployments.wiring.spans import JsonText
from deployments.wiring.upstream import elsewhere
from deployments.wiring.wishes import Entry, Hook, Option, Target

NAME: Final = "gemini"
EVENTS: Final = (
    "BeforeAgent",
    "AfterAgent",
    "AfterTool",
    "SessionStart",
    "SessionEnd",
)
"""BeforeTool has no word for the model; PreCompress comes before every request, not a summary."""
TIMEOUT: Final = 5000
"""Milliseconds after which Gemini CLI gives up; our own deadline is far shorter."""
_ADDRESS: Final = "GOOGLE_GEMINI_BASE_URL"
_BY_KEY: Final = ("gemini-api-key", None)
_TITLE: Final = "Gemini CLI"


def look(machine: Machine, ours: Ours) -> Agent:
    """Return whether it is here, and what is to be wired."""
    folder = machine.folder("GEMINI_CLI_HOME", "") / ".gemini"
    settings = folder / "settings.json"
    found = peek(settings, JsonText)
    targets = [
        Target(
            settings,
            JsonText,
            (
                *(Hook(event, _handler(ours, event)) for event in EVENTS),
                Entry(("mcpServers", SERVER), ours.server()),
            ),
        )
    ]
    obstacles = [*ignored(settings, WITH_COMMENTS), *_off(machine, found)]
    variables = _variables(folder)
    led: tuple[Option, ...] = ()
    if ours.door:
        refused = _refused(ours, found, peek(variables, EnvText))
        obstacles += refused
        led = () if refused else (Option((_ADDRESS,), ours.door),)
    targets.append(Target(variables, EnvText, led))
    return Agent(
        NAME,
        _TITLE,
        folder.is_dir() or machine.program("gemini") is not None,
        (str(folder), "the command gemini"),
        tuple(targets),
        obstacles=tuple(obstacles),
    )


def _handler(ours: Ours, event: str) -> dict[str, Any]:
    return {
        "type": "command",
        "name": "everest",
        "command": ours.hook(NAME, event),
        "timeout": TIMEOUT,
    }


def _variables(folder: Path) -> Path:
    """Return the `.env` that it reads: its own, else the home folder's.

    It reads one of them alone, so making its own would hide the other.
    """
    own, general = folder / ".env", folder.parent / ".env"
    return general if general.is_file() and not own.is_file() else own


def _refused(ours: Ours, settings: Any, variables: Any) -> list[str]:
    """Return why it is not pointed at the proxy, nothing when it is."""
    auth = flag(settings, "security", "auth", "selectedType")
    if auth not in _BY_KEY:
        return [f"it signs in by {auth}, whose requests no proxy can send on: left as it is"]
    return elsewhere(ours, flag(variables, _ADDRESS), "gemini")


def _off(machine: Machine, settings: Any) -> Iterator[str]:
    """Yield what keeps hooks of ours from running."""
    system = "Library/Application Support/GeminiCli" if machine.mac else "etc/gemini-cli"
    everyones = machine.system / system / "settings.json"
    for where, found in (("your settings", settings), (everyones, peek(everyones, JsonText))):
        if flag(found, "hooksConfig", "enabled") is False:
            yield f"hooksConfig.enabled is false in {where}: no hook runs until that is taken out"
        named = flag(found, "hooksConfig", "disabled")
        if isinstance(named, list) and "everest" in named:
            yield f"everest is among hooksConfig.disabled in {where}: our hooks do not run"
