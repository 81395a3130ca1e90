"""Serves every flow in one process with no worker: the default way of running nights on time.

Runs are processes of their own, at low priority, with this process's interpreter, environment and
settings; it loads no flow itself. `python -m deployments.schedules` does it against the Prefect API
that is configured.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Final

from tasks.prefect_home import contain
from tasks.settings import Settings
from tasks.timezone import zone_name

_AT_ONCE: Final = 4
"""Runs at work at once: a night, an ingest, and two that a person started."""
_BEHIND: Final = 10
"""How much lower the priority of runs is than the person's own programs."""


def main() -> None:
    """Serve until stopped; schedules stay active, for workers and for the next start."""
    os.nice(_BEHIND)
    contain()
    zone = zone_name(Settings.load().timezone)
    asked = [sys.executable, "-m", "deployments.registrations", zone]
    with subprocess.Popen(asked, stdout=subprocess.PIPE) as apart:  # noqa: S603  our own interpreter
        from prefect import serve  # noqa: PLC0415  after `contain`, and while the other one reads

        found, _ = apart.communicate()
    if apart.returncode:
        sys.exit(apart.returncode)  # it has told why
    serve(
        *pickle.loads(found),  # noqa: S301  a process of ours wrote it
        pause_on_shutdown=False,
        print_starting_message=False,
        limit=_AT_ONCE,
    )


if __name__ == "__main__":
    main()
