"""Ways of running something, as names in an episode's topic: `go test`, `npm ci → pnpm install`.

Invariant: both halves are names of commands that ran; what a tool printed never gets in here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_ARROW: Final = " → "


def replaced(failed: str, worked: str) -> str:
    """Return the name for one way that failed and another that did the same work after it."""
    return f"{failed}{_ARROW}{worked}"


def replacements(topic: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return (what failed, what worked instead) for each such name in a topic, in its order."""
    pairs = (name.split(_ARROW) for name in topic if _ARROW in name)
    return tuple((pair[0], pair[-1]) for pair in pairs)


def runs(topic: Iterable[str]) -> tuple[str, ...]:
    """Return the ways in a topic that say more than a program's name, in its order."""
    return tuple(name for name in topic if " " in name and _ARROW not in name)
