"""What may be said to the memory: checked against what was refused, appended, and nothing more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tasks.domain.project import Identified
from tasks.domain.proposals import Actor
from tasks.domain.units import Project, Trust
from tasks.embedding.hashed import Hashed
from tasks.errors import (
    AmbiguousName,
    EverestError,
    Refused,
    UnknownProject,
    UnknownUnit,
    UsageError,
)
from tasks.said import MAX_NOTE, arrange, decide, remember
from tasks.store import gateway
from tasks.store.journal import Line, unfolded
from tasks.store.publish import publish
from tests.store.build import (
    EARLIER,
    ELSEWHERE,
    EVERYWHERE,
    NOW,
    RULE,
    SCOPE,
    Home,
    bury,
    episode,
    lesson,
    put,
    stone,
)

SHOP = Identified(SCOPE.project_id, "/home/me/shop", "shop")
A = episode("a")
MADE = lesson(A)
LATER = NOW + timedelta(minutes=1)


def say(house: Home, text: str, actor: Actor = Actor.PERSON) -> str:
    memory = house.memory()
    return remember(memory, text, scope=SCOPE, project=SHOP, actor=actor, at=NOW).unit_id


def lines(house: Home) -> list[Line]:
    return [line for read in unfolded(house.places.journal, {}) for line in read.lines]


def published(house: Home, *, rejected: bool = False) -> Home:
    with house.opened() as store:
        proposals = [put(A), put(MADE)]
        if rejected:
            proposals.append(bury(stone(MADE, store.key)))
        gateway.commit(store, proposals, at=NOW)
        publish(store, Hashed().name, at=NOW)
    return house


def test_a_note_is_journaled_with_its_project_and_who_said_it(house: Home) -> None:
    unit = say(house, "  a note  ", Actor.AGENT)
    (line,) = lines(house)
    assert (line.op, line.actor, line.scope) == ("remember", Actor.AGENT, SCOPE)
    assert line.body["text"] == "a note"
    assert line.body["project"]["project_id"] == SCOPE.project_id
    assert len(unit) == 64
    assert not house.places.store.exists()


@pytest.mark.parametrize("text", ["", "   \n", "\u200b", "...", "x" * (MAX_NOTE + 1)])
def test_nothing_and_too_much_are_usage_errors_and_write_nothing(house: Home, text: str) -> None:
    with pytest.raises(UsageError):
        say(house, text)
    assert lines(house) == []


def test_the_longest_note_is_accepted(house: Home) -> None:
    assert say(house, "x" * MAX_NOTE)


def test_half_a_character_is_no_reason_to_fail(house: Home) -> None:
    assert say(house, "half \ud83d of a pair and \udcff")
    (line,) = lines(house)
    assert line.body["text"] == "half ? of a pair and ?"
    (note,) = house.memory().overlay.notes
    assert note.row["text"] == line.body["text"]


def test_the_id_told_is_the_id_that_can_be_found(house: Home) -> None:
    for text in ("a note", "half \ud83d", f"with {'ghp_' + 'a1B2c3D4e5' * 4} inside"):
        unit = say(house, text)
        assert house.memory().find(unit, SCOPE).row["id"] == unit


def test_what_a_night_buried_is_refused_at_once(house: Home) -> None:
    published(house, rejected=True)
    with pytest.raises(Refused, match="rejected or forgotten before"):
        say(house, RULE.lower())
    memory = house.memory()
    elsewhere = remember(memory, RULE, scope=ELSEWHERE, project=SHOP, actor=Actor.PERSON, at=NOW)
    assert elsewhere.unit_id


def test_a_decision_carries_digests_and_no_text(house: Home) -> None:
    published(house)
    memory = house.memory()
    found = memory.find(MADE.id[:12], SCOPE)
    decide(memory, "reject", found, reason=" wrong ", actor=Actor.PERSON, at=NOW)
    (line,) = lines(house)
    assert line.body["reason"] == "wrong"
    assert line.body["sources"] == [A.id]
    assert RULE not in str(line)
    assert len(line.body["digests"]) == 1


def test_a_rejection_gives_a_reason_and_forgetting_needs_none(house: Home) -> None:
    published(house)
    memory = house.memory()
    found = memory.find(MADE.id, SCOPE)
    with pytest.raises(UsageError, match="reason"):
        decide(memory, "reject", found, reason=" ", actor=Actor.PERSON, at=NOW)
    assert lines(house) == []
    assert "compact" in decide(memory, "forget", found, reason="", actor=Actor.PERSON, at=NOW).now


def test_an_agent_is_told_that_only_a_person_decides(house: Home) -> None:
    published(house)
    memory = house.memory()
    found = memory.find(MADE.id, SCOPE)
    told = decide(memory, "reject", found, reason="x", actor=Actor.AGENT, at=NOW).now
    assert "only a person" in told


@pytest.mark.parametrize("prefix", ["", "abc", "zzzzzz", "f" * 64])
def test_an_id_that_names_nothing_is_a_usage_error(house: Home, prefix: str) -> None:
    published(house)
    with pytest.raises(UsageError):
        house.memory().find(prefix, SCOPE)


def test_a_prefix_that_names_two_lists_them(house: Home) -> None:
    with house.opened() as store:
        twins = [lesson(A, id="abcd" + end * 60, text=f"Rule {end}.") for end in "12"]
        gateway.commit(store, [put(A), *(put(one) for one in twins)], at=NOW)
        publish(store, Hashed().name, at=NOW)
    with pytest.raises(AmbiguousName, match=r"abcd1.*abcd2"):
        house.memory().find("abcd", EVERYWHERE)
    assert house.memory().find("abcd1", EVERYWHERE).row["text"] == "Rule 1."


def test_a_unit_in_dispute_can_still_be_named_for_the_persons_word(house: Home) -> None:
    published(house)
    with house.opened() as store:
        doubted = replace(MADE, trust=Trust.DISPUTED, recorded_at=NOW)
        gateway.commit(store, [put(doubted, actor=Actor.AGENT)], at=NOW)
        publish(store, Hashed().name, at=NOW)
    memory = house.memory()
    found = memory.find(MADE.id[:16], EVERYWHERE)
    assert (found.scope, found.row["text"]) == (SCOPE, RULE)
    decide(memory, "reject", found, reason="x", actor=Actor.PERSON, at=NOW)
    with pytest.raises(UnknownUnit):
        house.memory().find(MADE.id[:16], EVERYWHERE)


def test_a_project_is_arranged_through_the_journal(house: Home) -> None:
    project = Project(SCOPE.project_id, "shop", "/home/me/shop", (), EARLIER)
    memory = house.memory()
    arrange(memory, "ignore", project, scope=SCOPE, actor=Actor.PERSON, at=NOW)
    (line,) = lines(house)
    assert (line.body["verb"], line.body["unit"]) == ("ignore", "project")
    with pytest.raises(EverestError, match="new name"):
        arrange(memory, "rename", project, name=" ", scope=SCOPE, actor=Actor.PERSON, at=NOW)


def test_a_new_project_is_known_by_name_and_path_from_its_first_note_on(house: Home) -> None:
    with pytest.raises(UnknownProject):
        house.memory().project("shop")
    say(house, "a note")
    assert house.memory().project("shop").project_id == SCOPE.project_id
    assert house.memory().project("/home/me/shop").project_id == SCOPE.project_id


def test_a_note_for_every_project_makes_none(house: Home) -> None:
    memory = house.memory()
    remember(memory, "a note", scope=EVERYWHERE, project=SHOP, actor=Actor.PERSON, at=NOW)
    with pytest.raises(UnknownProject):
        house.memory().project("shop")


def test_what_one_project_rejects_another_may_keep_before_the_night_too(house: Home) -> None:
    yard = Identified(ELSEWHERE.project_id, "/home/me/yard", "yard")
    unit = say(house, "a note")
    there = remember(
        house.memory(), "a note", scope=ELSEWHERE, project=yard, actor=Actor.PERSON, at=NOW
    )
    memory = house.memory()
    decide(memory, "reject", memory.find(unit, SCOPE), reason="wrong", actor=Actor.PERSON, at=LATER)
    assert [note.row["id"] for note in house.memory().overlay.notes] == [there.unit_id]
    with pytest.raises(Refused):
        say(house, "a note")
    remember(house.memory(), "a note", scope=ELSEWHERE, project=yard, actor=Actor.PERSON, at=LATER)


def test_what_is_rejected_everywhere_is_refused_in_every_project(house: Home) -> None:
    memory = house.memory()
    unit = remember(
        memory, "a note", scope=EVERYWHERE, project=SHOP, actor=Actor.PERSON, at=NOW
    ).unit_id
    memory = house.memory()
    decide(memory, "reject", memory.find(unit, SCOPE), reason="wrong", actor=Actor.PERSON, at=LATER)
    with pytest.raises(Refused):
        say(house, "a note")
