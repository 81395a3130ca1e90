"""Prefect's own command line, in our home and on our server."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from deployments.credential import prepare
from tasks.compose import Setting
from tasks.prefect_home import PrefectHome, server_up


def become_prefect(where: Setting, arguments: Sequence[str]) -> NoReturn:
    """Become `prefect` with these arguments; its exit code is this process's own.

    It works without a server too, as far as Prefect does.

    Raises:
        Unprotected: when the credential cannot be used.
    """
    home = PrefectHome(where.places.prefect)
    watched = server_up(home) or prepare(home, where.settings.prefect_port)
    sys.stdout.flush()
    os.execve(  # noqa: S606  our own interpreter
        sys.executable,
        [sys.executable, "-m", "prefect", *arguments],
        watched.environment(home.folder, os.environ),
    )
