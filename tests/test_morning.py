"""The morning report: what a night came to, for the day, and only what is new to say."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tasks.compose import Setting
from tasks.demo import write_week
from tasks.domain.project import Identified
from tasks.domain.proposals import Actor
from tasks.domain.ran import NIGHTLY
from tasks.domain.report import NightReport
from tasks.errors import StoreError
from tasks.morning import Parts, morning
from tasks.night import Run, opened
from tasks.runs import new_run
from tasks.said import decide, remember
from tasks.steps import PLAIN
from tests.store.build import (
    DAY,
    EVERYWHERE,
    NOW,
    SCOPE,
    Home,
    episode,
    home_in,
    lesson,
    put,
)

WITHOUT_SOURCE = lesson(episode("absent"))
SHOP = Identified(SCOPE.project_id, "/home/me/shop", "shop")


def night(run: Run) -> NightReport:
    folded, reconciled, ingested = PLAIN.fold(run), PLAIN.reconcile(run), PLAIN.ingest(run)
    stages = (PLAIN.embed, PLAIN.decay, PLAIN.lessons, PLAIN.merge, PLAIN.verify, PLAIN.predict)
    slept = tuple(stage(run) for stage in stages)
    measures = PLAIN.measure(run)
    PLAIN.publish(run)
    return morning(run, Parts(folded, reconciled, ingested, slept, measures, PLAIN.render(run)))


def nights(house: Home, root: Path, *after: timedelta) -> list[NightReport]:
    reports = []
    for one in after:
        with house.run(root, at=NOW + one) as run:
            reports.append(night(run))
    return reports


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a week of transcripts."""
    return write_week(tmp_path / "claude", now=NOW).root


def test_the_first_report_tells_what_was_read_and_learned(house: Home, root: Path) -> None:
    (report,) = nights(house, root, timedelta())
    assert report.first
    assert (report.ingested.files, report.ingested.failed) == (12, 0)
    assert len(report.learned) > 3
    assert all(one.quote for one in report.learned)
    text = house.places.morning.read_text("utf-8")
    for one in report.learned[:3]:
        assert one.text in text
    assert house.places.morning.stat().st_mode & 0o777 == 0o600


def test_the_same_day_again_hides_nothing_and_the_next_day_begins_anew(
    house: Home, root: Path
) -> None:
    first, second, third = nights(house, root, timedelta(), timedelta(hours=1), DAY)
    assert second.learned == first.learned
    assert third.learned == ()
    assert (first.again, second.again, third.again) == (False, True, False)
    assert (first.first, second.first, third.first) == (True, False, False)


def test_a_run_that_says_nothing_new_leaves_the_file(house: Home, root: Path) -> None:
    nights(house, root, timedelta())
    before = house.places.morning.read_bytes()
    nights(house, root, timedelta(hours=1))
    assert house.places.morning.read_bytes() == before


def said_once_more(root: Path) -> None:
    """Let a conversation grow by a line that teaches nothing."""
    path = max(root.rglob("*.jsonl"))
    *_, last = path.read_bytes().splitlines()
    path.write_bytes(path.read_bytes() + last.replace(b'"uuid":"', b'"uuid":"f') + b"\n")


def test_a_third_night_of_a_day_tells_its_own_and_is_no_first_one(house: Home, root: Path) -> None:
    nights(house, root, timedelta(), timedelta(hours=1))
    assert "This was the first night." in house.places.morning.read_text("utf-8")
    said_once_more(root)
    (third,) = nights(house, root, timedelta(hours=2))
    summary = house.places.morning.read_text("utf-8").splitlines()[2]
    assert "first night" not in summary
    own, _, day = summary.partition(" All of today together, as told below: ")
    assert "12 conversations" not in own
    assert day.startswith("read 12 conversations and learned ")
    assert third.alone is not None
    assert third.alone.ingested.changed == 1


def test_what_was_read_of_folders_that_are_gone_is_no_share_of_those_that_are_left(
    house: Home, root: Path
) -> None:
    nights(house, root, timedelta())
    for path in [*root.rglob("*.jsonl")][1:]:
        path.unlink()
    said_once_more(root)
    (report,) = nights(house, root, timedelta(hours=1))
    assert (report.ingested.files, report.ingested.changed) == (1, 12)
    text = house.places.morning.read_text("utf-8")
    assert "12 of 1 " not in text
    assert "12 transcripts had something new" in text


def test_a_night_whose_report_was_thrown_away_does_not_make_the_next_the_first(
    house: Home, root: Path
) -> None:
    where = Setting(house.settings, house.places, (root,), None)
    with opened(where, new_run(NIGHTLY), at=NOW) as run:
        assert night(run).first
    house.places.morning.unlink()
    (report,) = nights(house, root, DAY)
    assert not report.first


def broken_off(house: Home, at: datetime) -> None:
    with pytest.raises(StoreError), house.run(at=at):
        raise StoreError("the disk is on fire")


def test_a_run_that_failed_is_told_once_in_the_next_report_that_is_written_for_it(
    house: Home, root: Path
) -> None:
    nights(house, root, timedelta())
    before = house.places.morning.read_bytes()
    broken_off(house, NOW + timedelta(minutes=30))
    (told,) = nights(house, root, timedelta(hours=1))
    (problem,) = told.problems
    assert problem.startswith("The test of 2026-0")
    assert problem.endswith("failed: the disk is on fire")
    text = house.places.morning.read_bytes()
    assert text != before
    assert b"disk is on fire" in text
    (again, next_day) = nights(house, root, timedelta(hours=2), DAY)
    assert again.problems == told.problems, "a report of the same day hides nothing"
    assert next_day.problems == ()


def test_a_night_that_was_killed_before_any_report_is_told_in_the_first(
    house: Home, root: Path
) -> None:
    with pytest.raises(KeyboardInterrupt), house.run(at=NOW):
        raise KeyboardInterrupt
    log = house.places.runs
    log.write_bytes(
        log.read_bytes()
        + log.read_bytes()
        .splitlines(keepends=True)[0]
        .replace(b'"n": 1', b'"n": 3')
        .replace(b'"run": "', b'"run": "f')
    )
    (report,) = nights(house, root, timedelta(hours=1))
    stopped, killed = report.problems
    assert "was stopped before it was done" in stopped
    assert "was killed or crashed" in killed


def test_what_is_retired_on_the_day_it_was_learned_is_told(house: Home, root: Path) -> None:
    (report,) = nights(house, root, timedelta())
    memory = house.memory()
    found = memory.find(report.learned[0].id, EVERYWHERE)
    decide(memory, "reject", found, reason="wrong", actor=Actor.PERSON, at=NOW)
    (report,) = nights(house, root, timedelta(hours=1))
    assert [one.id for one in report.retired] == [found.row["id"]]
    assert found.row["id"] not in [one.id for one in report.learned]
    assert report.waiting > 0


def test_the_command_that_answers_a_question_answers_it(house: Home, tmp_path: Path) -> None:
    """What an agent wanted out waits for the person, who can name it although it is withheld."""
    (tmp_path / "none").mkdir()
    memory = house.memory()
    said = remember(
        memory, "zebra note", scope=SCOPE, project=SHOP, actor=Actor.PERSON, at=NOW
    ).unit_id
    nights(house, tmp_path / "none", timedelta())
    memory = house.memory()
    decide(memory, "reject", memory.find(said, EVERYWHERE), reason="x", actor=Actor.AGENT, at=NOW)
    (report,) = nights(house, tmp_path / "none", DAY)
    (question,) = report.held
    assert question.text == "zebra note"
    (unit,) = re.findall(r"everest reject (\w+) ", question.commands[0])
    memory = house.memory()
    found = memory.find(unit, EVERYWHERE)
    decide(memory, "reject", found, reason="right", actor=Actor.PERSON, at=NOW + DAY)
    (report,) = nights(house, tmp_path / "none", 2 * DAY)
    assert report.held == ()


@pytest.mark.parametrize("stages", [("ingest",), ("ingest", "embed", "lessons", "predict")])
def test_what_a_night_did_that_was_broken_off_is_told_by_the_next(
    house: Home, root: Path, tmp_path: Path, stages: tuple[str, ...]
) -> None:
    with house.run(root) as run:
        for stage in stages:
            getattr(PLAIN, stage)(run)
    (report,) = nights(house, root, timedelta(hours=1))
    (unbroken,) = nights(home_in(tmp_path / "other"), root, timedelta(hours=1))
    assert report.ingested == unbroken.ingested
    assert report.ingested.sessions == report.ingested.changed == 12
    assert report.bets == unbroken.bets
    assert report.bets.made > 0


def test_what_a_night_was_refused_that_was_broken_off_is_told_by_the_next_alone(
    house: Home, root: Path
) -> None:
    nights(house, root, timedelta())
    (reason,) = [one.reason for one in house.commit(put(WITHOUT_SOURCE)).decisions]
    told, later = nights(house, root, DAY, 2 * DAY)
    assert told.refused == ((reason, 1),)
    assert later.refused == ()
