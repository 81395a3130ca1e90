from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tasks.domain.scope import Scope
from tasks.domain.tombstones import LINEAGE_KINDS, contested, exact, lineage, refused
from tasks.domain.units import Tombstone, TombstoneKind

HERE = Scope("me", "user", "default", "everest-1")
THERE = Scope("me", "user", "default", "other-2")
THEN = datetime(2026, 3, 1, tzinfo=UTC)
STONE = Tombstone(
    id="t1",
    kind=TombstoneKind.REJECTED,
    scope=HERE,
    unit="lesson",
    unit_id="l1",
    digests=(("1", "aa"), ("2", "bb")),
    sources=("e1", "e2"),
    reason="wrong",
    actor="person",
    at=THEN,
)
MINE = (("1", "aa"), ("2", "zz"))
OTHER = (("1", "cc"),)


def test_a_refused_value_is_found_under_any_kept_version() -> None:
    assert exact(MINE, HERE, [STONE]) is STONE
    assert exact((("2", "bb"),), HERE, [STONE]) is STONE
    assert exact(OTHER, HERE, [STONE]) is None


def test_a_digest_counts_only_under_its_own_version() -> None:
    assert exact((("2", "aa"),), HERE, [STONE]) is None


def test_a_value_without_digest_matches_nothing() -> None:
    assert exact((), HERE, [replace(STONE, digests=())]) is None


def test_a_rejection_binds_its_own_project_only() -> None:
    assert exact(MINE, THERE, [STONE]) is None
    assert lineage(["e1"], THERE, [STONE]) is None


def test_a_rejection_everywhere_binds_every_project_but_no_other_owner() -> None:
    wide = replace(STONE, scope=HERE.everywhere())
    assert exact(MINE, THERE, [wide]) is wide
    assert lineage(["e1"], THERE, [wide]) is wide
    assert exact(MINE, replace(THERE, owner_id="you"), [wide]) is None


@pytest.mark.parametrize("sources", [["e1", "e2"], ["e1"], ["e1", "e9"], ["e1", "e2", "e8", "e9"]])
def test_half_of_the_sources_bind_a_rewording(sources: Sequence[str]) -> None:
    assert lineage(sources, HERE, [STONE]) is STONE


@pytest.mark.parametrize("sources", [["e1", "e8", "e9"], ["e9"], []])
def test_fewer_than_half_do_not(sources: Sequence[str]) -> None:
    assert lineage(sources, HERE, [STONE]) is None


def test_a_source_named_twice_counts_once() -> None:
    assert lineage(["e1", "e1", "e8", "e9"], HERE, [STONE]) is None


def test_a_tombstone_without_sources_never_binds_by_lineage() -> None:
    assert lineage(["e1"], HERE, [replace(STONE, sources=())]) is None
    assert lineage([], HERE, [replace(STONE, sources=())]) is None


@pytest.mark.parametrize("kind", TombstoneKind)
def test_every_kind_of_today_binds_its_sources(kind: TombstoneKind) -> None:
    assert kind in LINEAGE_KINDS
    stone = replace(STONE, kind=kind)
    assert lineage(["e1"], HERE, [stone]) is stone


def test_the_old_wording_of_a_corrected_lesson_does_not_bind_its_new_one() -> None:
    old = replace(STONE, kind=TombstoneKind.SUPERSEDED)
    assert lineage(["e1"], HERE, [old], unit_id="l1") is None
    assert lineage(["e1"], HERE, [old], unit_id="l2") is old
    assert lineage(["e1"], HERE, [STONE], unit_id="l1") is STONE
    assert exact(MINE, HERE, [old]) is old


def test_the_earliest_rejection_is_named() -> None:
    later = replace(STONE, id="t0", at=THEN + timedelta(days=1))
    assert exact(MINE, HERE, [later, STONE]) is STONE
    assert lineage(["e1"], HERE, [later, STONE]) is STONE


def test_two_new_sessions_after_the_rejection_contest_it() -> None:
    after, before = THEN + timedelta(days=1), THEN - timedelta(days=1)
    assert contested(STONE, {"s1": after, "s2": after})
    assert not contested(STONE, {"s1": after, "s2": before})
    assert not contested(STONE, {"s1": after, "s2": THEN})
    assert not contested(STONE, {})


def test_the_ladder_names_the_rung_and_the_tombstone() -> None:
    after = THEN + timedelta(days=1)
    new = {"s1": after, "s2": after}
    by_wording = refused(MINE, ["e1"], HERE, [STONE], new_sessions=new)
    by_source = refused(OTHER, ["e1"], HERE, [STONE], new_sessions={})
    against_it = refused(OTHER, ["e1"], HERE, [STONE], new_sessions=new)
    assert [(r.reason, r.tombstone) for r in (by_wording, by_source, against_it) if r] == [
        ("refused before", "t1"),
        ("lineage", "t1"),
        ("contested", "t1"),
    ]


def test_a_neighbour_that_was_never_rejected_passes_the_ladder() -> None:
    assert refused(OTHER, ["e9"], HERE, [STONE], new_sessions={}) is None
    assert refused(MINE, ["e1"], THERE, [STONE], new_sessions={}) is None


def test_the_ladder_lets_a_correction_keep_its_sources() -> None:
    old = replace(STONE, kind=TombstoneKind.SUPERSEDED)
    assert refused(OTHER, ["e1"], HERE, [old], new_sessions={}, unit_id="l1") is None
    assert refused(MINE, ["e1"], HERE, [old], new_sessions={}, unit_id="l1") is not None
