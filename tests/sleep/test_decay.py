from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.frames import INSTANT
from tasks.domain.proposals import Action, Archive
from tasks.domain.strength import faded
from tasks.domain.units import EpisodeKind, Lifecycle, Strength, Trust
from tasks.sleep.decay import decay
from tasks.sleep.decay import faded as faded_expr
from tasks.sleep.material import Material
from tests.sleep.build import CUTS, DAY, NOW, World, applied, shuffled

FADED = NOW - 124 * DAY
"""0.15 is reached after 123.2 days."""
STANDS = NOW - 123 * DAY


def archived(material: Material) -> list[str]:
    changes = [p.change for p in decay(material, at=NOW, cuts=CUTS).proposals]
    return [change.unit_id for change in changes if isinstance(change, Archive)]


@pytest.mark.parametrize("kind", list(EpisodeKind))
def test_every_kind_of_episode_fades(kind: EpisodeKind) -> None:
    world = World()
    old = world.of_kind(kind, "s1", recorded_at=FADED, strength=Strength(1.0, FADED))
    world.of_kind(kind, "s2", recorded_at=STANDS, strength=Strength(1.0, STANDS))
    assert archived(world.material()) == [old.id]


def test_a_faded_lesson_is_archived_and_a_pinned_one_is_not() -> None:
    world = World()
    source = world.correction("s1")
    old = world.lesson(source, strength=Strength(1.0, FADED))
    world.lesson(source, strength=Strength(1.0, FADED), pinned=True)
    world.lesson(source, strength=Strength(1.0, STANDS))
    result = decay(world.material(), at=NOW, cuts=CUTS)
    assert [p.change for p in result.proposals] == [Archive("lesson", old.id, NOW)]
    assert [p.action for p in result.proposals] == [Action.ARCHIVE]
    assert result.report.counts == {"episodes": 0, "lessons": 1}


def test_an_old_transcript_is_not_archived_on_arrival() -> None:
    world = World()
    long_ago = NOW - 700 * DAY
    world.correction("s1", at=long_ago, recorded_at=NOW, strength=Strength(1.0, NOW))
    kept = world.correction("s2", at=long_ago)
    assert archived(world.material()) == [kept.id]


def test_only_the_passage_of_whole_days_counts() -> None:
    world = World()
    value = 0.15 * 2 ** (10 / 45)
    edge = NOW - 10 * DAY
    world.of_kind(EpisodeKind.NOTE, "s", strength=Strength(value * 1.0001, edge))
    below = world.of_kind(EpisodeKind.NOTE, "s", strength=Strength(value * 0.9999, edge))
    world.of_kind(
        EpisodeKind.NOTE, "s", strength=Strength(value * 0.9999, edge + timedelta(seconds=1))
    )
    assert archived(world.material()) == [below.id]


def test_a_clock_that_went_back_changes_no_value() -> None:
    world = World()
    world.of_kind(EpisodeKind.NOTE, "s", strength=Strength(0.15, NOW + 400 * DAY))
    below = world.of_kind(EpisodeKind.NOTE, "s", strength=Strength(0.149, NOW + 400 * DAY))
    assert archived(world.material()) == [below.id]


@pytest.mark.parametrize(
    "lifecycle", [Lifecycle.SUPERSEDED, Lifecycle.ARCHIVED, Lifecycle.FORGOTTEN]
)
def test_what_is_out_of_use_is_left_as_it_is(lifecycle: Lifecycle) -> None:
    world = World()
    world.lesson(world.correction("s1"), strength=Strength(1.0, FADED), lifecycle=lifecycle)
    assert archived(world.material()) == []


def test_a_rejected_lesson_stays_as_it_is_and_a_disputed_one_fades() -> None:
    world = World()
    source = world.correction("s1")
    world.lesson(source, strength=Strength(1.0, FADED), trust=Trust.REJECTED)
    disputed = world.lesson(source, strength=Strength(1.0, FADED), trust=Trust.DISPUTED)
    assert archived(world.material()) == [disputed.id]


def test_again_on_what_it_left_changes_nothing_and_rows_may_come_in_any_order() -> None:
    world = World()
    for n in range(20):
        when = NOW - (100 + 5 * n) * DAY
        episode = world.correction(f"s{n}", strength=Strength(1.0, when))
        world.lesson(episode, strength=Strength(1.0, when))
    material = world.material()
    first = decay(material, at=NOW, cuts=CUTS)
    assert len(first.proposals) == 30
    assert decay(shuffled(material, 3), at=NOW, cuts=CUTS) == first
    assert decay(applied(material, first.proposals), at=NOW, cuts=CUTS).proposals == ()


@given(
    value=st.floats(0.01, 50),
    age=st.timedeltas(min_value=timedelta(days=-5), max_value=timedelta(days=900)),
)
def test_the_frame_fades_what_the_domain_calls_faded(value: float, age: timedelta) -> None:
    strength = Strength(value, NOW - age)
    row = pl.DataFrame(
        {"strength": [strength.value], "as_of": [strength.as_of]},
        schema_overrides={"as_of": INSTANT},
    )
    assert row.select(faded_expr(NOW)).item() is faded(strength, NOW)


def test_nothing_but_the_archive_is_proposed() -> None:
    world = World()
    world.lesson(world.correction("s1"), strength=Strength(1.0, FADED))
    material = world.material()
    after = applied(material, decay(material, at=NOW, cuts=CUTS).proposals)
    before = material.lessons[0]
    assert after.lessons[0] == replace(before, lifecycle=Lifecycle.ARCHIVED)
    assert after.episodes.drop("archived_at").equals(material.episodes.drop("archived_at"))
