from __future__ import annotations

import numpy as np
import pytest

from tasks.embedding.minilm import MiniLM


def _quietly(_: int) -> None: ...


def test_rows_are_unit_in_the_order_given_and_a_blank_is_zero(minilm: MiniLM) -> None:
    texts = ["a much longer text about deployment on Fridays", " ", "short", "short"]
    rows = minilm.documents(texts, _quietly)
    assert rows.shape == (4, minilm.dim)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 1], atol=1e-5)
    assert np.array_equal(rows[2], rows[3])
    assert rows[0] @ minilm.query(texts[0]) > 0.999
    assert not minilm.query(" ").any()


def test_the_batch_hardly_moves_a_vector(minilm: MiniLM, texts: list[str]) -> None:
    some = texts[:24]
    together = minilm.documents(some, _quietly)
    alone = np.stack([minilm.documents([text], _quietly)[0] for text in some[:4]])
    assert np.abs(together[:4] - alone).max() < 2e-6


def test_progress_tells_every_text_once(minilm: MiniLM) -> None:
    told: list[int] = []
    minilm.documents(["one", "", "two", "two"], told.append)
    assert sum(told) == 4


def test_no_texts_give_no_rows(minilm: MiniLM) -> None:
    assert minilm.documents([], _quietly).shape == (0, 384)


def test_embedding_prints_nothing(minilm: MiniLM, capfd: pytest.CaptureFixture[str]) -> None:
    MiniLM(minilm._model).documents(["a text"], _quietly)
    assert capfd.readouterr() == ("", "")
