from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.domain.proposals import Action, MergeLessons
from tasks.domain.units import EpisodeKind, Grounding, Lesson, Lifecycle, Strength, Trust
from tasks.sleep.material import PassResult
from tasks.sleep.merge import merge
from tests.sleep.build import (
    ALWAYS,
    CUTS,
    DAY,
    EARLIER,
    NEVER,
    NOW,
    World,
    applied,
    axis,
    shuffled,
)


def passed(world: World) -> PassResult:
    """Run the pass and hold it to what every run must keep, whatever the material."""
    material = world.material()
    result = merge(material, at=NOW, cuts=CUTS)
    counts = result.report.counts
    assert counts["lessons"] == counts["kept"] + counts["themes"] + counts["absorbed"]
    assert merge(shuffled(material, 5), at=NOW, cuts=CUTS) == result
    assert merge(applied(material, result.proposals), at=NOW, cuts=CUTS).proposals == ()
    return result


def merged(world: World) -> MergeLessons:
    (proposal,) = passed(world).proposals
    assert proposal.action is Action.MERGE
    assert isinstance(proposal.change, MergeLessons)
    return proposal.change


def twins(world: World, **second: object) -> tuple[Lesson, Lesson]:
    return (
        world.lesson(world.correction("s1", theme=0)),
        world.lesson(world.correction("s2", theme=0, at=EARLIER + DAY), **second),
    )


def test_two_of_one_meaning_live_on_as_the_older_with_the_others_sources_and_sessions() -> None:
    world = World()
    old, new = twins(world, strength=Strength(1.0, NOW))
    change = merged(world)
    assert change.theme.id == old.id
    assert change.theme.version == 2
    assert change.theme.sources == tuple(sorted(old.sources + new.sources))
    assert change.theme.sessions == ("s1", "s2")
    assert (change.theme.text, change.theme.lifecycle) == (old.text, Lifecycle.LIVE)
    assert change.absorbed == (
        replace(new, version=2, lifecycle=Lifecycle.SUPERSEDED, recorded_at=NOW),
    )


def test_each_further_session_adds_its_strength_once() -> None:
    world = World()
    world.lesson(world.correction("s1"), strength=Strength(1.0, NOW))
    world.lesson(world.correction("s1", at=EARLIER + DAY), strength=Strength(1.0, NOW))
    assert merged(world).theme.strength == Strength(1.0, NOW)
    world.lesson(world.correction("s2", at=EARLIER + DAY))
    assert merged(world).theme.strength == Strength(2.0, NOW)


def test_different_meanings_stay_apart() -> None:
    world = World()
    world.lesson(world.correction("s1", theme=0))
    world.lesson(world.correction("s2", theme=1))
    assert passed(world).proposals == ()


def test_different_kinds_stay_apart() -> None:
    world = World()
    world.lesson(world.correction("s1", theme=0))
    world.lesson(world.surprise("s2", theme=0))
    assert passed(world).proposals == ()


def test_opposites_stay_apart_and_the_agreeing_still_merge() -> None:
    world = World()
    world.lesson(world.correction("s1", ALWAYS))
    world.lesson(world.correction("s2", NEVER))
    assert passed(world).proposals == ()
    world.lesson(world.correction("s3", ALWAYS))
    assert len(merged(world).absorbed) == 1


@pytest.mark.parametrize("trust", [Trust.REJECTED, Trust.DISPUTED])
def test_what_is_withheld_takes_no_part(trust: Trust) -> None:
    world = World()
    twins(world, trust=trust)
    assert passed(world).proposals == ()


@pytest.mark.parametrize(
    "lifecycle", [Lifecycle.ARCHIVED, Lifecycle.SUPERSEDED, Lifecycle.FORGOTTEN]
)
def test_what_is_out_of_use_takes_no_part(lifecycle: Lifecycle) -> None:
    world = World()
    twins(world, lifecycle=lifecycle)
    assert passed(world).proposals == ()


@pytest.mark.parametrize("trust", [Trust.CANDIDATE, Trust.VERIFIED])
def test_candidates_and_verified_lessons_do(trust: Trust) -> None:
    world = World()
    twins(world, trust=trust)
    assert merged(world)


def test_the_most_witnessed_lives_on_among_equals() -> None:
    world = World()
    world.lesson(world.correction("s1"))
    later = EARLIER + DAY
    many = world.lesson(world.correction("s2", at=later), world.correction("s3", at=later))
    change = merged(world)
    assert change.theme.id == many.id
    assert change.theme.valid_from == EARLIER


@pytest.mark.parametrize("wins", [{"trust": Trust.VERIFIED}, {"pinned": True}])
def test_a_verified_or_pinned_text_wins_over_more_sessions(wins: dict[str, object]) -> None:
    world = World()
    world.lesson(world.correction("s1"), world.correction("s2"), text="Run tests.")
    kept = world.lesson(world.correction("s3", at=EARLIER + DAY), **wins)
    change = merged(world)
    assert (change.theme.id, change.theme.text) == (kept.id, kept.text)
    assert change.theme.trust is kept.trust


def test_two_candidates_of_two_sessions_become_one_corroborated_theme() -> None:
    world = World()
    world.lesson(world.correction("s1"), trust=Trust.CANDIDATE)
    world.lesson(world.correction("s2"), trust=Trust.CANDIDATE)
    assert merged(world).theme.trust is Trust.CORROBORATED


def test_of_one_session_they_stay_a_candidate() -> None:
    world = World()
    world.lesson(world.correction("s1"), trust=Trust.CANDIDATE)
    world.lesson(world.correction("s1"), trust=Trust.CANDIDATE)
    assert merged(world).theme.trust is Trust.CANDIDATE


def test_a_session_shown_the_theme_is_no_witness_of_it() -> None:
    world = World()
    old, _ = twins(world)
    world.show(old, "s2")
    theme = merged(world).theme
    assert theme.id == old.id
    assert theme.sessions == ("s1",)
    assert len(theme.sources) == 2


def test_grounding_is_the_best_of_the_sources() -> None:
    world = World()
    world.lesson(world.correction("s1"), world.correction("s4"), grounding=Grounding.INFERRED)
    world.lesson(world.correction("s2"))
    assert merged(world).theme.grounding is Grounding.PERSON


def test_what_the_grown_theme_fits_merges_in_the_same_run() -> None:
    """Else the second run of a day would change something: `passed` checks that it does not."""
    world = World()
    for n, by in enumerate((0.0, 1.2, 2.0, 3.0)):
        world.lesson(world.correction(f"s{n}", vector=axis(0, lean=1, by=by)))
    passed(world)


def test_a_lesson_without_a_vector_stays_apart() -> None:
    world = World()
    twins(world)
    world.lesson(world.correction("s3", vector=None))
    assert len(merged(world).absorbed) == 1


def test_errors_do_not_merge_by_meaning_and_surprises_do() -> None:
    world = World()
    world.lesson(world.error("s1", error_class="not_read"))
    world.lesson(world.error("s2", error_class="file_missing"))
    assert passed(world).proposals == ()
    world.lesson(world.surprise("s1"))
    world.lesson(world.surprise("s2"))
    assert merged(world).theme.kind is EpisodeKind.SURPRISE


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_lesson_is_lost_or_taken_twice(data: st.DataObject) -> None:
    world = World()
    for n in range(data.draw(st.integers(0, 9))):
        lean = data.draw(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.5]))
        words = data.draw(st.sampled_from([ALWAYS, NEVER]))
        world.lesson(
            world.correction(
                f"s{data.draw(st.integers(0, 3))}", words, vector=axis(0, lean=1, by=lean)
            ),
            trust=data.draw(st.sampled_from(list(Trust))),
            pinned=n == 3,
        )
    result = passed(world)
    changes = [p.change for p in result.proposals if isinstance(p.change, MergeLessons)]
    touched = [x.id for change in changes for x in (change.theme, *change.absorbed)]
    assert len(touched) == len(set(touched))
    for change in changes:
        assert {s for x in change.absorbed for s in x.sources} <= set(change.theme.sources)
        assert len({x.quote for x in (change.theme, *change.absorbed)}) == 1
