from __future__ import annotations

import numpy as np
import pytest

from tasks.cues import table
from tasks.embedding.hashed import Hashed
from tasks.embedding.minilm import MiniLM
from tasks.embedding.scale import cosines, reference_texts, scale_of


def _random(dim: int = 64) -> np.ndarray:
    rows = np.random.default_rng(0).normal(size=(len(reference_texts()), dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_minilm_is_the_measure_of_itself(minilm: MiniLM) -> None:
    rows = minilm.documents(reference_texts(), lambda _: None)
    same, apart = cosines(rows)
    known = table("tasks.embedding", "reference")["minilm"]
    assert same.mean() == pytest.approx(known["same"], abs=0.001)
    assert apart.mean() == pytest.approx(known["apart"], abs=0.001)
    scale = scale_of(rows)
    assert scale is not None
    assert scale.cut(MiniLM.join_cut) == pytest.approx(MiniLM.join_cut, abs=0.01)
    gauge = scale.gauge(MiniLM.gauge)
    assert gauge.by_cosine == pytest.approx(MiniLM.gauge.by_cosine, abs=0.01)


def test_a_model_with_narrow_cosines_gets_cuts_of_its_own(minilm: MiniLM) -> None:
    """A common direction raises all cosines, as it does in many models."""
    rows = minilm.documents(reference_texts(), lambda _: None)
    common = np.full((len(rows), 1), 1.5, dtype=np.float32)
    narrow = np.hstack([rows, common])
    narrow /= np.linalg.norm(narrow, axis=1, keepdims=True)
    _, apart = cosines(narrow)
    assert apart.mean() > MiniLM.join_cut, "with MiniLM's cut everything would be one"
    scale = scale_of(narrow)
    assert scale is not None
    same, apart = cosines(narrow)
    cut = scale.cut(MiniLM.join_cut)
    assert apart.max() < cut < same.mean()
    gauge = scale.gauge(MiniLM.gauge)
    for raw, plain in ((apart.mean(), 0.068), (same.mean(), 0.762)):
        seen = gauge.relevance(np.array([raw], np.float32), np.array([0.2], np.float32))
        meant = MiniLM.gauge.relevance(np.array([plain], np.float32), np.array([0.2], np.float32))
        assert seen == pytest.approx(meant, abs=0.01)


def test_vectors_that_mean_nothing_get_no_scale() -> None:
    assert scale_of(_random()) is None
    assert scale_of(np.ones((len(reference_texts()), 4), np.float32) / 2) is None
    assert scale_of(Hashed().documents(reference_texts(), lambda _: None)) is not None


def test_texts_that_say_the_same_stand_side_by_side() -> None:
    texts = reference_texts()
    assert len(texts) % 2 == 0
    assert len(set(texts)) == len(texts)
