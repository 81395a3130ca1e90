from __future__ import annotations

from datetime import timedelta

import pytest

from tasks.domain.clock import iso
from tasks.domain.ids import prediction_id
from tasks.domain.proposals import Action, PutPrediction
from tasks.domain.units import Lifecycle, Outcome, Prediction, Strength, Trust
from tasks.sleep.predict import predict
from tests.sleep.build import ALWAYS, CUTS, DAY, NOW, SCOPE, World, applied, shuffled


def bets(world: World) -> list[Prediction]:
    material = world.material()
    result = predict(material, at=NOW, cuts=CUTS)
    after = applied(material, result.proposals)
    assert predict(after, at=NOW, cuts=CUTS).proposals == ()
    assert len(result.proposals) == result.report.counts["made"]
    assert all(proposal.action is Action.PREDICT for proposal in result.proposals)
    return [p.change.prediction for p in result.proposals if isinstance(p.change, PutPrediction)]


def strong(world: World, **more: object) -> str:
    given: dict[str, object] = {"strength": Strength(1.0, NOW)} | more
    return world.lesson(world.correction("s1"), **given).id


def test_a_strong_trusted_lesson_gets_one_open_prediction() -> None:
    world = World()
    lesson = strong(world)
    (bet,) = bets(world)
    assert bet.id == prediction_id(lesson, iso(NOW))
    assert (bet.lesson_id, bet.made, bet.outcome) == (lesson, NOW, Outcome.OPEN)
    assert bet.scope == SCOPE


def test_it_carries_no_words_of_the_lesson() -> None:
    world = World()
    strong(world)
    assert not set(bets(world)[0].text.casefold().split()) >= set(ALWAYS.casefold().split())


@pytest.mark.parametrize("trust", [Trust.CANDIDATE, Trust.DISPUTED, Trust.REJECTED])
def test_none_below_corroborated(trust: Trust) -> None:
    world = World()
    strong(world, trust=trust)
    assert bets(world) == []


def test_verified_lessons_too() -> None:
    world = World()
    strong(world, trust=Trust.VERIFIED)
    assert len(bets(world)) == 1


def test_strength_is_the_value_now_and_pinned_does_not_decay() -> None:
    world = World()
    yesterday = Strength(1.0, NOW - DAY)
    strong(world, strength=yesterday)
    assert bets(world) == []
    strong(world, strength=Strength(1.0, NOW - DAY + timedelta(seconds=1)))
    pinned = strong(world, strength=yesterday, pinned=True)
    assert pinned in {bet.lesson_id for bet in bets(world)}
    assert len(bets(world)) == 2


@pytest.mark.parametrize(
    "lifecycle", [Lifecycle.ARCHIVED, Lifecycle.SUPERSEDED, Lifecycle.FORGOTTEN]
)
def test_only_live_lessons(lifecycle: Lifecycle) -> None:
    world = World()
    strong(world, lifecycle=lifecycle)
    assert bets(world) == []


@pytest.mark.parametrize("outcome", list(Outcome))
def test_never_a_second_while_one_is_open(outcome: Outcome) -> None:
    world = World()
    lesson = strong(world)
    world.predictions.append(Prediction("p", lesson, SCOPE, "", NOW - DAY, outcome))
    assert len(bets(world)) == (0 if outcome is Outcome.OPEN else 1)


def test_rows_may_come_in_any_order() -> None:
    world = World()
    for _ in range(5):
        strong(world)
    material = world.material()
    one, other = (predict(m, at=NOW, cuts=CUTS) for m in (material, shuffled(material, 2)))
    assert set(one.proposals) == set(other.proposals)
