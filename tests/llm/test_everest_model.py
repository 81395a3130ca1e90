from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.modelserver import EMBEDDER, WRITER, Model, ModelServer
from tests.serving.shipped import Everest, Told


@pytest.fixture
def everest(tmp_path: Path) -> Everest:
    return Everest(tmp_path)


def _there() -> ModelServer:
    """Return a server that can fetch both models and has none."""
    return ModelServer(there={f"{EMBEDDER}:latest": Model("ab" * 32), WRITER: Model("cd" * 32)})


def _model(everest: Everest, server: ModelServer, *words: str) -> Told:
    return everest("model", *words, OLLAMA_HOST=server.url, EVEREST_EMBED=None)


def test_models_are_fetched_and_chosen_and_used_by_a_night_and_a_recall(everest: Everest) -> None:
    with _there() as server:
        told = _model(everest, server, "--name", WRITER, "--json")
        assert (told.code, told.err) == (0, "")
        assert told.data["embedding"] == f"{EMBEDDER}@{'ab' * 6}"
        kept = everest.home / "model.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        assert json.loads(kept.read_text())["writer"] == WRITER
        everest.works_a_week(datetime.now(UTC))
        assert everest("night", EVEREST_EMBED=None).code == 0
        query = ("recall", "how do we run the tests", "--project", "paperboat", "--json")
        found = everest(*query, EVEREST_EMBED=None).data
        assert any(one["cosine"] is not None for one in found)
    found = everest(*query, EVEREST_EMBED=None).data
    assert found
    assert all(one["cosine"] is None for one in found)


def test_no_server_is_told_with_the_way_out_and_nothing_is_written(everest: Everest) -> None:
    with _there() as server:
        pass
    told = _model(everest, server)
    assert told.code == 2
    assert f"no Ollama answers at {server.url}" in told.err
    assert "ollama.com/download" in told.err
    assert not (everest.home / "model.json").exists()
