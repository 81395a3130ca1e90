"""The night that `everest up` makes up for: one that was due while nothing ran."""

from __future__ import annotations

import httpx

from deployments.server import client
from tasks.compose import Setting
from tasks.domain.clock import utc_now
from tasks.prefect_home import Watched
from tasks.runs import due


def settle_due_night(where: Setting, watched: Watched) -> bool:
    """Ask for a night if one is due; return whether that is settled.

    It is not while the schedules are not registered yet. The run itself looks once more whether it
    is due, so that asking twice runs one night.
    """
    if not due(where.places.runs, now=utc_now(), zone=where.settings.zone):
        return True
    try:
        with client(watched) as api:
            found = api.get("/deployments/name/nightly/nightly")
            if found.status_code == httpx.codes.NOT_FOUND:
                return False
            asked = f"/deployments/{found.raise_for_status().json()['id']}/create_flow_run"
            api.post(asked, json={"parameters": {"if_due": True}}).raise_for_status()
    except httpx.HTTPError:
        return False
    return True
