"""Reads prefect.yaml strictly and compares it with what a server holds.

Prefect passes over a key that it does not know, so a misspelt one would take a limit or a schedule
away without a word; here every key must be one that Prefect reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tasks.errors import UsageError

FILE: Final = Path(__file__).resolve().parents[1] / "prefect.yaml"
"""Where it lies in a checkout; an installed package has none."""

ZONE: Final = "{{ $EVEREST_TIMEZONE }}"

_TOP: Final = frozenset(
    {"name", "prefect-version", "build", "push", "pull", "definitions", "deployments"}
)
_DEPLOYMENT: Final = frozenset(
    {
        "name",
        "version",
        "description",
        "entrypoint",
        "tags",
        "parameters",
        "schedules",
        "paused",
        "concurrency_limit",
        "work_pool",
        "enforce_parameter_schema",
    }
)
_WITHIN: Final[Mapping[str, frozenset[str]]] = {
    "schedules": frozenset({"cron", "timezone", "parameters", "active", "slug"}),
    "concurrency_limit": frozenset({"limit", "collision_strategy"}),
    "work_pool": frozenset({"name"}),
}


def read(path: Path) -> dict[str, Any]:
    """Return prefect.yaml.

    Raises:
        UsageError: when it is not there, is no mapping, or has keys that Prefect passes over.
    """
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        why = "it is part of a checkout only; `everest up` runs every flow without it"
        raise UsageError(f"{path} is not there: {why}") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path} is no mapping")
    strange = list(strange_keys(found))
    if strange:
        raise UsageError(f"{path} has keys that Prefect passes over: {', '.join(strange)}")
    return found


def strange_keys(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield every key that Prefect would pass over, with where it stands."""
    yield from (str(key) for key in found if key not in _TOP)
    for deployment in found.get("deployments", []):
        name = deployment.get("name", "a deployment without a name")
        yield from (f"{name}.{key}" for key in deployment if key not in _DEPLOYMENT)
        for part, known in _WITHIN.items():
            inner = deployment.get(part) or {}
            for one in inner if isinstance(inner, list) else [inner]:
                yield from (f"{name}.{part}.{key}" for key in one if key not in known)


def expected(deployment: Mapping[str, Any], zone: str) -> dict[str, Any]:
    """Return what a server should hold of a deployment of the file."""
    limit = deployment.get("concurrency_limit") or {}
    return {
        "name": deployment["name"],
        "description": deployment.get("description"),
        "entrypoint": deployment.get("entrypoint"),
        "tags": deployment.get("tags", []),
        "parameters": deployment.get("parameters", {}),
        "paused": deployment.get("paused", False),
        "limit": limit.get("limit"),
        "meeting": limit.get("collision_strategy"),
        "pool": deployment.get("work_pool", {}).get("name"),
        "schedules": [
            {
                "cron": one["cron"],
                "timezone": one["timezone"].replace(ZONE, zone),
                "parameters": one.get("parameters", {}),
                "active": one.get("active", True),
            }
            for one in deployment.get("schedules", [])
        ],
    }


def held(deployment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same of a deployment as the server tells of it."""
    options, limit = deployment["concurrency_options"], deployment["global_concurrency_limit"]
    return {
        "name": deployment["name"],
        "description": deployment["description"],
        "entrypoint": deployment["entrypoint"],
        "tags": deployment["tags"],
        "parameters": deployment["parameters"],
        "paused": deployment["paused"],
        "limit": limit and limit["limit"],
        "meeting": options and options["collision_strategy"],
        "pool": deployment["work_pool_name"],
        "schedules": [
            {
                "cron": one["schedule"].get("cron"),
                "timezone": one["schedule"].get("timezone"),
                "parameters": one["parameters"],
                "active": one["active"],
            }
            for one in deployment["schedules"]
        ],
    }


def differences(
    wanted: Mapping[str, Any], deployed: list[dict[str, Any]], zone: str
) -> Iterator[str]:
    """Yield in words how a server's deployments differ from the file's."""
    there = {one["name"]: held(one) for one in deployed}
    for deployment in wanted["deployments"]:
        asked = expected(deployment, zone)
        name = asked["name"]
        if name not in there:
            yield f"{name} is missing"
            continue
        for part, value in asked.items():
            if there[name][part] != value:
                yield f"{name}.{part} is {there[name][part]!r}, not {value!r}"
