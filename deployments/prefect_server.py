"""Runs the Prefect server of `everest up`, which another process makes the database for.

Making one goes through every step of its history: a server that does it holds 30 MB more for as
long as it runs. The tables of a newer Prefect it brings up to date itself, a few steps at a time.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Serve until stopped; where no database could be made, the server tries, and tells why."""
    if not (Path(os.environ["PREFECT_HOME"]) / "prefect.db").exists():
        made = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
        subprocess.run(made, check=False)  # noqa: S603  our own interpreter
    sys.argv = ["prefect", "server", "start"]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
