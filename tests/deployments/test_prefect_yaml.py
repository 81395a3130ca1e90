"""prefect.yaml says what the table says, and no key of it is one that Prefect passes over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deployments import prefect_yaml
from deployments.table import POOL, TABLE, Deployed
from deployments.zone import require_zone
from tasks.errors import SettingInvalid, UsageError
from tasks.settings import Settings
from tasks.timezone import zone_name

ZONE = "Europe/Berlin"


def _as_in_the_file(deployed: Deployed) -> dict[str, Any]:
    """Return a row of the table as the file is to hold it."""
    times = deployed.times
    return {
        "name": deployed.name,
        "description": deployed.description,
        "entrypoint": f"flows/{deployed.name}.py:{deployed.name}",
        "tags": list(deployed.tags),
        "parameters": {},
        "paused": False,
        "limit": 1,
        "meeting": deployed.meeting.value,
        "pool": POOL,
        "schedules": [
            {"cron": one.cron, "timezone": ZONE, "parameters": dict(one.given), "active": True}
            for one in ([times] if times else [])
        ],
    }


def test_the_file_and_the_table_are_equal() -> None:
    listed = prefect_yaml.read(prefect_yaml.FILE)["deployments"]

    assert [prefect_yaml.expected(one, ZONE) for one in listed] == [
        _as_in_the_file(one) for one in TABLE
    ]


def test_every_flow_that_runs_by_itself_is_deployed() -> None:
    """A restore replaces the home and is told which file: only a person starts it."""
    flows = {path.stem for path in (prefect_yaml.FILE.parent / "flows").glob("[a-z]*.py")}

    assert flows - {"restore"} == {one.name for one in TABLE}


@pytest.mark.parametrize(
    ("part", "right", "wrong"),
    [
        ((), "concurrency_limit", "concurency_limit"),
        ((), "schedules", "schedule_s"),
        (("concurrency_limit",), "collision_strategy", "colision_strategy"),
        (("work_pool",), "name", "names"),
    ],
)
def test_a_misspelt_key_is_named(
    tmp_path: Path, part: tuple[str, ...], right: str, wrong: str
) -> None:
    found = prefect_yaml.read(prefect_yaml.FILE)
    assert list(prefect_yaml.strange_keys(found)) == []
    misspelt = json.loads(json.dumps(found))  # parts that stand once in the file come apart
    inner = misspelt["deployments"][0]
    for name in part:
        inner = inner[name]
    inner[wrong] = inner.pop(right)

    assert list(prefect_yaml.strange_keys(misspelt)) == [".".join(("nightly", *part, wrong))]


def test_a_misspelt_file_is_refused_before_anything_is_deployed(tmp_path: Path) -> None:
    text = prefect_yaml.FILE.read_text().replace("concurrency_limit:", "concurency_limit:")
    file = tmp_path / "prefect.yaml"
    file.write_text(text)

    with pytest.raises(UsageError, match=r"nightly\.concurency_limit"):
        prefect_yaml.read(file)


def test_a_file_that_is_not_there_is_told_of_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="everest up"):
        prefect_yaml.read(tmp_path / "prefect.yaml")


@pytest.mark.parametrize("zone", ["", "Nowhere/Town", "{{ $EVEREST_TIMEZONE }}"])
def test_no_deployment_goes_on_without_a_known_zone(zone: str) -> None:
    with pytest.raises(SettingInvalid, match="EVEREST_TIMEZONE"):
        require_zone(zone)

    require_zone(ZONE)


def test_a_night_a_deployment_and_the_schedules_agree_on_an_empty_zone() -> None:
    for zone in (require_zone, zone_name, lambda given: Settings.load(timezone=given)):
        with pytest.raises(SettingInvalid, match="it is empty; name a zone"):
            zone("")
