from __future__ import annotations

from collections.abc import Iterator

import ollama
import pytest

from tasks.cues import table
from tasks.errors import ModelUnavailable
from tasks.llm.choose import Wanted, chosen, memory_of_machine, ollama_at, picked, pull, server_at
from tasks.llm.server import Api, Server
from tests.modelserver import EMBEDDER, LAYER, LAYERS, WRITER, Cut, Model, ModelServer, with_models

GB = 10**9


@pytest.fixture
def models() -> Iterator[ModelServer]:
    """Give a server that has nothing and can fetch both models."""
    there = {f"{EMBEDDER}:latest": Model("ab" * 32), WRITER: Model("cd" * 32)}
    with ModelServer(there=there) as server:
        yield server


def _pulled(models: ModelServer, name: str = WRITER) -> list[tuple[str, int, int]]:
    told: list[tuple[str, int, int]] = []
    pull(Server(models.url, Api.OLLAMA), name, lambda *how_far: told.append(how_far))
    return told


@pytest.mark.parametrize(
    ("memory", "writer"),
    [
        (2 * GB, None),
        (4 * GB, "qwen2.5:1.5b"),
        (8 * GB, "qwen3:4b-instruct"),
        (16 * GB, "qwen2.5:7b"),
        (32 * GB, "qwen2.5:14b"),
        (512 * GB, "qwen2.5:14b"),
    ],
)
def test_the_writer_is_picked_by_memory(memory: int, writer: str | None) -> None:
    assert picked(memory) == Wanted(writer, EMBEDDER)


def test_a_picked_model_leaves_most_of_the_memory_to_the_person() -> None:
    rows = table("tasks.llm", "models")["writer"]
    assert all(3 * row["size"] <= row["memory"] for row in rows)
    assert [row["memory"] for row in rows] == sorted((r["memory"] for r in rows), reverse=True)
    assert all(row["source"].startswith("https://") for row in rows)


def test_this_machine_has_memory() -> None:
    assert GB / 4 < memory_of_machine() < 10**6 * GB


def test_a_pull_is_followed_to_its_end(models: ModelServer) -> None:
    told = _pulled(models)
    assert told[-1] == (WRITER, LAYERS * LAYER, LAYERS * LAYER)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert WRITER in models.models


def test_what_is_there_is_not_fetched_again() -> None:
    with with_models() as models:
        assert _pulled(models) == []
        assert _pulled(models, EMBEDDER) == []
        assert models.to("/api/pull") == []


def test_a_pull_that_is_cut_off_goes_on_where_it_was(models: ModelServer) -> None:
    models.cuts = [Cut(5), Cut(9)]
    _pulled(models)
    assert len(models.to("/api/pull")) == 3
    assert WRITER in models.models


def test_a_pull_that_gets_no_further_is_given_up(models: ModelServer) -> None:
    models.cuts = [Cut(2)] * 9
    with pytest.raises(ModelUnavailable, match=f"could not fetch {WRITER}"):
        _pulled(models)
    assert len(models.to("/api/pull")) < 9


def test_what_ollama_says_of_a_model_it_cannot_find_is_told(models: ModelServer) -> None:
    with pytest.raises(ModelUnavailable, match="file does not exist"):
        _pulled(models, "no-such-model")


def test_a_success_without_a_model_is_none(models: ModelServer) -> None:
    models.there = {WRITER: Model("")}
    with pytest.raises(ModelUnavailable, match="does not have it"):
        _pulled(models)


def test_a_server_that_is_no_ollama_is_told_from_one(models: ModelServer) -> None:
    assert server_at(models.url, None).api is Api.OLLAMA
    assert server_at(f"{models.url}/v1", None).base == models.url
    models.ollama = False
    found = server_at(models.url, None)
    assert (found.api, found.base) == (Api.OPENAI, f"{models.url}/v1")
    with pytest.raises(ModelUnavailable, match="no Ollama answers"):
        ollama_at(models.url)


def test_a_server_without_the_model_is_refused_with_what_it_has() -> None:
    with with_models() as models:
        models.ollama = False
        server = server_at(models.url, None)
        with pytest.raises(ModelUnavailable, match=f"it has: .*{WRITER}"):
            chosen(server, Wanted("gpt-9", None), lambda *_: None)
        choice = chosen(server, Wanted(WRITER, f"{EMBEDDER}:latest"), lambda *_: None)
    assert choice.embed == "served"
    assert choice.embedding is not None
    assert choice.embedding.name.startswith(f"{EMBEDDER}:latest@")


def test_a_wrong_key_is_told_with_where_it_belongs() -> None:
    with with_models() as models:
        models.ollama, models.key = False, "s3cret"
        with pytest.raises(ModelUnavailable, match="EVEREST_LLM_KEY") as refused:
            server_at(models.url, "wrong-one")
        assert server_at(models.url, "s3cret").api is Api.OPENAI
    assert "wrong-one" not in str(refused.value)


def test_a_model_that_cannot_embed_is_refused_before_anything_is_kept() -> None:
    with with_models() as models:
        models.embeds = lambda _: (501, {"error": "this model does not support embeddings"})
        with pytest.raises(ModelUnavailable, match="does not support embeddings"):
            chosen(server_at(models.url, None), Wanted(WRITER, EMBEDDER), lambda *_: None)


def test_ollamas_own_client_understands_the_server_of_these_tests(models: ModelServer) -> None:
    """So what stands in for Ollama here has the forms that Ollama has."""
    client = ollama.Client(host=models.url)
    steps = list(client.pull(EMBEDDER, stream=True))
    assert steps[-1].status == "success"
    assert max(step.completed or 0 for step in steps) == LAYER
    (listed,) = client.list().models
    assert (listed.model, listed.digest) == (f"{EMBEDDER}:latest", "ab" * 32)
    rows = client.embed(EMBEDDER, ["a", "b"]).embeddings
    assert (len(rows), len(rows[0])) == (2, 256)
    with pytest.raises(ollama.ResponseError, match="not found"):
        client.embed("other", ["a"])
    client.close()
