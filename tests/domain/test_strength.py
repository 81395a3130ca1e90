from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.strength import brought_forward, faded, joined, touched, value_at
from tasks.domain.units import Strength

START = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)
FRESH = Strength(1.0, START)
DAY = timedelta(days=1)
VALUES = st.floats(0, 100)
SPANS = st.timedeltas(timedelta(days=-400), timedelta(days=4000))
DAYS = st.integers(0, 400)


def test_strength_halves_in_45_days() -> None:
    assert brought_forward(FRESH, START + 45 * DAY) == Strength(0.5, START + 45 * DAY)
    assert value_at(FRESH, START + 90 * DAY) == pytest.approx(0.25)


def test_only_whole_days_count() -> None:
    assert brought_forward(FRESH, START + DAY - timedelta(microseconds=1)) == FRESH
    forward = brought_forward(FRESH, START + 2 * DAY + timedelta(hours=23))
    assert forward == Strength(2 ** (-2 / 45), START + 2 * DAY)


def test_a_join_adds_one_and_a_touch_a_tenth_to_the_value_of_the_day() -> None:
    at = START + 45 * DAY
    assert joined(FRESH, at) == Strength(1.5, at)
    assert touched(FRESH, at) == Strength(pytest.approx(0.6), at)


def test_a_touch_within_the_day_does_not_put_decay_off() -> None:
    once = touched(FRESH, START + timedelta(hours=23))
    assert once.as_of == START


def test_a_pinned_unit_does_not_decay_and_decays_from_the_day_it_is_unpinned() -> None:
    at = START + 450 * DAY
    kept = brought_forward(FRESH, at, pinned=True)
    assert kept == Strength(1.0, at)
    assert not faded(FRESH, at, pinned=True)
    assert joined(FRESH, at, pinned=True).value == 2.0
    assert touched(FRESH, at, pinned=True).value == pytest.approx(1.1)
    assert value_at(kept, at + 45 * DAY) == 0.5


def test_a_unit_fades_below_fifteen_hundredths() -> None:
    assert not faded(FRESH, START + 123 * DAY)
    assert faded(FRESH, START + 124 * DAY)
    assert not faded(Strength(0.15, START), START)


@given(VALUES, SPANS)
def test_time_never_strengthens(value: float, span: timedelta) -> None:
    assert value_at(Strength(value, START), START + span) <= value


@given(VALUES, st.timedeltas(timedelta(days=-4000), timedelta(0)))
def test_a_clock_that_went_backwards_changes_nothing(value: float, span: timedelta) -> None:
    s = Strength(value, START)
    assert brought_forward(s, START + span) == s


@given(VALUES, DAYS, DAYS, st.timedeltas(timedelta(0), timedelta(hours=23)))
def test_two_steps_forward_are_one(value: float, n: int, m: int, part: timedelta) -> None:
    s = Strength(value, START)
    stepped = brought_forward(brought_forward(s, START + n * DAY + part), START + (n + m) * DAY)
    whole = brought_forward(s, START + (n + m) * DAY)
    assert stepped.as_of == whole.as_of
    assert stepped.value == pytest.approx(whole.value)
