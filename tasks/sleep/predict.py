"""The predict pass: a bet on each strong, trusted lesson that its subject will come up again.

A prediction carries no text of the lesson, so a corrected or forgotten lesson leaves nothing in it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tasks.domain.clock import iso
from tasks.domain.ids import prediction_id
from tasks.domain.proposals import Action, Actor, Proposal, PutPrediction
from tasks.domain.strength import value_at
from tasks.domain.units import USABLE, Lesson, Lifecycle, Outcome, Prediction
from tasks.sleep.material import Cuts, Material, PassReport, PassResult

STRONG: Final = 1.0
TEXT: Final = "Comes up again within 14 days, in a session that was not shown the lesson."


def predict(material: Material, *, at: datetime, cuts: Cuts) -> PassResult:  # noqa: ARG001  every pass is called alike
    """Propose a prediction for each live lesson, strong and trusted, that has none open."""
    betting = {p.lesson_id for p in material.predictions if p.outcome is Outcome.OPEN}
    strong = [lesson for lesson in material.lessons if _may_bet(lesson, at)]
    made = tuple(_bet(lesson, at) for lesson in strong if lesson.id not in betting)
    counts = {"strong": len(strong), "made": len(made), "open": len(strong) - len(made)}
    return PassResult(made, PassReport("predict", counts))


def _may_bet(lesson: Lesson, at: datetime) -> bool:
    return (
        lesson.lifecycle is Lifecycle.LIVE
        and lesson.trust in USABLE
        and value_at(lesson.strength, at, pinned=lesson.pinned) >= STRONG
    )


def _bet(lesson: Lesson, at: datetime) -> Proposal:
    bet = Prediction(prediction_id(lesson.id, iso(at)), lesson.id, lesson.scope, TEXT, at)
    return Proposal(
        PutPrediction(bet), Action.PREDICT, lesson.scope, Actor.SLEEP, "sleep.predict", "strong"
    )
