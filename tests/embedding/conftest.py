from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from tasks.embedding.minilm import MiniLM
from tasks.embedding.weights import Model, shipped


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    found = shipped(tmp_path_factory.mktemp("seals") / "weights.json")
    assert isinstance(found, Model), found
    return found


@pytest.fixture(scope="session")
def minilm(model: Model) -> Iterator[MiniLM]:
    """Loaded and held to one thread: on a busy machine two spin-wait for each other."""
    space = MiniLM(model)
    space.documents(["loads the library"], lambda _: None)
    with threadpool_limits(1):
        yield space


@pytest.fixture(scope="session")
def texts() -> list[str]:
    path = Path(__file__).with_name("texts.txt")
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
