from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tasks.embedding.encoder import Encoder, UnsupportedModelError
from tasks.embedding.minilm import MiniLM
from tasks.embedding.weights import WEIGHTS, Model

SAME_SPACE = 0.995

pytestmark = pytest.mark.timeout(300)  # 200 texts through torch: 10 s alone, 90 s on a busy machine


def _quietly(_: int) -> None: ...


@pytest.fixture(scope="module")
def documents(minilm: MiniLM, texts: list[str]) -> np.ndarray:
    return minilm.documents(texts, _quietly)


def _encoded(encoder: Encoder, texts: list[str]) -> np.ndarray:
    with threadpool_limits(1):
        return np.stack([encoder.encode(text) for text in texts])


@pytest.fixture
def copied(model: Model, tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(model.folder, folder)
    return folder


def test_200_texts_lie_where_sentence_transformers_puts_them(
    model: Model, texts: list[str], documents: np.ndarray
) -> None:
    assert len(texts) == 200
    cosines = (_encoded(Encoder(model.folder), texts) * documents).sum(axis=1)
    assert cosines.min() >= SAME_SPACE, texts[int(cosines.argmin())]


def test_other_weights_do_not_pass_for_the_same_space(
    copied: Path, texts: list[str], documents: np.ndarray
) -> None:
    _swap_layers(copied / WEIGHTS, 1, 4)
    cosines = (_encoded(Encoder(copied), texts[:20]) * documents[:20]).sum(axis=1)
    assert cosines.max() < SAME_SPACE


def _swap_layers(weights: Path, one: int, other: int) -> None:
    data = bytearray(weights.read_bytes())
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    for name in [n for n in header if f".{one}.attention.self.value.weight" in n]:
        spans = [
            slice(*(8 + length + at for at in header[key]["data_offsets"]))
            for key in (name, name.replace(f".{one}.", f".{other}.", 1))
        ]
        data[spans[0]], data[spans[1]] = data[spans[1]], data[spans[0]]
    weights.write_bytes(data)


def test_a_query_is_a_unit_vector_whatever_it_holds(model: Model) -> None:
    encoder = Encoder(model.folder)
    for text in ("", " ", "\x00", "\ud800".encode("utf-8", "replace").decode(), "x" * 5000):
        assert np.linalg.norm(encoder.encode(text)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"hidden_act": "gelu_new"}),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
    ],
)
def test_a_model_of_another_kind_is_refused(copied: Path, file: str, change: dict) -> None:
    Encoder(copied)
    path = copied / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UnsupportedModelError):
        Encoder(copied)


@pytest.mark.parametrize("file", ["tokenizer.json", "config.json", WEIGHTS])
def test_a_broken_file_is_refused(copied: Path, file: str) -> None:
    (copied / file).write_bytes(b'{"cut')
    with pytest.raises(UnsupportedModelError):
        Encoder(copied)


def test_a_refused_model_is_encoded_by_the_library(copied: Path, model: Model) -> None:
    path = copied / "modules.json"
    modules = json.loads(path.read_text())
    path.write_text(json.dumps([*modules, modules[-1] | {"idx": 3, "name": "3"}]))
    path = copied / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"position_embedding_type": "x"}))
    with pytest.raises(UnsupportedModelError):
        Encoder(copied)
    space = MiniLM(Model(copied, "copy", model.sha256))
    assert space.query("hello world").shape == (space.dim,) == (384,)
