"""The system's time zone by name where it has one, since a bare offset forgets daylight saving."""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tasks.errors import SettingInvalid

_ZONES = "zoneinfo/"


def system_zone() -> tzinfo:
    """Return the zone from TZ, /etc/localtime or /etc/timezone; UTC when none of them names one."""
    for name in _names():
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return UTC


def named_zone(given: str) -> ZoneInfo:
    """Return the zone that EVEREST_TIMEZONE names; an empty one may be a slip, and is none.

    Raises:
        SettingInvalid: when there is no zone of that name.
    """
    if not given.strip():
        why = "it is empty; name a zone, as Europe/Berlin, or unset it to use the system's"
        raise SettingInvalid("EVEREST_TIMEZONE", why)
    try:
        return ZoneInfo(given)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SettingInvalid("EVEREST_TIMEZONE", f"no time zone {given!r}") from None


def zone_name(given: str | None) -> str:
    """Return the name of the zone that times are in: the one given, else the system's.

    Raises:
        SettingInvalid: when there is no zone of that name, or the system names none.
    """
    if given is not None:
        return named_zone(given).key
    zone = system_zone()
    if not isinstance(zone, ZoneInfo):
        why = "this system names no time zone; set it, as in EVEREST_TIMEZONE=Europe/Berlin"
        raise SettingInvalid("EVEREST_TIMEZONE", why)
    return zone.key


def _names() -> list[str]:
    names = [os.environ.get("TZ", "").lstrip(":")]
    local = Path("/etc/localtime")
    if local.is_symlink():
        names.append(str(local.resolve()).rpartition(_ZONES)[2])
    written = Path("/etc/timezone")
    if written.is_file():
        names.append(written.read_text("utf-8").strip())
    return [name for name in names if name]
