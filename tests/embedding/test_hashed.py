from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.embedding.hashed import Hashed

ROOT = Path(__file__).resolve().parents[2]


def _quietly(_: int) -> None: ...


def _rows(*texts: str) -> np.ndarray:
    return Hashed().documents(texts, _quietly)


def test_rows_are_unit_and_an_empty_text_is_zero() -> None:
    rows = _rows("use pnpm, not npm", "", "…", "use the pnpm")
    assert rows.shape == (4, 256)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 0, 1], atol=1e-6)


def test_a_text_is_nearer_to_its_rewording_than_to_another() -> None:
    rows = _rows(
        "Always use pnpm instead of npm", "use pnpm, never npm", "the login page is blank in Safari"
    )
    assert rows[0] @ rows[1] > 0.3 > rows[0] @ rows[2]


def test_the_order_of_words_counts() -> None:
    one, same, other = _rows(
        "tabs over spaces here", "tabs over spaces here", "spaces over tabs here"
    )
    assert one @ same > 0.999 > one @ other


def test_the_same_vector_in_another_process_with_another_hash_seed() -> None:
    code = (
        "import sys; from tasks.embedding.hashed import Hashed;"
        "sys.stdout.write(Hashed().query('Deploy on Fridays? 東京').tobytes().hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "4242"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == Hashed().query("Deploy on Fridays? 東京").tobytes().hex()


def test_the_name_stands_for_these_numbers() -> None:
    """What changes them (terms, stems, hash, weights) must change the name of the space."""
    vector = Hashed().query("Never deploy on Fridays: run makeRelease in src/tools")
    cells = [32, 33, 47, 52, 93, 164, 177, 178, 236, 254]
    assert Hashed().name == "hashed-256-v1"
    assert np.flatnonzero(np.abs(vector) > 0.25).tolist() == cells
    assert np.sign(vector[cells]).tolist() == [-1, 1, -1, 1, -1, 1, 1, 1, 1, 1]


def test_progress_tells_every_text_once() -> None:
    told: list[int] = []
    Hashed().documents(["text"] * 2500, told.append)
    assert sum(told) == 2500
    assert len(told) > 1


@given(st.lists(st.text(max_size=60), max_size=6))
def test_a_batch_changes_no_vector(texts: list[str]) -> None:
    rows = Hashed().documents(texts, _quietly)
    assert rows.shape == (len(texts), 256)
    for text, row in zip(texts, rows, strict=True):
        assert np.array_equal(row, Hashed().query(text))
