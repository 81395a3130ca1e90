"""Codex: the MCP server and a provider for the proxy in its settings, hooks beside them.

Hooks go where the person has theirs: Codex warns of settings that come in two forms.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from deployments.wiring.dialect import PLAIN, ignored
from deployments.wiring.machine import SERVER, Agent, Machine, Ours
from deployments.wiring.peek import flag, peek
from deployments.wiring.spans import JsonText
from deployments.wiring.tomls import TomlText
from deployments.wiring.upstream import elsewhere
from deployments.wiring.wishes import Entry, Hook, Option, Target, Wish

NAME: Final = "codex"
EVENTS: Final = (
    "UserPromptSubmit",
    "Stop",
    "PreToolUse",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
)
TIMEOUT: Final = 5
"""Seconds after which Codex gives up; our own deadline is far shorter."""
_AT_END: Final = 3
"""Seconds that it gives a hook at a session's end; more is cut down, with a warning."""
_FLAGS: Final = ("hooks", "codex_hooks")
_PATIENCE: Final = 10.0
_TITLE: Final = "Codex"


def look(machine: Machine, ours: Ours) -> Agent:
    """Return whether it is here, and what is to be wired."""
    folder = machine.folder("CODEX_HOME", ".codex")
    config = folder / "config.toml"
    settings, program = peek(config, TomlText), machine.program("codex")
    hooks = [Hook(event, _handler(ours, event)) for event in EVENTS]
    wishes: list[Wish] = [Entry(("mcp_servers", SERVER), ours.server())]
    if gate := _gate(machine, program, settings):
        wishes.append(Option(("features", gate), value=True))
    obstacles = [*ignored(folder / "hooks.json", PLAIN), *_off(machine, settings)]
    if ours.door:
        refused = _refused(ours, settings, peek(folder / "auth.json", JsonText))
        obstacles += refused
        wishes += () if refused else _provider(ours.door, folder)
    inline = _has_inline(settings)
    return Agent(
        NAME,
        _TITLE,
        folder.is_dir() or program is not None,
        (str(folder), "the command codex"),
        (
            Target(config, TomlText, (*wishes, *(hooks if inline else ()))),
            Target(folder / "hooks.json", JsonText, () if inline else tuple(hooks)),
        ),
        ("it runs new hooks only once you trust them: start codex and enter /hooks",),
        tuple(obstacles),
    )


def _handler(ours: Ours, event: str) -> dict[str, Any]:
    timeout = _AT_END if event == "SessionEnd" else TIMEOUT
    return {"type": "command", "command": ours.hook(NAME, event), "timeout": timeout}


def _provider(door: str, folder: Path) -> list[Wish]:
    """Return the provider that leads to the proxy, with the key that Codex has now."""
    signed_in = (folder / "auth.json").is_file()
    key: dict[str, Any] = (
        {"requires_openai_auth": True} if signed_in else {"env_key": "OPENAI_API_KEY"}
    )
    entry = {
        "name": "Everest",
        "base_url": f"{door}/v1",
        "wire_api": "responses",
        "supports_websockets": False,
        **key,
    }
    return [
        Option(("model_provider",), SERVER),
        Entry(("model_providers", SERVER), entry),
    ]


def _refused(ours: Ours, settings: Any, auth: Any) -> list[str]:
    """Return why it is not pointed at the proxy, nothing when it is."""
    if flag(auth, "tokens") and not flag(auth, "OPENAI_API_KEY"):
        return ["it is signed in with ChatGPT, whose requests no proxy can send on: left as it is"]
    provider = flag(settings, "model_provider")
    if provider in (None, "openai", SERVER):
        return []
    address = flag(settings, "model_providers", str(provider), "base_url")
    return elsewhere(ours, address or f"the provider {provider}", "openai")


def _has_inline(settings: Any) -> bool:
    """Tell whether hooks stand in config.toml; what Codex notes of trust there is none."""
    hooks = flag(settings, "hooks")
    return isinstance(hooks, dict) and any(isinstance(one, list) for one in hooks.values())


def _gate(machine: Machine, program: Path | None, settings: Any) -> str | None:
    """Return the feature to switch on for hooks to run, None when none is needed or wanted."""
    features = flag(settings, "features")
    said = {name: features[name] for name in _FLAGS if name in features} if features else {}
    if said:
        return next((name for name, on in said.items() if on), None)
    if program is None:
        return None
    for line in _features(machine, program):
        name, *_, on = line.split() or ["", ""]
        if name in _FLAGS:
            return name if on == "false" else None
    return None


def _features(machine: Machine, program: Path) -> list[str]:
    """Return what Codex has by itself, nothing when it does not say in time.

    It writes into its folder whatever it is asked, so it is given one of its own; what the
    person's settings say of features was looked at before.
    """
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            said = subprocess.run(  # noqa: S603  the person's own command line
                [str(program), "features", "list"],
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
                stdin=subprocess.DEVNULL,
                env={**machine.environ, "CODEX_HOME": folder},
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return []
    return said.stdout.splitlines()


def _off(machine: Machine, settings: Any) -> Iterator[str]:
    """Yield what keeps hooks of ours from running."""
    for name in _FLAGS:
        if flag(settings, "features", name) is False:
            yield f"features.{name} is false in your settings: no hook runs until it is taken out"
    managed = machine.system / "etc" / "codex"
    for name in ("requirements.toml", "managed_config.toml"):
        if flag(peek(managed / name, TomlText), "allow_managed_hooks_only") is True:
            yield f"{managed / name} allows managed hooks alone: ours do not run"
