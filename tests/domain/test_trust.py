from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.proposals import Actor
from tasks.domain.trust import (
    MOVES,
    after_corroboration,
    after_discounting,
    after_objection,
    after_prediction,
    independent_sessions,
    may_move,
    start_trust,
)
from tasks.domain.units import Grounding, Outcome, Trust

NONE = frozenset[str]()


def test_the_persons_lasting_words_are_enough_on_their_own() -> None:
    assert start_trust(Grounding.PERSON, lasting=True, sessions=1) is Trust.CORROBORATED
    assert start_trust(Grounding.PERSON, lasting=False, sessions=1) is Trust.CANDIDATE
    assert start_trust(Grounding.INFERRED, lasting=True, sessions=1) is Trust.CANDIDATE


@pytest.mark.parametrize("grounding", [Grounding.PERSON, Grounding.TOOL, Grounding.INFERRED])
def test_two_independent_sessions_corroborate(grounding: Grounding) -> None:
    assert start_trust(grounding, lasting=False, sessions=2) is Trust.CORROBORATED
    assert after_corroboration(Trust.CANDIDATE, grounding, 2) is Trust.CORROBORATED
    assert after_corroboration(Trust.CANDIDATE, grounding, 1) is Trust.CANDIDATE


def test_repetition_never_raises_a_received_lesson() -> None:
    assert start_trust(Grounding.FOREIGN, lasting=True, sessions=9) is Trust.CANDIDATE
    assert after_corroboration(Trust.CANDIDATE, Grounding.FOREIGN, 9) is Trust.CANDIDATE


@pytest.mark.parametrize("trust", sorted(set(Trust) - {Trust.CANDIDATE}))
def test_repetition_moves_nothing_but_a_candidate(trust: Trust) -> None:
    assert after_corroboration(trust, Grounding.PERSON, 9) is trust


@pytest.mark.parametrize(
    ("trust", "grounding", "outcome"), list(product(Trust, Grounding, Outcome))
)
def test_only_a_confirmed_prediction_of_the_persons_rule_verifies(
    trust: Trust, grounding: Grounding, outcome: Outcome
) -> None:
    earned = (trust, grounding, outcome) == (
        Trust.CORROBORATED,
        Grounding.PERSON,
        Outcome.CONFIRMED,
    )
    after = after_prediction(trust, grounding, outcome)
    assert after is (Trust.VERIFIED if earned else trust)


def test_told_sessions_take_back_what_they_gave() -> None:
    fallen = {"lasting": False, "met": 2, "independent": 1}
    assert after_discounting(Trust.CORROBORATED, **fallen) is Trust.CANDIDATE
    assert (
        after_discounting(Trust.CORROBORATED, **fallen | {"lasting": True}).value == "corroborated"
    )
    assert (
        after_discounting(Trust.CORROBORATED, **fallen | {"independent": 2}).value == "corroborated"
    )
    assert after_discounting(Trust.CORROBORATED, **fallen | {"met": 1}).value == "corroborated"
    for trust in set(Trust) - {Trust.CORROBORATED}:
        assert after_discounting(trust, **fallen) is trust


def test_a_retraction_or_two_corrections_dispute() -> None:
    assert after_objection(Trust.VERIFIED, retracted=True, against=0) is Trust.DISPUTED
    assert after_objection(Trust.CANDIDATE, retracted=False, against=2) is Trust.DISPUTED
    assert after_objection(Trust.VERIFIED, retracted=False, against=1) is Trust.VERIFIED
    assert after_objection(Trust.REJECTED, retracted=True, against=9) is Trust.REJECTED


def test_nothing_leaves_rejected_and_staying_is_always_allowed() -> None:
    for end, actor in product(Trust, Actor):
        assert may_move(Trust.REJECTED, end, actor) is (end is Trust.REJECTED)


def test_an_agent_lowers_and_never_raises() -> None:
    for start, end in product(Trust, Trust):
        allowed = start is end or (end is Trust.DISPUTED and start is not Trust.REJECTED)
        assert may_move(start, end, Actor.AGENT) is allowed


def test_only_a_person_ends_a_dispute_or_verifies_a_candidate() -> None:
    for start, end in [
        (Trust.DISPUTED, Trust.CORROBORATED),
        (Trust.DISPUTED, Trust.VERIFIED),
        (Trust.CANDIDATE, Trust.VERIFIED),
    ]:
        assert {a for a in Actor if may_move(start, end, a)} == {Actor.PERSON}


def test_only_the_person_rejects_by_word_or_by_deleting_a_file() -> None:
    for start in set(Trust) - {Trust.REJECTED}:
        assert {a for a in Actor if may_move(start, Trust.REJECTED, a)} == {
            Actor.PERSON,
            Actor.FILE,
        }


@pytest.mark.parametrize("actor", [Actor.HOST, Actor.SYSTEM])
def test_hosts_and_the_system_move_no_trust(actor: Actor) -> None:
    assert not any(may_move(s, e, actor) for s, e in product(Trust, Trust) if s is not e)


@given(st.sampled_from(Trust), st.sampled_from(Grounding), st.integers(0, 5), st.data())
def test_every_automatic_move_is_one_that_sleep_may_make(
    trust: Trust, grounding: Grounding, count: int, data: st.DataObject
) -> None:
    outcome = data.draw(st.sampled_from(Outcome))
    for after in (
        after_corroboration(trust, grounding, count),
        after_prediction(trust, grounding, outcome),
        after_objection(trust, retracted=data.draw(st.booleans()), against=count),
    ):
        assert may_move(trust, after, Actor.SLEEP)


def test_every_trust_has_a_way_in() -> None:
    starts = {
        start_trust(g, lasting=lasting, sessions=n)
        for g, lasting, n in product(Grounding, (True, False), (1, 2))
    }
    assert starts | {end for _, end in MOVES} == set(Trust)


def test_sessions_that_were_shown_the_lesson_bear_no_witness() -> None:
    assert independent_sessions(["b", "a", "b", "c"], frozenset({"c"})) == ("a", "b")
    assert independent_sessions([], NONE) == ()


def test_a_source_without_a_session_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a session id"):
        independent_sessions(["a", " "], NONE)
