"""The system's time zone by name where it has one, since a bare offset forgets daylight saving."""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_ZONES = "zoneinfo/"


def system_zone() -> tzinfo:
    """Return the zone from TZ, /etc/localtime or /etc/timezone; UTC when none of them names one."""
    for name in _names():
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return UTC


def _names() -> list[str]:
    names = [os.environ.get("TZ", "").lstrip(":")]
    local = Path("/etc/localtime")
    if local.is_symlink():
        names.append(str(local.resolve()).rpartition(_ZONES)[2])
    written = Path("/etc/timezone")
    if written.is_file():
        names.append(written.read_text("utf-8").strip())
    return [name for name in names if name]
