from __future__ import annotations

from pathlib import Path

import pytest

from tasks.embedding.minilm import MiniLM
from tasks.embedding.weights import Model, shipped


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    found = shipped(tmp_path_factory.mktemp("seals") / "weights.json")
    assert isinstance(found, Model), found
    return found


@pytest.fixture(scope="session")
def minilm(model: Model) -> MiniLM:
    return MiniLM(model)


@pytest.fixture(scope="session")
def texts() -> list[str]:
    path = Path(__file__).with_name("texts.txt")
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
