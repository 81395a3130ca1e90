import hashlib
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.holdout import held_out, line_id


@pytest.mark.parametrize("unit", ["s1", "7f3a:2026-W49", "", "ünï"])
def test_the_first_four_bytes_of_the_salted_hash_decide(unit: str) -> None:
    first = int(hashlib.sha256(b"everest-holdout-1:" + unit.encode()).hexdigest()[:8], 16)
    share = first / 2**32
    assert not held_out(unit, share)
    assert held_out(unit, share + 2**-32)


def test_known_answers_at_half() -> None:
    held = [n for n in range(1, 11) if held_out(f"session-{n}", 0.5)]
    assert held == [3, 4, 6, 7, 10]


@given(st.text())
def test_nothing_is_held_out_of_none_and_everything_of_all(unit: str) -> None:
    assert not held_out(unit, 0.0)
    assert held_out(unit, 1.0)


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_holds_out_at_least_the_same(unit: str, one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert held_out(unit, large) or not held_out(unit, small)


def test_about_the_share_is_held_out() -> None:
    held = sum(held_out(f"session-{n}", 0.3) for n in range(10_000))
    assert 2_800 < held < 3_200


@pytest.mark.parametrize(
    ("at", "zone", "week"),
    [
        (datetime(2026, 11, 30, 12, tzinfo=UTC), "UTC", "2026-W49"),
        (datetime(2026, 11, 29, 23, 30, tzinfo=UTC), "UTC", "2026-W48"),
        (datetime(2026, 11, 29, 23, 30, tzinfo=UTC), "Europe/Berlin", "2026-W49"),
        (datetime(2027, 1, 1, 12, tzinfo=UTC), "UTC", "2026-W53"),
        (datetime(2024, 12, 30, 12, tzinfo=UTC), "UTC", "2025-W01"),
        (datetime(2026, 2, 23, 12, tzinfo=UTC), "UTC", "2026-W09"),
    ],
)
def test_a_line_is_held_out_by_iso_week_in_the_persons_zone(
    at: datetime, zone: str, week: str
) -> None:
    assert line_id("7f3a", at, ZoneInfo(zone)) == f"7f3a:{week}"
