"""Runs a module as a service that ends with who started it, killed or not: Linux and macOS alike.

Whoever starts it holds the other end of its standard input. When that closes, the whole process
group is told to stop and, a few seconds later, made to; so runs that a service started end too.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time
from typing import Final

GRACE: Final = 5.0
"""Seconds that a process group is given to stop by itself."""


def main() -> None:
    """Run the module named first, with the arguments after it."""
    held, let_go = os.dup(0), threading.Event()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=_wait, args=(held, let_go), daemon=True).start()
    sys.argv = sys.argv[1:]
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    finally:
        if let_go.is_set():  # what the service started must not stay behind it
            os.killpg(0, signal.SIGKILL)


def _wait(held: int, let_go: threading.Event) -> None:
    while os.read(held, 1):
        pass
    let_go.set()
    os.killpg(0, signal.SIGTERM)
    time.sleep(GRACE)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
