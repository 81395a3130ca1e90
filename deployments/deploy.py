"""`everest deploy`: hands every flow to workers, by prefect.yaml, and looks at what came of it.

Invariant: it deploys in a known time zone and to our own server, or not at all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import httpx

from deployments import prefect_yaml
from deployments.server import client
from deployments.table import POOL
from tasks.compose import Setting
from tasks.domain.clock import instant
from tasks.errors import NotAsDeployed, NotUp
from tasks.prefect_home import PrefectHome, server_up
from tasks.timezone import zone_name

_PATIENCE: Final = 20.0
"""Seconds for the server to plan the next runs of what was deployed."""


@dataclass(frozen=True, slots=True)
class Done:
    """What is deployed now.

    Attributes:
        next_runs: by deployment, when it runs next by itself, in the zone; None for never.
    """

    zone: str
    pool: str
    next_runs: dict[str, str | None]


def deploy(where: Setting, file: Path = prefect_yaml.FILE) -> Done:
    """Deploy all that the file lists; return what is there now.

    Raises:
        SettingInvalid: when no time zone is known.
        UsageError: when the file cannot be used.
        NotUp: when `everest up` is not running.
        NotAsDeployed: when Prefect refused, or holds something else than the file says.
    """
    zone = zone_name(where.settings.timezone)
    wanted = prefect_yaml.read(file)
    home = PrefectHome(where.places.prefect)
    server = server_up(home)
    if server is None:
        raise NotUp(where.places.home)
    environ = server.environment(home.folder, os.environ)
    environ |= {"EVEREST_TIMEZONE": zone, "PWD": str(file.parent)}
    with client(server) as api:
        if api.get(f"/work_pools/{POOL}").is_error:
            _prefect(["work-pool", "create", POOL, "--type", "process"], environ, file.parent)
        _prefect(["deploy", "--all", "--prefect-file", file.name], environ, file.parent)
        deployed = _deployed(api)
        unlike = list(prefect_yaml.differences(wanted, deployed, zone))
        if unlike:
            raise NotAsDeployed(unlike)
        return Done(zone, POOL, _next_runs(api, wanted, deployed, zone))


def _prefect(words: Sequence[str], environ: Mapping[str, str], folder: Path) -> None:
    command = [sys.executable, "-m", "prefect", "--no-prompt", *words]
    done = subprocess.run(  # noqa: S603  our own interpreter and words
        command, env=dict(environ), cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise NotAsDeployed([f"`prefect {' '.join(words)}` said: {' / '.join(said[-3:])}"])


def _deployed(api: httpx.Client) -> list[dict[str, Any]]:
    told = api.post("/deployments/filter", json={}).raise_for_status()
    listed: list[dict[str, Any]] = told.json()
    return listed


def _next_runs(
    api: httpx.Client, wanted: Mapping[str, Any], deployed: list[dict[str, Any]], zone: str
) -> dict[str, str | None]:
    ids = {one["name"]: one["id"] for one in deployed}
    return {
        one["name"]: _next_run(api, ids[one["name"]], zone) if one.get("schedules") else None
        for one in wanted["deployments"]
    }


def _next_run(api: httpx.Client, deployment: str, zone: str) -> str:
    """Return when a deployment runs next, as soon as the server has planned it."""
    asked = {
        "deployments": {"id": {"any_": [deployment]}},
        "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
        "sort": "EXPECTED_START_TIME_ASC",
        "limit": 1,
    }
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        planned = api.post("/flow_runs/filter", json=asked).raise_for_status().json()
        if planned:
            at = instant(planned[0]["expected_start_time"]).astimezone(ZoneInfo(zone))
            return f"{at:%Y-%m-%d %H:%M}"
        time.sleep(0.5)
    return "not planned yet"
