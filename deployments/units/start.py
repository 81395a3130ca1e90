"""How a machine starts Everest by itself: the interpreter, the environment, the command, the name.

Invariant: no setting that looks like a credential is written into a file that starts it.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tasks.compose import Setting

_OURS: Final = "EVEREST_"
_OTHERS: Final = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OLLAMA_HOST", "TZ")
"""Where agents keep their transcripts, and what else a run looks for in its environment."""
_OF_ONE_PROCESS: Final = ("EVEREST_CHILD", "EVEREST_PAUSED")
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL")
_NAMED: Final = re.compile(r";\s*key=(\w+)")


@dataclass(frozen=True, slots=True)
class Start:
    """What is needed to start Everest for one home, whoever starts it.

    Attributes:
        home: the home, absolute.
        name: `everest`, or for another home than the default one a name of its own.
        interpreter: the absolute path of the interpreter that Everest is installed for.
        environment: settings to carry.
        withheld: names of settings that look like credentials and are not carried.
        zone: the time zone that was set, None for the system's.
    """

    home: Path
    name: str
    interpreter: str
    environment: Mapping[str, str]
    withheld: tuple[str, ...]
    zone: str | None

    @property
    def credentials(self) -> Path:
        """Return the file whose `NAME=value` lines a service gets besides; the person's own."""
        return self.home / "service.env"

    def command(self, *words: str) -> list[str]:
        """Return the command line of one of our commands.

        `-P`, because a folder named as one of our packages where it starts would be taken for it.
        """
        return [self.interpreter, "-P", "-m", "serving.cli", *words]


def start_of(where: Setting, environ: Mapping[str, str]) -> Start:
    """Return how the home of a setting is started."""
    home = where.places.home
    found = {name: value for name, value in environ.items() if _is_carried(name) and value}
    secret = [name for name in found if _SECRET.search(name)]
    asked = _NAMED.findall(where.settings.routes or "")
    carried = {name: value for name, value in sorted(found.items()) if name not in secret}
    return Start(
        home,
        _name(home),
        sys.executable,
        carried | {"EVEREST_HOME": str(home)},
        tuple(sorted({*secret, *asked})),
        where.settings.timezone,
    )


def _is_carried(name: str) -> bool:
    return (name.startswith(_OURS) or name in _OTHERS) and name not in _OF_ONE_PROCESS


def _name(home: Path) -> str:
    if home == Path("~/.everest").expanduser():
        return "everest"
    return f"everest-{hashlib.sha256(os.fsencode(home)).hexdigest()[:8]}"
