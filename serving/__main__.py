"""The door as a service: `python -m serving` serves until it is told to stop."""

from __future__ import annotations

import logging
import sys

from serving.run import run
from tasks.compose import setting
from tasks.errors import EverestError

_log = logging.getLogger(__name__)


def main() -> int:
    """Serve; return the exit code."""
    try:
        run(setting(), lambda told: _log.warning("listening on %s and %s", *told.values()))
    except EverestError as failure:
        _log.error("%s", failure)
        return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
