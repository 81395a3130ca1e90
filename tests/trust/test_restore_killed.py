"""A killed restore leaves the old memory, the new one, or what the next command completes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.backup import backup
from tasks.compose import Setting
from tasks.domain.proposals import Actor
from tasks.domain.ran import RunKey
from tasks.store import journal
from tests.store.build import NOW, SCOPE, bury, episode, home_in, lesson, put, stone

A = episode("a")
SAID = ["said after the backup", "said before the backup"]


@pytest.mark.slow
def test_a_restore_killed_at_any_step_loses_nothing(tmp_path: Path) -> None:
    house = home_in(tmp_path / "kept")

    def says(text: str) -> None:
        folder = house.places.journal
        body = {"text": text}
        journal.append(folder, "remember", body, scope=SCOPE, actor=Actor.PERSON, at=NOW)

    house.commit(put(A), put(lesson(A)))
    says(SAID[1])
    where = Setting(house.settings, house.places, (), None)
    file = backup(where, RunKey("backup", "1"), tmp_path / "b.tar.gz", at=NOW).path
    says(SAID[0])
    with house.opened() as store:
        key = store.key
    house.commit(bury(stone(lesson(A), key)), put(episode("later", "Prefer small commits.")))
    old = house.digest()
    done = subprocess.run(
        [sys.executable, "-m", "tests.trust.restoring", str(tmp_path), str(file)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    new = {one["digest"] for one in told if one["after"] == "again"}
    assert len(new) == 1
    assert old not in new
    assert len({one["step"] for one in told}) >= 12
    for one in told:
        assert (one["killed"], one["ended"]) == (-9, 0), one
        assert one["digest"] in {old, *new}, one
        assert set(one["said"]) == set(SAID), one
        assert "restoring" not in one["names"], one
    assert {one["digest"] for one in told if one["after"] == "opened"} == {old, *new}
