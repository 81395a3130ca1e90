"""The key behind every digest of a value: made once, kept private, never silently replaced.

Losing it would let refused values back in, so its absence beside a ledger is an error.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from tasks.durable import make_folder, swap_file
from tasks.errors import KeyMissing

_BYTES = 32


def digest_key(folder: Path, *, ledger: Path) -> bytes:
    """Return the HMAC key, making it for a new home.

    Raises:
        KeyMissing: when it is gone although the ledger has records made with it.
    """
    path = folder / "digest.key"
    try:
        return bytes.fromhex(path.read_text("ascii").strip())
    except FileNotFoundError:
        if any(ledger.glob("*.jsonl")):
            raise KeyMissing(path) from None
    make_folder(folder)
    key = secrets.token_bytes(_BYTES)
    swap_file(path, key.hex().encode())
    return key
