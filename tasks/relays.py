"""Every app's relay: `default`'s lies in the folder itself, any other's in a folder of its own.

Invariant: no app reads another's; an app's folder names it, so that a night can read it as its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from tasks.relay import Relay

DEFAULT: Final = "default"
_MARK: Final = "@"
"""Begins the name of an app's folder, and of no project's file."""


class Relays:
    """The relays below one folder; each is opened once and keeps what it has read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: dict[str, Relay] = {}

    def of(self, app: str) -> Relay:
        """Return the relay of an app_id."""
        if app not in self._opened:
            self._opened[app] = Relay(self._place(app))
        return self._opened[app]

    def places(self) -> list[tuple[str, Path]]:
        """Return every app_id that has a relay, and its folder."""
        others = sorted(self._folder.glob(f"{_MARK}*"))
        named = [(unquote(path.name[len(_MARK) :]), path) for path in others]
        return [(DEFAULT, self._folder), *named]

    def _place(self, app: str) -> Path:
        return self._folder if app == DEFAULT else self._folder / f"{_MARK}{quote(app, safe='')}"
