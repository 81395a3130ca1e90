"""The step of prefect.yaml that stops a deployment whose schedules would have no time zone.

Prefect puts nothing in the place of a variable that is not set, takes a nameless zone, and runs the
nights by UTC; so `prefect deploy --all` by hand has to fail here.
"""

from __future__ import annotations

from tasks.timezone import zone_name


def require_zone(zone: str) -> None:
    """Let a deployment go on only with a zone that is known.

    Raises:
        SettingInvalid: when the zone is empty or unknown.
    """
    zone_name(zone)
