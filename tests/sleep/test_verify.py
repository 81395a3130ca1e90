from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from tasks.domain.ids import shown as short
from tasks.domain.proposals import Action, PutLesson, PutPrediction
from tasks.domain.units import EpisodeKind, Grounding, Lesson, Lifecycle, Outcome, Prediction, Trust
from tasks.sleep.material import PassResult
from tasks.sleep.verify import WINDOW, verify
from tests.sleep.build import (
    ALWAYS,
    CUTS,
    DAY,
    EARLIER,
    NEVER,
    SCOPE,
    World,
    applied,
    axis,
    shuffled,
)

MADE = EARLIER + 10 * DAY
SOON = MADE + DAY
DUE = MADE + WINDOW


class Bet:
    """A lesson with an open prediction made at MADE."""

    def __init__(self, **more: object) -> None:
        self.world = World()
        source = self.world.correction("s1", topic=("pytest",))
        self.lesson: Lesson = self.world.lesson(source, **more)
        self.world.predictions.append(Prediction("p1", self.lesson.id, SCOPE, "", MADE))

    def passed(self, at: datetime) -> PassResult:
        material = self.world.material()
        result = verify(material, at=at, cuts=CUTS)
        counts = result.report.counts
        outcomes = ("confirmed", "failed", "unexercised", "void", "open")
        assert counts["predictions"] == sum(counts[name] for name in outcomes)
        assert verify(shuffled(material, 4), at=at, cuts=CUTS) == result
        assert verify(applied(material, result.proposals), at=at, cuts=CUTS).proposals == ()
        return result

    def outcome(self, at: datetime) -> Outcome:
        changes = [p.change for p in self.passed(at).proposals]
        found = [c.prediction.outcome for c in changes if isinstance(c, PutPrediction)]
        return found[0] if found else Outcome.OPEN


def test_a_match_in_a_session_not_shown_the_lesson_confirms_it() -> None:
    bet = Bet()
    match = bet.world.passing("s2", at=SOON)
    proposal = bet.passed(SOON + DAY).proposals[0]
    assert proposal.action is Action.VERIFY
    assert isinstance(proposal.change, PutPrediction)
    found = proposal.change.prediction
    assert (found.outcome, found.by_episode) == (Outcome.CONFIRMED, match.id)
    assert (found.id, found.resolved) == ("p1", SOON + DAY)


def test_the_earliest_match_is_named() -> None:
    bet = Bet()
    bet.world.passing("s3", at=SOON + DAY)
    first = bet.world.passing("s2", at=SOON)
    change = bet.passed(DUE).proposals[0].change
    assert isinstance(change, PutPrediction)
    assert change.prediction.by_episode == first.id


def test_what_happened_before_it_was_made_or_after_its_window_does_not_count() -> None:
    bet = Bet()
    bet.world.passing("s2", at=MADE)
    bet.world.passing("s3", at=DUE + DAY / 24)
    assert bet.outcome(DUE + 3 * DAY) is Outcome.UNEXERCISED
    bet.world.passing("s4", at=DUE)
    assert bet.outcome(DUE + 3 * DAY) is Outcome.CONFIRMED


@pytest.mark.parametrize("kind", [EpisodeKind.ERROR, EpisodeKind.SURPRISE, EpisodeKind.SESSION])
def test_another_kind_is_no_match(kind: EpisodeKind) -> None:
    bet = Bet()
    bet.world.put(replace(bet.world.of_kind(kind, "s2"), at=SOON), axis(0))
    assert bet.outcome(SOON) is Outcome.OPEN


def test_the_cosine_must_reach_the_cut() -> None:
    bet = Bet()
    bet.world.passing("s2", at=SOON, vector=axis(0, lean=1, by=1.3))
    assert bet.outcome(SOON) is Outcome.OPEN
    bet.world.passing("s2", at=SOON, vector=axis(0, lean=1, by=1.2))
    assert bet.outcome(SOON) is Outcome.CONFIRMED


def test_the_opposite_is_no_match() -> None:
    bet = Bet()
    bet.world.passing("s2", NEVER, at=SOON)
    assert bet.outcome(SOON) is Outcome.OPEN


def test_a_match_in_a_session_shown_the_lesson_confirms_nothing_and_voids_it_in_the_end() -> None:
    bet = Bet()
    bet.world.show(bet.lesson, "s2")
    bet.world.passing("s2", at=SOON)
    bet.world.session("s3", started=SOON, topic=["pytest"])
    assert bet.outcome(DUE - DAY) is Outcome.OPEN
    assert bet.outcome(DUE) is Outcome.VOID
    bet.world.passing("s3", at=SOON)
    assert bet.outcome(DUE) is Outcome.CONFIRMED


def test_it_failed_when_its_topic_came_up_without_it() -> None:
    bet = Bet()
    bet.world.session("s2", started=SOON, topic=["pytest"])
    assert bet.outcome(DUE - DAY) is Outcome.OPEN
    assert bet.outcome(DUE) is Outcome.FAILED


@pytest.mark.parametrize(
    ("started", "topic"),
    [(SOON, ["npm"]), (SOON, []), (MADE - DAY, ["pytest"]), (DUE + DAY, ["pytest"])],
)
def test_it_is_unexercised_when_the_topic_did_not_come_up(
    started: datetime, topic: list[str]
) -> None:
    bet = Bet()
    bet.world.session("s2", started=started, topic=topic)
    assert bet.outcome(DUE + 2 * DAY) is Outcome.UNEXERCISED


@pytest.mark.parametrize("blind", ["what came since", "the lesson"])
def test_nothing_is_found_to_be_absent_while_vectors_lack(blind: str) -> None:
    bet = Bet()
    bet.world.session("s2", started=SOON, topic=["pytest"])
    if blind == "the lesson":
        bet.world.vectors.clear()
    else:
        bet.world.passing("s2", "mm, the linter again", at=SOON, vector=None)
    assert bet.outcome(DUE) is Outcome.OPEN


def test_what_has_no_meaning_to_embed_keeps_no_bet_open() -> None:
    bet = Bet()
    bet.world.session("s2", started=SOON, topic=["pytest"])
    bet.world.passing("s2", " ", at=SOON, vector=None)
    assert bet.outcome(DUE) is Outcome.FAILED


def test_a_session_that_was_shown_the_lesson_does_not_make_it_fail() -> None:
    bet = Bet()
    bet.world.show(bet.lesson, "s2")
    bet.world.session("s2", started=SOON, topic=["pytest"])
    assert bet.outcome(DUE) is Outcome.UNEXERCISED


def test_a_session_still_running_when_it_was_made_counts() -> None:
    bet = Bet()
    bet.world.session("s2", started=MADE - DAY / 48, topic=["pytest"])
    assert bet.outcome(DUE) is Outcome.FAILED


@pytest.mark.parametrize(
    ("grounding", "trust", "expected"),
    [
        (Grounding.PERSON, Trust.CORROBORATED, [Trust.VERIFIED]),
        (Grounding.TOOL, Trust.CORROBORATED, []),
        (Grounding.INFERRED, Trust.CORROBORATED, []),
        (Grounding.PERSON, Trust.VERIFIED, []),
        (Grounding.PERSON, Trust.DISPUTED, []),
        (Grounding.PERSON, Trust.CANDIDATE, []),
        (Grounding.PERSON, Trust.REJECTED, []),
    ],
)
def test_only_the_persons_corroborated_rule_is_verified_by_a_confirmation(
    grounding: Grounding, trust: Trust, expected: list[Trust]
) -> None:
    bet = Bet(grounding=grounding, trust=trust)
    bet.world.passing("s2", at=SOON)
    result = bet.passed(SOON)
    promoted = [p for p in result.proposals if p.action is Action.PROMOTE]
    lessons = [p.change.lesson for p in promoted if isinstance(p.change, PutLesson)]
    assert [lesson.trust for lesson in lessons] == expected
    assert all(lesson.version == 2 and lesson.recorded_at == SOON for lesson in lessons)
    assert result.report.counts["promoted"] == len(expected)


def test_a_lesson_out_of_use_is_not_promoted() -> None:
    bet = Bet(lifecycle=Lifecycle.SUPERSEDED)
    bet.world.passing("s2", at=SOON)
    assert bet.outcome(SOON) is Outcome.CONFIRMED
    assert bet.passed(SOON).report.counts["promoted"] == 0


def test_a_failure_lowers_nothing_and_the_second_in_a_row_asks() -> None:
    bet = Bet()
    bet.world.session("s2", started=SOON, topic=["pytest"])
    once = bet.passed(DUE)
    assert [p.action for p in once.proposals] == [Action.VERIFY]
    assert once.report.counts["ask"] == 0
    earlier = replace(
        bet.world.predictions[0], id="p0", made=EARLIER, outcome=Outcome.FAILED, resolved=MADE
    )
    bet.world.predictions.insert(0, earlier)
    twice = bet.passed(DUE)
    assert [p.action for p in twice.proposals] == [Action.VERIFY]
    assert twice.report.counts["ask"] == 1
    assert twice.report.notes == (f"ask {short(bet.lesson.id)}",)
    bet.world.predictions[0] = replace(earlier, outcome=Outcome.CONFIRMED)
    assert bet.passed(DUE).report.counts["ask"] == 0


@pytest.mark.parametrize("between", [Outcome.UNEXERCISED, Outcome.VOID])
def test_what_was_never_put_to_the_test_does_not_break_the_row(between: Outcome) -> None:
    bet = Bet()
    bet.world.session("s2", started=SOON, topic=["pytest"])
    for n, outcome in enumerate((Outcome.FAILED, between)):
        made = EARLIER + n * DAY
        bet.world.predictions.append(
            Prediction(f"q{n}", bet.lesson.id, SCOPE, "", made, outcome, made)
        )
    assert bet.passed(DUE).report.counts["ask"] == 1


def test_a_resolved_prediction_and_one_whose_lesson_is_gone_are_left_alone() -> None:
    bet = Bet()
    bet.world.passing("s2", at=SOON)
    bet.world.predictions[0] = replace(bet.world.predictions[0], outcome=Outcome.FAILED)
    bet.world.predictions.append(Prediction("p2", "gone", SCOPE, "", MADE))
    assert bet.passed(DUE).proposals == ()


def test_a_lesson_that_can_have_no_vector_is_judged_by_its_topic_alone() -> None:
    bet = Bet()
    bet.world.vectors.clear()
    bet.world.episodes[:] = [replace(one, words=" ") for one in bet.world.episodes]
    bet.world.session("s2", started=SOON, topic=["pytest"])
    assert bet.outcome(DUE) is Outcome.FAILED
    assert ALWAYS not in str(bet.passed(DUE).report)
