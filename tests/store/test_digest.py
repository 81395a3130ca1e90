"""The store's digest: the same for the same memory, another for any difference that is memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tasks.domain.proposals import Archive, Ask, Expose, Proposal, PutProject, SetStrength
from tasks.domain.units import Outcome, Project, Strength, TombstoneKind, Trust
from tasks.store import gateway
from tests.store.build import (
    DAY,
    EARLIER,
    NOW,
    SCOPE,
    Home,
    bury,
    episode,
    home_in,
    lesson,
    prediction,
    put,
    reworded,
    session,
    stone,
)

A = episode("a")
MADE = lesson(A)
BET = prediction(MADE)
PROJECT = Project(SCOPE.project_id, "shop", "/home/me/shop", ("/home/me/shop",), EARLIER)
BASE = (put(PutProject(PROJECT)), put(session("a")), put(A), put(MADE), put(BET))

COUNTS = {
    "an episode": put(episode("b")),
    "another gist": put(replace(A, gist="else")),
    "another title": put(replace(A, title="else")),
    "an archived episode": put(Archive("episode", A.id, NOW)),
    "another text": put(reworded(MADE, "Annotate.")),
    "another trust": put(replace(MADE, trust=Trust.VERIFIED)),
    "another validity": put(replace(MADE, valid_until=NOW)),
    "an archived lesson": put(Archive("lesson", MADE.id, NOW)),
    "an outcome": put(replace(BET, outcome=Outcome.FAILED, resolved=NOW)),
    "a name": put(PutProject(replace(PROJECT, name="till"))),
    "a folder": put(PutProject(replace(PROJECT, cwds=("/home/me/shop2",)))),
    "an ignored project": put(PutProject(replace(PROJECT, ignored=True))),
    "a question": put(Ask("reject", A.id)),
}
COUNTS_NOT = {
    "strength": put(SetStrength("lesson", MADE.id, Strength(1.7, NOW), 3)),
    "recalls": put(SetStrength("episode", A.id, Strength(1.0, EARLIER), 9)),
    "an exposure": put(Expose("e", NOW, "s", "prompt", (MADE.id,), ())),
    "a refusal": put(lesson(episode("absent"))),
    "our own time of a reading": put(replace(A, recorded_at=NOW)),
}


@pytest.mark.parametrize("change", COUNTS.values(), ids=COUNTS)
def test_what_is_remembered_changes_it(house: Home, change: Proposal) -> None:
    house.commit(*BASE)
    before = house.digest()
    assert house.commit(change).tx == 2
    assert house.digest() != before


@pytest.mark.parametrize("change", COUNTS_NOT.values(), ids=COUNTS_NOT)
def test_what_only_time_and_use_did_does_not(house: Home, change: Proposal) -> None:
    house.commit(*BASE)
    before = house.digest()
    house.commit(change)
    assert house.digest() == before


def test_a_tombstone_changes_it(house: Home) -> None:
    house.commit(*BASE)
    before = house.digest()
    with house.opened() as store:
        superseding = stone(MADE, store.key, TombstoneKind.SUPERSEDED)
        gateway.commit(store, [bury(superseding)], at=NOW)
    assert house.digest() != before


def test_it_does_not_depend_on_when_and_in_how_many_records(house: Home, tmp_path: Path) -> None:
    house.commit(*BASE)
    other = home_in(tmp_path / "other")
    for number, proposal in enumerate(BASE):
        other.commit(proposal, at=NOW + number * DAY)
    assert house.digest() == other.digest()


def test_it_is_64_hex_and_the_same_twice(house: Home) -> None:
    house.commit(*BASE)
    assert house.digest() == house.digest()
    assert len(bytes.fromhex(house.digest())) == 32
