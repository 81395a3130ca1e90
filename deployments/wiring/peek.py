"""Look into an agent's file without changing it; what cannot be read shows as nothing.

It is told as an error where the file is to be changed; here only hints are looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from deployments.wiring.data import found
from deployments.wiring.files import read, text_of
from deployments.wiring.jsonc import Unreadable
from deployments.wiring.wishes import Editor
from tasks.errors import EverestError


def peek(path: Path, editor: Callable[[str], Editor]) -> Any:
    """Return what a file holds, an empty object when there is none or it cannot be read."""
    try:
        return editor(text_of(path, read(path))).data
    except (EverestError, Unreadable):
        return {}


def flag(data: Any, *path: str) -> Any:
    """Return what stands at a path, None when nothing does."""
    return found(data, path)
