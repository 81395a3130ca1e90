"""What `everest up` asks the server: whether every flow is served, and for a night that is due."""

from __future__ import annotations

import httpx

from deployments.server import client
from deployments.table import TABLE
from tasks.compose import Setting
from tasks.domain.clock import utc_now
from tasks.paused import paused
from tasks.prefect_home import Watched
from tasks.runs import due


def served(watched: Watched) -> bool:
    """Tell whether every flow is registered, and by a process that serves it: for no workers."""
    try:
        with client(watched) as api:
            found = api.post("/deployments/filter", json={}).raise_for_status().json()
    except httpx.HTTPError:
        return False
    return {one.name for one in TABLE} <= {
        one["name"] for one in found if one["work_pool_name"] is None
    }


def settle_due_night(where: Setting, watched: Watched) -> bool:
    """Ask for a night if one is due; return whether that is settled.

    It is not while the schedules are not registered yet. The run itself looks once more whether it
    is due, so that asking twice runs one night. A pause lets it wait.
    """
    if paused(where.places.home, now=utc_now()):
        return False
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
