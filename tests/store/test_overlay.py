"""The journal's tail over the view: at once what a night makes of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tasks import fold as folding
from tasks.domain.canon import digests
from tasks.domain.project import Identified
from tasks.domain.proposals import Actor, Archive
from tasks.domain.scope import Scope
from tasks.domain.units import EpisodeKind, Strength
from tasks.embedding.hashed import Hashed
from tasks.errors import Refused, UnknownUnit
from tasks.memory import Found, Memory
from tasks.recall import recall
from tasks.said import decide, remember
from tasks.sleep import run as sleeping
from tasks.store import gateway, journal
from tasks.store.publish import publish
from tests.store.build import (
    DAY,
    ELSEWHERE,
    EVERYWHERE,
    NOW,
    OTHER_RULE,
    RULE,
    SCOPE,
    Home,
    episode,
    lesson,
    put,
    told,
)

SPACE = Hashed()
NOTE = "the staging database is refreshed on Mondays"
SHOP = Identified(SCOPE.project_id, "/home/me/shop", "shop")
LATER = NOW + timedelta(minutes=1)


@pytest.fixture
def lived(house: Home) -> Home:
    """Give a published home with two lessons."""
    a, b = episode("a"), episode("b", OTHER_RULE)
    with house.opened() as store:
        proposals = [put(a), put(b), put(lesson(a)), put(lesson(b, text=OTHER_RULE))]
        gateway.commit(store, proposals, at=NOW)
        sleeping.embed(store, SPACE, at=NOW)
        publish(store, SPACE.name, at=NOW)
    return house


def say(house: Home, text: str, *, scope: Scope = SCOPE, actor: Actor = Actor.PERSON) -> str:
    accepted = remember(house.memory(), text, scope=scope, project=SHOP, actor=actor, at=LATER)
    return accepted.unit_id


def settle(
    house: Home, verb: str, unit: str, *, actor: Actor = Actor.PERSON, reason: str = "wrong"
) -> None:
    memory = house.memory()
    found = memory.find(unit, EVERYWHERE)
    decide(memory, verb, found, reason=reason, actor=actor, at=LATER)


def answers(house: Home, query: str, scope: Scope = SCOPE) -> set[tuple[str, str]]:
    found = recall(house.memory(), query, scope=scope, space=SPACE, k=20, now=LATER)
    return {(one.row["unit"], one.row["text"]) for one in found}


def night(house: Home) -> folding.Folded:
    with house.opened(LATER) as store:
        folded = folding.fold(store, at=LATER)
        sleeping.embed(store, SPACE, at=LATER)
        publish(store, SPACE.name, at=LATER)
    assert house.memory().overlay.lines == 0
    return folded


QUESTIONS = ("staging database refreshed", "annotate types", "commit messages imperative", "zebra")


def everything(house: Home) -> dict[tuple[str, str], set[tuple[str, str]]]:
    return {
        (query, scope.project_id): answers(house, query, scope)
        for query in QUESTIONS
        for scope in (SCOPE, ELSEWHERE, EVERYWHERE)
    }


def test_a_note_is_found_at_once(lived: Home) -> None:
    assert answers(lived, "staging database") == set()
    say(lived, NOTE)
    assert answers(lived, "staging database") == {("episode", NOTE)}
    assert answers(lived, "staging database", ELSEWHERE) == set()
    say(lived, "zebra for all", scope=EVERYWHERE)
    assert answers(lived, "zebra", ELSEWHERE) == {("episode", "zebra for all")}


def test_a_note_is_found_before_there_was_ever_a_night(house: Home) -> None:
    unit = say(house, NOTE)
    assert answers(house, "staging database") == {("episode", NOTE)}
    night(house)
    assert answers(house, "staging database") == {("episode", NOTE)}
    assert house.memory().find(unit[:8], SCOPE).row["text"] == NOTE


def test_the_same_note_twice_is_shown_once(lived: Home) -> None:
    first = say(lived, NOTE)
    assert say(lived, NOTE.upper() + ".") == first
    assert len(answers(lived, "staging database")) == 1
    night(lived)
    say(lived, NOTE)
    assert len(answers(lived, "staging database")) == 1


@pytest.mark.parametrize("verb", ["reject", "forget"])
@pytest.mark.parametrize("unit", ["lesson", "note", "unfolded note"])
def test_what_is_taken_out_is_out_at_once_and_after_the_night(
    lived: Home, verb: str, unit: str
) -> None:
    if unit == "lesson":
        target, query = lesson(episode("a")).id, "annotate types"
    else:
        target, query = say(lived, NOTE), "staging database"
        if unit == "note":
            night(lived)
    before = answers(lived, query)
    assert before
    settle(lived, verb, target)
    hidden = answers(lived, query)
    assert not {
        text for kind, text in hidden if kind == ("lesson" if unit == "lesson" else "episode")
    }
    night(lived)
    assert answers(lived, query) == hidden
    assert answers(lived, "commit messages imperative")


def test_a_rejected_lesson_leaves_its_evidence_and_a_forgotten_one_does_not(lived: Home) -> None:
    settle(lived, "reject", lesson(episode("a")).id)
    assert answers(lived, "annotate types") == {("episode", RULE)}
    settle(lived, "forget", lesson(episode("b"), text=OTHER_RULE).id)
    assert answers(lived, "commit messages imperative") == set()
    night(lived)
    assert answers(lived, "annotate types") == {("episode", RULE)}
    assert answers(lived, "commit messages imperative") == set()


def test_a_note_equal_to_a_value_just_refused_is_refused(lived: Home) -> None:
    settle(lived, "reject", lesson(episode("a")).id)
    with pytest.raises(Refused, match="rejected or forgotten"):
        say(lived, " ALWAYS annotate types in tests ")
    assert say(lived, OTHER_RULE + " And in English.")


def test_a_note_said_before_its_value_was_refused_is_not_shown(lived: Home) -> None:
    say(lived, RULE)
    assert ("episode", RULE) in answers(lived, "annotate types")
    settle(lived, "reject", lesson(episode("a")).id)
    memory = lived.memory()
    assert memory.overlay.notes == ()
    night(lived)


def test_a_replaced_text_is_read_at_once(lived: Home) -> None:
    unit = lesson(episode("a")).id
    body = {"lesson_id": unit, "text": "Annotate types everywhere.", "path": "x"}
    journal.append(lived.places.journal, "edit_file", body, scope=SCOPE, actor=Actor.FILE, at=LATER)
    assert ("lesson", "Annotate types everywhere.") in answers(lived, "annotate types")
    assert ("lesson", RULE) not in answers(lived, "annotate types")
    night(lived)
    assert ("lesson", "Annotate types everywhere.") in answers(lived, "annotate types")
    assert ("lesson", RULE) not in answers(lived, "annotate types")


@pytest.mark.parametrize("verb", ["reject", "forget"])
@pytest.mark.parametrize("unit", ["lesson", "note"])
def test_what_an_agent_wants_out_is_withheld_and_never_decided(
    lived: Home, verb: str, unit: str
) -> None:
    target, query = lesson(episode("a")).id, "annotate types"
    if unit == "note":
        target, query = say(lived, NOTE), "staging database"
        night(lived)
    settle(lived, verb, target, actor=Actor.AGENT)
    hidden = answers(lived, query)
    assert hidden == ({("episode", RULE)} if unit == "lesson" else set())
    night(lived)
    assert answers(lived, query) == hidden
    with lived.opened() as store:
        assert store.stones == []
    settle(lived, verb, target)
    night(lived)
    with lived.opened() as store:
        assert [one.unit_id for one in store.stones] == [target]


def test_what_is_hidden_cannot_be_named(lived: Home) -> None:
    unit = lesson(episode("a")).id
    assert lived.memory().find(unit[:10], SCOPE).row["id"] == unit
    settle(lived, "reject", unit)
    with pytest.raises(UnknownUnit):
        lived.memory().find(unit[:10], SCOPE)


STORY: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "a note": [("remember", {"text": NOTE})],
    "a note twice": [("remember", {"text": NOTE}), ("remember", {"text": NOTE + "."})],
    "a note and its touch": [("remember", {"text": "zebra"}), ("event", told())],
    "a lesson reworded": [
        ("edit_file", {"lesson_id": lesson(episode("a")).id, "text": "Annotate types, always."})
    ],
    "an event": [("event", told())],
    "a verb to come": [("decide", {"verb": "promote", "unit": "lesson", "unit_id": "x"})],
}


@pytest.mark.parametrize("said", STORY.values(), ids=STORY)
def test_the_night_changes_no_answer(lived: Home, said: list[tuple[str, dict[str, Any]]]) -> None:
    for op, body in said:
        journal.append(lived.places.journal, op, body, scope=SCOPE, actor=Actor.FILE, at=LATER)
    before = everything(lived)
    night(lived)
    assert everything(lived) == before


def test_a_damaged_line_is_counted_and_hides_nothing(lived: Home) -> None:
    say(lived, NOTE)
    segment = next(lived.places.journal.glob("*.jsonl"))
    with segment.open("ab") as file:
        file.write(b'{"v": 1, "op": "decide"}\n')
    memory = lived.memory()
    assert (memory.overlay.lines, memory.overlay.bad) == (1, 1)
    assert answers(lived, "staging database")


def test_only_what_the_view_lacks_is_laid_over_it(lived: Home) -> None:
    say(lived, NOTE)
    assert lived.memory().overlay.lines == 1
    night(lived)
    assert lived.memory().overlay.lines == 0
    say(lived, "zebra")
    assert [note.row["text"] for note in lived.memory().overlay.notes] == ["zebra"]


def test_a_note_that_had_faded_is_back_when_it_is_said_again(lived: Home) -> None:
    unit = say(lived, NOTE)
    night(lived)
    with lived.opened() as store:
        gateway.commit(store, [put(Archive("episode", unit, NOW + 90 * DAY))], at=NOW)
        publish(store, SPACE.name, at=LATER)
    assert answers(lived, "staging database") == set()
    say(lived, NOTE)
    assert answers(lived, "staging database") == {("episode", NOTE)}
    night(lived)
    assert answers(lived, "staging database") == {("episode", NOTE)}


def test_a_reading_is_of_one_moment(lived: Home) -> None:
    memory = lived.memory()
    assert memory.overlay.lines == 0
    say(lived, NOTE)
    assert recall(memory, "staging database", scope=SCOPE, space=SPACE, k=5, now=LATER) == []
    assert recall(Memory(lived.places), "staging", scope=SCOPE, space=SPACE, k=5, now=LATER)


def test_the_digests_of_a_decision_are_those_of_its_words(lived: Home) -> None:
    settle(lived, "reject", lesson(episode("a")).id)
    memory = lived.memory()
    assert memory.key is not None
    assert memory.overlay.buried == {(SCOPE, digest) for _, digest in digests(memory.key, RULE)}


def test_a_unit_of_another_owner_cannot_be_named(lived: Home) -> None:
    stranger = Scope("you", "user", "default", SCOPE.project_id)
    unit = lesson(episode("a")).id
    assert isinstance(lived.memory().find(unit, SCOPE), Found)
    with pytest.raises(UnknownUnit):
        lived.memory().find(unit, stranger)


def test_strength_of_an_unfolded_note_is_that_of_a_new_one(lived: Home) -> None:
    say(lived, NOTE)
    (note,) = lived.memory().overlay.notes
    assert note.row["kind"] == EpisodeKind.NOTE
    assert note.row["strength"][0] == Strength(1.0, LATER).value
