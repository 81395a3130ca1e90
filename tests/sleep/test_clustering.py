from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering

from tasks.sleep.clustering import LINKED_AT_ONCE, clusters
from tasks.sleep.neighbours import EXACT_PAIRS, Matrix, Rows, near_pairs
from tasks.sleep.opposites import parted
from tests.sleep.build import ALWAYS, NEVER, axis

CUT = 0.62


def scattered(n: int, *, noise: float = 0.5, dim: int = 32, seed: int = 0) -> Matrix:
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((max(n // 5, 1), dim))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    off = draw.standard_normal((n, dim))
    off *= noise / np.linalg.norm(off, axis=1, keepdims=True)
    points = centres[draw.integers(0, len(centres), n)] + off
    unit: Matrix = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return unit


def sets(groups: list[Rows]) -> set[frozenset[int]]:
    return {frozenset(map(int, group)) for group in groups}


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 120), seed=st.integers(0, 10_000), noise=st.floats(0.1, 1.5))
def test_linking_within_connected_parts_is_average_linkage_of_the_whole(
    n: int, seed: int, noise: float
) -> None:
    matrix = scattered(n, seed=seed, noise=noise, dim=8)
    whole = AgglomerativeClustering(
        n_clusters=None, metric="cosine", linkage="average", distance_threshold=1 - CUT
    ).fit_predict(matrix.astype(np.float64))
    expected = {frozenset(map(int, np.flatnonzero(whole == label))) for label in set(whole)}
    assert sets(clusters(matrix, CUT)) == expected


def test_every_row_stands_in_exactly_one_cluster() -> None:
    matrix = scattered(700)
    found = clusters(matrix, CUT)
    assert sorted(np.concatenate(found).tolist()) == list(range(700))
    assert clusters(matrix[:0], CUT) == []


def test_a_pair_exactly_at_the_cut_is_one_cluster_and_one_just_below_is_two() -> None:
    def pair(cosine: float) -> Matrix:
        return np.array([[1, 0], [cosine, np.sqrt(1 - cosine**2)]], dtype=np.float32)

    assert len(clusters(pair(CUT), CUT)) == 1
    assert len(clusters(pair(CUT - 0.001), CUT)) == 2


def test_a_chain_of_neighbours_is_not_one_meaning() -> None:
    steps = np.radians(np.arange(6) * 40)
    chain = np.stack([np.cos(steps), np.sin(steps)], axis=1).astype(np.float32)
    assert len(clusters(chain, CUT)) > 1


def test_a_part_too_large_to_link_at_once_is_split_and_still_pure() -> None:
    matrix = np.repeat(np.stack([axis(0), axis(1)]), LINKED_AT_ONCE + 500, axis=0)
    found = clusters(matrix, CUT)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(matrix)))
    assert max(map(len, found)) <= LINKED_AT_ONCE
    assert all(
        (group < LINKED_AT_ONCE + 500).all() or (group >= LINKED_AT_ONCE + 500).all()
        for group in found
    )
    assert len(found) < 20


def test_beyond_the_exact_size_cells_find_nearly_all_pairs_and_no_false_one() -> None:
    matrix = scattered(6000, dim=48)
    assert len(matrix) ** 2 > EXACT_PAIRS
    found = {
        (int(q), int(t))
        for pairs in near_pairs(matrix, matrix, CUT)
        for q, t in zip(pairs.queries, pairs.targets, strict=True)
    }
    products = matrix @ matrix.T
    truth = set(zip(*map(np.ndarray.tolist, np.nonzero(products >= CUT)), strict=True))
    assert all(products[pair] >= CUT - 1e-5 for pair in found)
    assert len(found & truth) > 0.95 * len(truth)
    assert clusters(matrix, CUT)[0].tolist() == clusters(matrix.copy(), CUT)[0].tolist()


def test_opposites_with_one_vector_are_parted_and_the_agreeing_stay_together() -> None:
    matrix = np.stack([axis(0)] * 5)
    stances = [ALWAYS, NEVER, ALWAYS, NEVER, ALWAYS]
    whole = clusters(matrix, CUT)
    assert sets(whole) == {frozenset(range(5))}
    assert sets(parted(whole, matrix, stances, CUT)) == {frozenset({0, 2, 4}), frozenset({1, 3})}
    assert sets(parted(whole, matrix, [ALWAYS] * 5, CUT)) == {frozenset(range(5))}
