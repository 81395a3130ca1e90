"""Whose the things of Everest's are that stand in an agent's file: there may be several homes.

Invariant: an entry that names no home is the default home's, and an address of the proxy is that
home's whose token it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tasks.settings import Places, Settings

NAMED_BY: Final = "EVEREST_HOME"


@dataclass(frozen=True, slots=True)
class Owner:
    """A home, as agents' files name it.

    Attributes:
        is_default: it is meant where no home is named.
        token: what lets agents in at its proxy, "" when it is not known.
    """

    home: str
    is_default: bool = False
    token: str = ""

    def has_entry(self, entry: Mapping[str, Any]) -> bool:
        """Tell whether an MCP server's entry is this home's."""
        named = home_of(entry)
        return self.is_default if named is None else named == self.home

    def has_address(self, address: str) -> bool:
        """Tell whether an address of the proxy is this home's; none is of one without a token."""
        return bool(self.token) and self.token in address


def owner_of(places: Places) -> Owner:
    """Return a home as agents' files name it; its token is read where there is one."""
    try:
        token = places.door_token.read_text("utf-8").strip()
    except OSError:
        token = ""
    return Owner(str(places.home), places.home == default_home(), token)


def default_home() -> Path:
    """Return the home that is meant where none is named."""
    return Places(Settings.model_fields["home"].default).home


def home_of(entry: Mapping[str, Any]) -> str | None:
    """Return the home that an MCP server's entry names."""
    environment = entry.get("env")
    named = environment.get(NAMED_BY) if isinstance(environment, Mapping) else None
    return None if named is None else str(named)
