"""A store that has seen months: rebuilt, compacted and both, it is the same memory row by row."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from flows.compact import fold_and_compact
from flows.rebuild import replay_and_publish
from tasks.rebuild import discard_store
from tasks.steps import plain_steps
from tests.months import Months, Standing

NOT_REBUILT = {
    "embeddings": "computed again; those of wordings that a lesson no longer has are not",
    "vector_changes": "when vectors were last computed, which is now",
}
"""Tables in which a rebuilt store may differ, and why."""


def rebuild(months: Months) -> None:
    discard_store(months.where)
    with months.run("rebuild") as run:
        replay_and_publish(plain_steps(), run)


def compact(months: Months) -> None:
    with months.run("compact") as run:
        fold_and_compact(plain_steps(), run)


def assert_same(before: Standing, after: Standing, *, but: dict[str, str]) -> None:
    assert after.tables.keys() == before.tables.keys()
    for name in before.tables.keys() - but.keys():
        assert after.tables[name] == before.tables[name], name
    assert after.digest == before.digest
    for was, now in zip(before.recalled, after.recalled, strict=True):
        assert [unit for unit, _ in now] == [unit for unit, _ in was]
        assert [score for _, score in now] == pytest.approx([s for _, s in was], abs=1e-6)


def assert_vectors_are_again_what_they_were(before: Standing, after: Standing) -> None:
    was = {row[0]: np.frombuffer(row[-1], np.float32) for row in before.tables["embeddings"]}
    now = {row[0]: np.frombuffer(row[-1], np.float32) for row in after.tables["embeddings"]}
    assert now.keys() <= was.keys()
    current = {row[0] for row in after.tables["episodes"]} & was.keys()
    assert current <= now.keys()
    for unit, vector in now.items():
        assert np.allclose(vector, was[unit], atol=1e-6)


def assert_stays_the_same(months: Months) -> None:
    """Rebuild, compact, and rebuild the compacted; then let a night pass over it."""
    before = months.standing()
    rebuild(months)
    rebuilt = months.standing()
    assert_same(before, rebuilt, but=NOT_REBUILT)
    assert_vectors_are_again_what_they_were(before, rebuilt)
    compact(months)
    assert_same(rebuilt, months.standing(), but={})
    rebuild(months)
    assert_same(before, months.standing(), but=NOT_REBUILT)


def has_seen_all(months: Months, standing: Standing) -> None:
    """Make sure that the months were no idle ones."""
    acts = {act.__name__ for act in months.acts}
    assert acts <= months.seen.keys()
    assert {"edited", "deleted", "line", "refused", "reject lesson"} <= months.seen.keys()
    held = {name for name, rows in standing.tables.items() if rows}
    assert standing.tables.keys() - held <= {"aliases"}
    kinds = {value for row in standing.tables["tombstones"] for value in row[:8]}
    assert {"rejected", "forgotten", "veto", "superseded_by_person"} <= kinds
    assert sum(map(len, standing.recalled)) > 100


@pytest.mark.timeout(600)
def test_months_are_rebuilt_and_compacted_equal(tmp_path: Path) -> None:
    months = Months(tmp_path, seed=1, longest=24)
    for _ in range(12):
        months.night()
    has_seen_all(months, months.standing())
    assert_stays_the_same(months)


def lived(base: Path, nights: int, *, between: tuple[int, ...] = (), **given: int) -> str:
    """Return the digest after some nights; after those of `between` the store is made again."""
    shutil.rmtree(base, ignore_errors=True)
    months = Months(base, **given)
    for number in range(nights):
        months.night()
        if number in between:
            rebuild(months)
            compact(months)
    return months.standing().digest


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_store_made_again_sleeps_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    once = lived(tmp_path / "base", 24, seed=5, longest=8)
    assert lived(tmp_path / "base", 24, between=(3, 11, 17), seed=5, longest=8) == once


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_a_season_is_rebuilt_and_compacted_equal(tmp_path: Path, seed: int) -> None:
    months = Months(tmp_path, seed=seed, longest=3)
    for number in range(92):
        months.night()
        if number in (30, 60, 91):
            assert_stays_the_same(months)
    has_seen_all(months, months.standing())
