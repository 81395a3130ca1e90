"""The key behind every digest of a value: made once, kept private, never silently replaced.

Losing it would let refused values back in, so its absence beside a ledger is an error.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

from tasks.durable import make_file
from tasks.errors import HomeUnreadable, KeyMissing
from tasks.segments import is_there, opened, segments

DIGEST_KEY: Final = "digest.key"
_BYTES = 32


def digest_key(folder: Path, *, ledger: Path) -> bytes:
    """Return the HMAC key, making it for a new home; of several at once one makes it.

    Raises:
        KeyMissing: when it is gone although the ledger has records made with it, or is damaged.
        HomeUnreadable: when it cannot be read.
    """
    path = folder / DIGEST_KEY
    if not is_there(path):
        if segments(ledger):
            raise KeyMissing(path)
        make_file(path, secrets.token_hex(_BYTES).encode())
    return _read(path)


def kept_key(folder: Path) -> bytes | None:
    """Return the HMAC key of a home whose state is not known; None when it cannot be read."""
    try:
        return _read(folder / DIGEST_KEY)
    except (OSError, HomeUnreadable, KeyMissing):
        return None


def _read(path: Path) -> bytes:
    try:
        with opened(path) as file:
            key = bytes.fromhex(file.read().decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise KeyMissing(path)
    return key
