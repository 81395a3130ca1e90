"""Every session of the window is told, held out or in no channel, for each lesson and in sum."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tasks.demo_records import Record, Transcript
from tasks.domain.clock import instant
from tasks.domain.proposals import Expose
from tasks.domain.report import Reach, Reached
from tasks.reached import ever_reached, reached
from tasks.render.rates import reach_lines, reach_table
from tasks.store.reaching import COUNTS
from tasks.store.told import FILE, FILE_READER, HOOK, PROXY
from tests.serving.shipped import Everest
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


def test_the_history_counts_what_went_before_the_window_too(house: Home) -> None:
    counted(house)
    with house.opened() as store:
        found = ever_reached(store)
    assert found.since is None
    assert found.whole == Reach(sessions=7, hook=2, proxy=2, file=0, told=3, held_out=1)
    assert [one.lesson for one in found.lessons] == [MADE.id]


def test_lines_of_a_file_count_for_the_sessions_that_began_after_them(house: Home) -> None:
    house.commit(put(Expose("r", NOW - 9 * DAY, "", FILE, (MADE.id,), ())))
    whole = counted(house).whole
    assert (whole.file, whole.told, whole.held_out, whole.nowhere) == (6, 6, 0, 0)


def test_a_render_that_leaves_no_line_ends_what_the_one_before_showed(house: Home) -> None:
    """The file showed the lesson, then held it out, then had nothing of ours at all."""
    ago = [NOW - days * DAY for days in (9, 8.5, 8.2)]
    house.commit(put(Expose("r1", ago[0], "", FILE, (MADE.id,), ())))
    house.commit(put(Expose("r2", ago[1], "", FILE, (), (MADE.id,))))
    whole = counted(house).whole
    assert (whole.file, whole.told, whole.held_out, whole.nowhere) == (0, 2, 4, 0)
    house.commit(put(Expose("r3", ago[2], "", FILE, (), ())))
    whole = counted(house).whole
    assert (whole.file, whole.told, whole.held_out, whole.nowhere) == (0, 2, 1, 3)
    house.places.store.unlink()
    assert counted(house).whole == whole, "a rebuild agrees"


def _works(person: Everest, name: str) -> None:
    """Leave the transcript of a conversation that begins now in the demo's project."""
    seen = next((person.claude / "projects").glob("*paperboat/*.jsonl"))
    lines = seen.read_text().splitlines()
    cwd = next(one["cwd"] for one in map(json.loads, lines) if "cwd" in one)
    time.sleep(
        1
    )  # a transcript's times are of whole seconds: later than the last night all the same
    now = datetime.now(UTC)
    trial = _talk(name, cwd, now)
    begun = next(instant(one["timestamp"]) for one in trial if one["type"] == "user")
    talk = _talk(name, cwd, now - (begun - now.replace(microsecond=0)))
    (seen.parent / f"{name}.jsonl").write_text("\n".join(map(json.dumps, talk)) + "\n")


def _loaded(person: Everest) -> str:
    """Return what Claude Code loads."""
    return "".join(path.read_text() for path in person.claude.rglob("MEMORY.md"))


def _talk(name: str, cwd: str, started: datetime) -> list[Record]:
    talk = Transcript(name, cwd, "main", started)
    for act in ({"you": "What is in the box?"}, {"says": "A boat."}):
        talk.act(act)
    return talk.closed("The box")


def _counted(person: Everest, **env: str) -> Reach:
    """Run a night, in which a new conversation is read, and return the counts over all."""
    assert person("night", **env).code == 0
    told = person("measure", "--json").data["reached"]["whole"]
    return Reach(**{name: told[name] for name in COUNTS})


@pytest.mark.slow
def test_conversations_are_counted_by_what_the_file_held_when_they_began(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))
    before = _counted(person)
    assert "everest-" in _loaded(person)
    _works(person, "00000000-0000-4000-8000-00000000000a")
    told = _counted(person, EVEREST_HOLDOUT="1")
    assert (told.sessions, told.file) == (before.sessions + 1, before.file + 1)
    assert "everest-" not in _loaded(person), "every line is held out this week"
    _works(person, "00000000-0000-4000-8000-00000000000b")
    held = _counted(person, EVEREST_HOLDOUT="1")
    assert held == replace(told, sessions=told.sessions + 1, held_out=told.held_out + 1)

    for one in person.lessons():
        assert person("reject", one["lesson_id"], "--reason", "no").code == 0
    _counted(person)
    _works(person, "00000000-0000-4000-8000-00000000000c")
    assert _counted(person) == replace(held, sessions=held.sessions + 1)


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
