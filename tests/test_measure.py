"""The two rates: what counts as said again, in which project, on which day."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from tasks.domain.report import Measures
from tasks.domain.units import Episode, EpisodeKind, Grounding
from tasks.embedding.hashed import Hashed
from tasks.measure import DAYS, Said, measure, repeated
from tasks.sleep import run as sleeping
from tasks.store import gateway
from tests.store.build import (
    DAY,
    EARLIER,
    ELSEWHERE,
    NOW,
    OTHER_RULE,
    RULE,
    Home,
    episode,
    put,
    session,
)

UTC_ZONE = ZoneInfo("UTC")
NONE = np.zeros((0, 0), np.float32)


def measured(house: Home, *episodes: Episode, zone: str = "UTC") -> Measures:
    space = Hashed()
    with house.opened() as store:
        gateway.commit(store, [put(one) for one in episodes], at=NOW)
        sleeping.embed(store, space, at=NOW)
        return measure(store, space, zone=ZoneInfo(zone))


def again(name: str, words: str = RULE, *, days: float = 1, **given: Any) -> Episode:
    return episode(name, words, at=EARLIER + days * DAY, **given)


def error(name: str, *, days: float = 0, **given: Any) -> Episode:
    found = {
        "kind": EpisodeKind.ERROR,
        "grounding": Grounding.TOOL,
        "tool": "Bash",
        "error_class": "missing_module",
        "command": "pytest",
        "lasting": False,
        "rule": "",
    } | given
    return again(name, f"no module {name}", days=days, **found)


def test_nothing_said_is_nothing_of_nothing(house: Home) -> None:
    found = measured(house)
    assert (found.repeat_yourself.part, found.repeat_yourself.whole, found.person_turns) == (
        0,
        0,
        0,
    )


def test_the_second_time_counts_and_the_first_does_not(house: Home) -> None:
    rate = measured(house, episode("a"), again("b"), again("c", OTHER_RULE)).repeat_yourself
    assert (rate.part, rate.whole) == (1, 3)
    assert [(day.day, day.part, day.whole) for day in rate.days] == [
        (date(2026, 5, 1), 0, 1),
        (date(2026, 5, 2), 1, 2),
    ]


def test_in_one_session_nothing_is_repeated(house: Home) -> None:
    rate = measured(house, episode("a"), again("b", session="session-a")).repeat_yourself
    assert (rate.part, rate.whole) == (0, 2)


def test_another_project_heard_nothing(house: Home) -> None:
    rate = measured(house, episode("a"), again("b", scope=ELSEWHERE)).repeat_yourself
    assert (rate.part, rate.whole) == (0, 2)


def test_a_standing_rule_is_left_out(house: Home) -> None:
    rate = measured(house, episode("a", standing=True), again("b"), again("c")).repeat_yourself
    assert (rate.part, rate.whole) == (1, 2)


def test_it_is_the_same_by_meaning_or_by_key(house: Home) -> None:
    first, second = "please annotate the types in tests", "annotate the types in tests please"
    rate = measured(house, episode("a", first), again("b", second)).repeat_yourself
    assert (rate.part, rate.whole) == (1, 2)


def test_a_day_is_that_of_the_persons_zone(house: Home) -> None:
    late = episode("a", at=datetime(2026, 5, 1, 23, 30, tzinfo=UTC_ZONE))
    rate = measured(house, late, zone="Europe/Berlin").repeat_yourself
    assert [day.day for day in rate.days] == [date(2026, 5, 2)]


def test_only_the_last_days_with_anything_count_and_the_earlier_ones_were_heard(
    house: Home,
) -> None:
    alike = [again(f"m{n}", days=2 * n) for n in range(DAYS + 1)]
    found = measured(house, *alike, error("e", days=1))
    mine, errors = found.repeat_yourself, found.repeated_error
    assert (mine.part, mine.whole) == (DAYS, DAYS)
    assert mine.days[0].day == date(2026, 5, 3)
    assert (errors.part, errors.whole) == (0, 0)


def test_both_rates_list_the_same_days(house: Home) -> None:
    found = measured(house, episode("a"), error("b", days=1), again("c", days=2))
    days = [
        [day.day for day in rate.days] for rate in (found.repeat_yourself, found.repeated_error)
    ]
    assert days[0] == days[1]
    assert [day.whole for day in found.repeat_yourself.days] == [1, 0, 1]
    assert [day.whole for day in found.repeated_error.days] == [0, 1, 0]


def test_the_persons_turns_are_those_of_the_window(house: Home) -> None:
    with house.opened() as store:
        before, into = EARLIER + timedelta(hours=1), EARLIER + DAY
        long_ago = session("a", ended=before, person_turns=("1", "2", "3"))
        overnight = session("b", ended=into, person_turns=("4", "5"))
        corrected = [again(f"m{n}", days=n) for n in range(1, DAYS + 1)]
        gateway.commit(store, [put(long_ago), put(overnight), put(episode("a"))], at=NOW)
        gateway.commit(store, [put(one) for one in corrected], at=NOW)
        assert measure(store, Hashed(), zone=UTC_ZONE).person_turns == 2


def test_an_error_comes_back_by_class_tool_and_command(house: Home) -> None:
    found = measured(
        house,
        error("a"),
        error("b", days=1),
        error("c", days=2, command="mypy"),
        error("d", days=3, error_class="syntax"),
        error("e", days=4, tool="Edit"),
        error("f", days=5, session="session-b"),
    )
    assert (found.repeated_error.part, found.repeated_error.whole) == (2, 6)
    assert found.repeat_yourself.whole == 0


def test_the_persons_turns_are_counted_over_all_projects(house: Home) -> None:
    with house.opened() as store:
        here, there = session("a"), replace(session("b", scope=ELSEWHERE), person_turns=("1", "2"))
        gateway.commit(store, [put(here), put(there)], at=NOW)
        gateway.commit(store, [put(episode("a"))], at=NOW)
        assert measure(store, Hashed(), zone=UTC_ZONE).person_turns == 3


def said(name: str, hours: int, key: str = "", row: int = -1) -> Said:
    at = EARLIER + timedelta(hours=hours)
    return Said(at.date(), at, name, key, row)


def test_keys_and_meanings_are_looked_for_in_earlier_sessions_alone() -> None:
    matrix = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], np.float32)
    told = [said("a", 0, row=0), said("a", 1, row=0), said("b", 2, row=1), said("c", 3, row=2)]
    assert repeated(told, matrix, 0.79) == [False, False, True, False]
    assert repeated(told, matrix, 0.81) == [False] * 4
    assert repeated(told, matrix, 0.59) == [False, False, True, True]
    assert repeated([said("a", 0), said("b", 1)], NONE, 0.5) == [False, False]
    assert repeated([said("a", 0, "k"), said("b", 1, "k")], NONE, 0.5) == [False, True]
    assert repeated([], NONE, 0.5) == []


def test_blocks_do_not_change_the_answer() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(2_500, 8)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    told = [said(f"s{n % 700}", n, row=n) for n in range(2_500)]
    close = matrix @ matrix.T >= 0.9
    expected = [
        any(close[n, m] and m % 700 != n % 700 for m in range(n)) for n in range(0, 2_500, 97)
    ]
    assert repeated(told, matrix, 0.9)[::97] == expected


def test_the_history_counts_the_days_before_the_window_too(house: Home) -> None:
    many = DAYS + 3
    found = measured(house, *(again(f"c{n}", days=-n) for n in range(many)))
    assert found.history is not None
    assert len(found.repeat_yourself.days) == DAYS
    assert len(found.history.repeat_yourself.days) == many
    assert found.history.repeat_yourself.days[-DAYS:] == found.repeat_yourself.days
    assert found.history.repeat_yourself.whole == many
    assert found.history.repeat_yourself.part == many - 1, "all but the very first"
    assert found.history.history is None
