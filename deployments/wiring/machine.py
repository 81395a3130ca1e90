"""What agents are looked for on, and what is wired into them: both passed in, nothing global.

Invariant: making either changes nothing on disk.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deployments.wiring.owner import default_home
from deployments.wiring.wishes import Target
from tasks.compose import Setting
from tasks.hooks.wired import command
from tasks.settings import Places

_CARRIED: Final = ("EVEREST_HOME", "EVEREST_OWNER", "EVEREST_APP")
"""Settings that say which memory it is: agents started from a desktop do not have them."""
SERVER: Final = "everest"
"""The name of our MCP server in every agent."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where agents are looked for.

    Attributes:
        home: the person's home folder.
        platform: as `sys.platform` names it.
        system: the root of what an administrator sets for every account.
    """

    home: Path
    environ: Mapping[str, str]
    platform: str = sys.platform
    system: Path = Path("/")

    def folder(self, variable: str, default: str) -> Path:
        """Return the folder that a variable names, else one under the home folder."""
        named = self.environ.get(variable, "").strip()
        if not named:
            return self.home / default
        return self.home / named[2:] if named.startswith("~/") else Path(named)

    @property
    def mac(self) -> bool:
        """Tell whether it is a Mac."""
        return self.platform == "darwin"

    @property
    def applications(self) -> Path:
        """Return where desktop applications keep their settings."""
        if self.mac:
            return self.home / "Library" / "Application Support"
        return self.folder("XDG_CONFIG_HOME", ".config")

    def program(self, name: str) -> Path | None:
        """Return where a command lies, None when there is none."""
        found = shutil.which(name, path=self.environ.get("PATH", os.defpath))
        return Path(found) if found else None


@dataclass(frozen=True, slots=True)
class Ours:
    """What is wired.

    Attributes:
        interpreter: of the environment that Everest is installed in; links of it are not followed,
            so that it finds its packages.
        places: of the home that agents are to use.
        environment: the settings that a process of ours needs to find that home.
        door: the proxy's address with its token in it; None when no agent is pointed at it.
        routes: EVEREST_ROUTES as it is set.
    """

    interpreter: Path
    places: Places
    environment: Mapping[str, str]
    door: str | None = field(default=None, repr=False)
    routes: str = ""

    @property
    def everest(self) -> Path:
        """Return the command line's path."""
        return self.interpreter.with_name("everest")

    def hook(self, agent: str, event: str) -> str:
        """Return the command of a hook.

        Raises:
            UsageError: when a path cannot stand in a command line.
        """
        return command(self.interpreter, self.places.home, self.places.socket, agent, event)

    def server(self, *more: str) -> dict[str, Any]:
        """Return an MCP server's entry; `more` are arguments of `everest serve`."""
        entry: dict[str, Any] = {"command": str(self.everest), "args": ["serve", *more]}
        if self.environment:
            entry["env"] = dict(self.environment)
        return entry


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of this machine, and what is to be wired into it.

    Attributes:
        name: by which the command line knows it.
        title: its name for a person.
        found: it is installed here.
        looked: where it was looked for.
        targets: the files to change.
        notes: what a person should know or do about it.
        obstacles: what keeps things of ours from working there.
    """

    name: str
    title: str
    found: bool
    looked: tuple[str, ...]
    targets: tuple[Target, ...]
    notes: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()


def machine_of(environ: Mapping[str, str]) -> Machine:
    """Return this machine, for this account."""
    return Machine(Path.home(), environ)


def ours_of(where: Setting, environ: Mapping[str, str], door: str | None = None) -> Ours:
    """Return what is wired for a home."""
    settings, places = where.settings, where.places
    carried = {name: environ[name] for name in _CARRIED if environ.get(name)}
    carried.pop("EVEREST_HOME", None)
    if places.home != default_home():
        carried = {"EVEREST_HOME": str(places.home), **carried}
    return Ours(Path(sys.executable), places, carried, door, settings.routes or "")
