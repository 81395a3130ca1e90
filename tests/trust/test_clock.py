"""A clock that jumps back, and a machine that slept through a week."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from flows.nightly import night
from tasks.compose import Setting
from tasks.demo import write_week
from tasks.domain.clock import iso, utc_now
from tasks.domain.report import NightReport
from tasks.domain.strength import value_at
from tasks.rebuild import discard_store
from tasks.steps import plain_steps
from tasks.store import reads
from tests.store.build import DAY, NOW, Home
from tests.trust.kills import Bench

LATER = NOW + 10 * DAY


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a week of transcripts."""
    return write_week(tmp_path / "claude", now=NOW).root


def _night(house: Home, root: Path, at: datetime) -> NightReport:
    with house.run(root, at=at) as run:
        return night(plain_steps(), run)


def _strengths(house: Home) -> dict[str, float]:
    """Return how strong each lesson is, all as of one later instant."""
    with house.opened(NOW) as store:
        return {
            lesson.id: value_at(lesson.strength, LATER)
            for scope in reads.scopes(store.database)
            for lesson in reads.lessons(store.database, scope)
        }


@pytest.mark.parametrize("back", [timedelta(minutes=1), 3 * DAY, 400 * DAY])
def test_a_clock_that_jumps_back_raises_and_loses_nothing(
    house: Home, root: Path, back: timedelta
) -> None:
    first = _night(house, root, NOW)
    digest, before = house.digest(), _strengths(house)
    again = _night(house, root, NOW - back)
    after = _strengths(house)
    assert before.keys() == after.keys()
    assert all(after[lesson] <= before[lesson] + 1e-9 for lesson in before)
    assert {one.id for one in again.learned} <= {one.id for one in first.learned}
    assert house.digest() == digest
    assert _night(house, root, NOW + DAY).problems == ()
    assert _strengths(house).keys() == before.keys()
    assert house.digest() == digest


@pytest.mark.parametrize("back", [timedelta(minutes=1), 3 * DAY])
def test_what_was_learned_by_a_clock_that_went_back_is_rebuilt_alike(
    house: Home, tmp_path: Path, back: timedelta
) -> None:
    """The transcripts of the second night are dated by the clock that had gone back."""
    _night(house, write_week(tmp_path / "first", now=NOW).root, NOW)
    with house.run(write_week(tmp_path / "second", now=NOW - back).root, at=NOW - back) as run:
        night(plain_steps(), run)
    digest = house.digest()
    discard_store(Setting(house.settings, house.places, (), None))
    assert house.digest() == digest


def test_after_days_of_sleep_one_night_is_due_and_it_lets_fade_what_those_days_took(
    bench: Bench,
) -> None:
    """A note of 126 days ago had 0.15 and more at the last night and has less now."""
    bench.put("after a night")
    bench.did(
        iso(utc_now() - timedelta(days=126)),
        "the ferry leaves at six",
        "paperboat",
        function="tests.trust.material:remembered_at",
    )
    bench.did(
        iso(utc_now() - timedelta(days=3, hours=23)), function="tests.trust.material:night_at"
    )
    assert not _archived(bench)
    assert bench.did("night", "--if-due", "--json").out.strip() != "null"
    assert _archived(bench)
    records = max((bench.person.home / "ledger").glob("*.jsonl")).read_bytes()
    bench.did("night", "--if-due")
    assert max((bench.person.home / "ledger").glob("*.jsonl")).read_bytes() == records


def _archived(bench: Bench) -> bool:
    looked = json.loads(bench.did(function="tests.trust.looking:looked").out)
    notes = map(json.loads, looked["tables"]["episodes"])
    (found,) = [one for one in notes if one["words"] == "the ferry leaves at six"]
    return bool(found["archived_at"])
