"""Where our Prefect server keeps its things, and whether `everest up` runs it; no Prefect needed.

Invariant: the credential lies in one file, the owner's alone, and reaches no log and no message.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tasks.compose import attended
from tasks.durable import make_folder
from tasks.errors import Unprotected
from tasks.settings import Places, Settings
from tasks.store.lock import writer_at_work

HOST: Final = "127.0.0.1"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_SHORTEST: Final = 24
"""A credential of fewer characters was not made by us and could be guessed."""
_PATIENT: Final = "900"
"""Seconds for which a scheduled run waits for another writer: a long ingest is no lost night."""


class PrefectHome:
    """The folder of our Prefect server, under EVEREST_HOME; a mapping that touches no disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.credential = folder / "auth"
        self.profiles = folder / "profiles.toml"
        self.lock = folder / "up.lock"
        self.state = folder / "up.json"
        self.pages = folder / "pages"

    def log(self, service: str) -> Path:
        """Return the log of a service."""
        return self.folder / f"{service}.log"


@dataclass(frozen=True, slots=True)
class Watched:
    """A Prefect API of ours, and what opens it.

    Attributes:
        origin: the address of its pages, with no path.
        credential: user and password as Prefect wants them, `user:password`.
    """

    origin: str
    credential: str = field(repr=False)

    @property
    def api(self) -> str:
        """Return the address of its API."""
        return f"{self.origin}/api"

    def environment(self, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
        """Return an environment in which Prefect uses this server and nothing of the person's."""
        kept = {name: value for name, value in environ.items() if not name.startswith("PREFECT_")}
        return kept | {
            "DO_NOT_TRACK": "1",
            "PREFECT_HOME": str(folder),
            "PREFECT_API_URL": self.api,
            "PREFECT_API_AUTH_STRING": self.credential,
        }


def origin(port: int) -> str:
    """Return the address of a server on this machine."""
    return f"http://{HOST}:{port}"


def holder_of(home: PrefectHome) -> str:
    """Return who runs `everest up` for this home, in words; "" when nobody does."""
    return writer_at_work(home.lock)


def server_up(home: PrefectHome) -> Watched | None:
    """Return the server that `everest up` runs for this home and found to be protected, if any.

    Raises:
        Unprotected: when its credential cannot be used any more.
    """
    if not holder_of(home):
        return None
    try:
        said = json.loads(home.state.read_bytes())
    except (OSError, ValueError):  # it is starting, or stopping
        return None
    return Watched(str(said["origin"]), read_credential(home.credential))


def contain() -> None:
    """Keep Prefect in our home, quiet and offline; must come before it is imported."""
    home = make_folder(Places(Settings.load().home).home / "prefect")
    os.environ |= {
        "DO_NOT_TRACK": "1",
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        "PREFECT_TASKS_DEFAULT_NO_CACHE": "true",
        "PREFECT_CLIENT_MAX_RETRIES": "3",  # 14 s for an API that went away, not 62
    }
    if not attended():
        os.environ.setdefault("EVEREST_LOCK_WAIT", _PATIENT)


def join(folder: Path, environ: MutableMapping[str, str]) -> None:
    """Make an environment report to the server that is up, unless another API is configured in it.

    The credential of ours is for ours alone: another API gets the one configured, or none.

    Raises:
        Unprotected: when the running server's credential cannot be used.
    """
    if environ.get("PREFECT_API_URL", "").strip():
        environ.setdefault("PREFECT_API_AUTH_STRING", "")
        return
    server = server_up(PrefectHome(folder))
    if server is not None:
        chosen = server.environment(folder, environ)
        for name in set(environ) - set(chosen):
            del environ[name]
        environ.update(chosen)


def read_credential(path: Path) -> str:
    """Return the server's credential.

    Raises:
        Unprotected: when the file is empty, too short, or readable by others.
    """
    way_out = f"remove {path} and run `everest up`, which makes a new one"
    try:
        mode = path.stat().st_mode
        text = path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise Unprotected(f"its credential cannot be read ({error})", way_out) from None
    if mode & _OTHERS:
        raise Unprotected(f"others may read {path}", f"run `chmod 600 {path}`, or {way_out}")
    user, _, password = text.partition(":")
    if not user or len(password) < _SHORTEST or not text.isprintable():
        raise Unprotected(f"{path} holds no credential of ours", way_out)
    return text
