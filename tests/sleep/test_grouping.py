"""What groups of alike episodes cost from round to round, and that the price changes no group."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.domain.units import Episode
from tasks.sleep.grouping import Grouped, alike
from tasks.sleep.neighbours import Cells, Pairs, near_pairs
from tests.sleep.build import ALWAYS, CUTS, DIM, NEVER, World, stacked

EACH = 6
THEMES = 9


@pytest.fixture
def world() -> World:
    """Give nine themes of six corrections each, with a little noise, one with an opposite in it."""
    draw = np.random.default_rng(3)
    world = World()
    for n in range(THEMES * EACH):
        noise = 0.3 * draw.standard_normal(DIM) / np.sqrt(DIM)
        vector = (np.eye(DIM)[n % THEMES] + noise).astype(np.float32)
        words = NEVER if n == THEMES else ALWAYS
        world.correction(f"s{n}", words, vector=vector / np.linalg.norm(vector))
    return world


def grouped(world: World, waiting: list[Episode], before: Grouped) -> Grouped:
    vectors = stacked(world.vectors)
    cells = Cells(vectors.matrix, np.arange(len(vectors.matrix)))
    by_id = sorted(waiting, key=lambda episode: episode.id)
    return alike(by_id, before, vectors=vectors, cells=cells, cut=CUTS.join)


def ids(found: Grouped) -> set[tuple[str, ...]]:
    return {tuple(episode.id for episode in group) for group in found.groups}


@pytest.mark.parametrize("gone", [[0], [THEMES], [1, 2, 3], list(range(0, 54, 9)), list(range(54))])
def test_groups_kept_from_the_round_before_are_those_found_anew(
    world: World, gone: list[int]
) -> None:
    first = grouped(world, world.episodes, Grouped())
    left = [episode for n, episode in enumerate(world.episodes) if n not in gone]

    again = grouped(world, left, first)

    assert ids(again) == ids(grouped(world, left, Grouped()))


def test_a_part_that_lost_nothing_is_not_linked_again(world: World) -> None:
    first = grouped(world, world.episodes, Grouped())

    again = grouped(world, world.episodes[1:], first)

    same = [group for group in again.groups if any(group is known for known in first.groups)]
    assert len(first.groups) == THEMES + 1  # the opposite stands apart
    assert len(same) == THEMES - 1


def test_two_rows_meet_in_cells_whatever_else_is_compared() -> None:
    draw = np.random.default_rng(5)
    rows = draw.standard_normal((3_000, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cells = Cells(rows, np.arange(len(rows)))
    some = draw.permutation(len(rows))[:400]

    among_all = pairs_of(list(near_pairs(rows, rows, 0.8, cells=cells)))
    among_some = pairs_of(list(near_pairs(rows[some], rows[some], 0.8, cells=cells)))

    chosen = set(some.tolist())
    expected = {(a, b) for a, b in among_all if a in chosen and b in chosen}
    assert {(int(some[a]), int(some[b])) for a, b in among_some} == expected
    assert len(expected) > len(some)  # rows that are not only near themselves


def pairs_of(found: list[Pairs]) -> set[tuple[int, int]]:
    return {
        (int(query), int(target))
        for pairs in found
        for query, target in zip(pairs.queries, pairs.targets, strict=True)
    }
