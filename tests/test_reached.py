"""Every session of the window is told, held out or in no channel, for each lesson and in sum."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

from tasks.domain.proposals import Expose
from tasks.domain.report import Reach, Reached
from tasks.reached import reached
from tasks.render.rates import reach_lines, reach_table
from tasks.store.told import FILE, FILE_READER, HOOK, PROXY
from tests.store.build import DAY, NOW, SCOPE, Home, episode, lesson, put, session

ZONE = ZoneInfo("UTC")
A = episode("a")
MADE = lesson(A, recorded_at=NOW - 10 * DAY)
OTHER = lesson(episode("b"), text="Use pnpm.", recorded_at=NOW - DAY)


def counted(house: Home) -> Reached:
    """Store six sessions after the lesson and one before the window; count them."""
    began = NOW - 8 * DAY
    talks = [
        session(name, agent=FILE_READER, started=began, ended=began + DAY / 24) for name in "stuvwx"
    ]
    old = session("old", agent=FILE_READER, started=NOW - 30 * DAY, ended=NOW - 30 * DAY)
    told = [
        Expose("1", began, "session-s", HOOK, (MADE.id,), ()),
        Expose("2", began, "session-t", PROXY, (MADE.id,), ()),
        Expose("3", began, "session-s", PROXY, (MADE.id,), ()),
        Expose("4", began, "session-u", HOOK, (), (MADE.id,)),
        Expose("5", began, "session-t", HOOK, (), (MADE.id,)),
        Expose("6", NOW - 30 * DAY, "session-old", HOOK, (MADE.id,), ()),
    ]
    units = [A, episode("b"), MADE, OTHER, *talks, old]
    house.commit(*(put(one) for one in (*units, *told)))  # type: ignore[arg-type]
    with house.opened() as store:
        return reached(store, at=NOW, zone=ZONE)


def test_a_session_is_told_or_held_out_or_in_no_channel(house: Home) -> None:
    found = counted(house)
    assert str(found.since) == "2026-05-19"
    whole = Reach(sessions=6, hook=1, proxy=2, file=0, told=2, held_out=1)
    assert found.whole == whole
    named = replace(whole, lesson=MADE.id, text=MADE.text, project=SCOPE.project_id)
    assert found.lessons == (named,)
    assert found.whole.nowhere == 3


def test_lines_of_a_file_count_for_the_sessions_that_began_after_them(house: Home) -> None:
    house.commit(put(Expose("r", NOW - 9 * DAY, "", FILE, (MADE.id,), ())))
    whole = counted(house).whole
    assert (whole.file, whole.told, whole.held_out, whole.nowhere) == (6, 6, 0, 0)


def test_a_store_with_no_session_tells_nothing(house: Home) -> None:
    with house.opened() as store:
        found = reached(store, at=NOW, zone=ZONE)
    assert found.whole == Reach()
    assert reach_lines(found) == reach_table(found) == []


def test_it_is_told_with_how_little_can_be_said_by_it(house: Home) -> None:
    found = counted(house)
    (line,) = reach_lines(found)
    assert "Of 6 conversations since 19 May 2026, 2 were told a lesson, 1 were held out" in line
    assert "too few to compare" in line
    assert reach_table(found)[-1] == "| any of them | 6 | 1 | 2 | 0 | 1 | 3 |"
    many = Reached(found.since, Reach(sessions=20, told=10, held_out=5))
    assert "too few" not in reach_lines(many)[0]
