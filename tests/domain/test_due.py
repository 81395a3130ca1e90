"""When a night is due: once a day at 03:30 on a local clock that jumps twice a year."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tasks.domain.due import last_due, night_due

BERLIN = ZoneInfo("Europe/Berlin")
HELSINKI = ZoneInfo("Europe/Helsinki")  # its clock jumps between 3 and 4: over 03:30
NOON = datetime(2026, 6, 1, 12, 0, tzinfo=BERLIN)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def test_it_is_due_at_half_past_three_of_the_local_clock() -> None:
    due = datetime(2026, 6, 1, 1, 30, tzinfo=UTC)
    assert last_due(NOON, BERLIN) == due
    assert last_due(due, BERLIN) == due
    assert last_due(due - MINUTE, BERLIN) == due - DAY


def test_a_night_is_due_until_one_has_completed_since() -> None:
    due = last_due(NOON, BERLIN)
    assert night_due(NOON, BERLIN, [])
    assert night_due(NOON, BERLIN, [due - MINUTE])
    assert not night_due(NOON, BERLIN, [due])
    assert not night_due(NOON, BERLIN, [due + MINUTE, due - DAY])
    assert night_due(NOON + DAY, BERLIN, [due + MINUTE])


def test_a_week_asleep_is_one_night() -> None:
    asleep = [last_due(NOON, BERLIN) - 7 * DAY]
    assert night_due(NOON, BERLIN, asleep)
    assert not night_due(NOON + MINUTE, BERLIN, [*asleep, NOON])


def test_a_clock_that_was_set_back_stops_no_night_and_doubles_none() -> None:
    ahead = [NOON + 300 * DAY]
    assert night_due(NOON, BERLIN, ahead)
    assert not night_due(NOON + MINUTE, BERLIN, [*ahead, NOON])
    assert night_due(NOON + DAY, BERLIN, [*ahead, NOON])


@pytest.mark.parametrize(
    ("day", "due"),
    [
        pytest.param((2026, 3, 29), (2026, 3, 29, 1, 30), id="forward over it"),
        pytest.param((2026, 10, 25), (2026, 10, 25, 0, 30), id="back over it: the first"),
    ],
)
def test_a_day_on_which_the_clock_jumps_has_one_night(
    day: tuple[int, int, int], due: tuple[int, int, int, int, int]
) -> None:
    at = datetime(*due, tzinfo=UTC)
    noon = datetime(*day, 12, tzinfo=HELSINKI)
    assert last_due(noon, HELSINKI) == at
    minutes = [at - DAY + n * MINUTE for n in range(60 * 48)]
    dues = {last_due(now, HELSINKI) for now in minutes if now >= at - timedelta(hours=2)}
    assert len([one for one in dues if one.astimezone(HELSINKI).date() == noon.date()]) == 1
    assert all(last_due(now, HELSINKI) <= now for now in minutes)
