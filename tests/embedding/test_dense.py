from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tasks.embedding import dense
from tasks.embedding.dense import Dense, build_dense


def _unit(rows: int, dim: int, seed: int = 1) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((rows, dim)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def test_the_nearest_are_the_nearest_by_brute_force() -> None:
    matrix = _unit(3000, 96)
    vector = _unit(1, 96, seed=2)[0]
    found = build_dense(matrix).nearest(vector, 12)
    assert set(found.rows.tolist()) == set(np.argsort(-(matrix @ vector))[:12].tolist())
    assert found.scores == pytest.approx(matrix[found.rows] @ vector)


def test_above_the_exact_size_sifting_keeps_what_is_near() -> None:
    """Neighbours that are near, as those of real texts are; random far ones sifting may miss."""
    matrix = _unit(dense.EXACT + 5000, 384)
    vector = _unit(1, 384, seed=2)[0]
    near = np.arange(0, len(matrix), 2500)
    matrix[near] = 0.5 * vector + 0.5 * matrix[near]
    matrix[near] /= np.linalg.norm(matrix[near], axis=1, keepdims=True)
    found = build_dense(matrix).nearest(vector, len(near))
    assert found.rows.tolist() == near.tolist()


def test_a_row_past_the_end_or_without_a_vector_has_no_cosine() -> None:
    matrix = _unit(3, 8)
    matrix[1] = 0
    cosines = build_dense(matrix).cosines(matrix[0], np.array([0, 1, 2, 3]))
    assert np.isnan(cosines).tolist() == [False, True, False, True]
    assert cosines[0] == pytest.approx(1.0)


def test_what_was_saved_is_mapped(tmp_path: Path) -> None:
    built = build_dense(_unit(50, 100))
    built.save(tmp_path)
    loaded = Dense.load(tmp_path)
    assert isinstance(loaded.matrix, np.memmap)
    assert np.array_equal(loaded.matrix, built.matrix)
    assert np.array_equal(loaded.signs, built.signs)


def test_an_empty_matrix_is_an_arm_that_finds_nothing(tmp_path: Path) -> None:
    build_dense(np.zeros((0, 384), dtype=np.float32)).save(tmp_path)
    assert len(Dense.load(tmp_path).nearest(np.ones(384, dtype=np.float32), 5).rows) == 0
