"""Whether a home's warm process runs: hooks, agents and commands ask it where it does."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

_PATIENCE: Final = 1.0


def is_listening(path: Path) -> bool:
    """Tell whether a process listens at a unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        trial.settimeout(_PATIENCE)
        try:
            trial.connect(str(path))
        except OSError:
            return False
    return True
