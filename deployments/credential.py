"""The credential of our Prefect server, and the client profile that holds it.

Invariant: the credential is made once, at random; a profile never outlives it.
"""

from __future__ import annotations

import json
import secrets
from typing import Final

from tasks.durable import FOLDER_MODE, make_file, make_folder, swap_file
from tasks.errors import WriteFailed
from tasks.prefect_home import PrefectHome, Watched, origin, read_credential

USER: Final = "everest"
_BYTES: Final = 32


def prepare(home: PrefectHome, port: int) -> Watched:
    """Make the server's home, its credential if there is none, and the profile of its clients.

    Raises:
        Unprotected: when the credential that is there cannot be used.
        WriteFailed: when the disk refuses.
    """
    make_folder(home.folder)
    try:
        home.folder.chmod(FOLDER_MODE)
    except OSError as error:
        raise WriteFailed(home.folder, error.strerror or str(error)) from error
    make_file(home.credential, f"{USER}:{secrets.token_urlsafe(_BYTES)}\n".encode())
    watched = Watched(origin(port), read_credential(home.credential))
    swap_file(home.profiles, _profile(watched).encode())
    return watched


def _profile(watched: Watched) -> str:
    """Return the profile with which `PREFECT_HOME=… prefect` finds and opens the server."""
    return (
        'active = "everest"\n\n[profiles.everest]\n'
        f"PREFECT_API_URL = {json.dumps(watched.api)}\n"
        f"PREFECT_API_AUTH_STRING = {json.dumps(watched.credential)}\n"
        'PREFECT_SERVER_EPHEMERAL_ENABLED = "false"\n'
    )
