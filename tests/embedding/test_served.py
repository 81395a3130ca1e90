from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.embedding.choose import SERVED, Chosen, choose, renewed
from tasks.embedding.hashed import Hashed
from tasks.embedding.served import BATCH, Served, measured
from tasks.embedding.space import SpaceAway
from tasks.errors import SettingInvalid
from tasks.llm.choice import Choice, Embedding, read_choice, write_choice
from tasks.llm.failure import Failure
from tasks.llm.server import Api, Server
from tests.modelserver import EMBEDDER, Model, ModelServer, with_models

NAME = f"{EMBEDDER}:latest"
TEXTS = ["use pnpm", "", "run the linter", "  ", "use pnpm"]


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with with_models() as server:
        yield server


def _server(models: ModelServer) -> Server:
    if models.ollama:
        return Server(models.url, Api.OLLAMA, models.key)
    return Server(f"{models.url}/v1", Api.OPENAI, models.key)


def _measured(models: ModelServer, name: str = EMBEDDER) -> Embedding:
    digest = models.models[NAME].digest if models.ollama else None
    found = measured(_server(models), name, digest)
    assert isinstance(found, Embedding), found
    return found


def _space(models: ModelServer, **more: Any) -> Served:
    embedding = _measured(models)
    return Served(_server(models), embedding, **{"timeout": 5.0, **more})


def _documents(space: Served, texts: list[str]) -> np.ndarray:
    return space.documents(texts, lambda _: None)


@pytest.mark.parametrize("ollama", [True, False])
def test_texts_get_unit_rows_in_their_places(models: ModelServer, ollama: bool) -> None:  # noqa: FBT001
    models.ollama = ollama
    space = _space(models)
    done: list[int] = []
    rows = space.documents(TEXTS, done.append)
    expected = np.array(models.vectors(EMBEDDER, TEXTS)) / 3.0
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected, atol=1e-6)
    assert not rows[1].any()
    assert sum(done) == len(TEXTS)
    assert np.allclose(space.query("use pnpm"), rows[0], atol=1e-6)
    assert not space.query(" ").any()


def test_the_space_is_named_by_model_and_digest(models: ModelServer) -> None:
    assert _space(models).name == f"{EMBEDDER}@{'ab' * 6}"
    models.ollama = False
    here = _space(models).name
    assert here == _space(models).name
    models.models[NAME] = Model("ef" * 32, seed=1)
    assert _space(models).name != here


def test_a_query_that_is_answered_byte_by_byte_is_given_up_in_time(models: ModelServer) -> None:
    space = _space(models, timeout=0.5)
    models.drips = ("/api/embed",)
    assert not space.query("use pnpm").any()
    assert space.trouble == "took too long"
    assert dict(space.server.tally.failed) == {"took too long": 1}


def test_a_night_asks_in_batches(models: ModelServer) -> None:
    space = _space(models)
    models.asked.clear()
    _documents(space, [f"text {n}" for n in range(2 * BATCH + 1)])
    sizes = [len(one.body["input"]) for one in models.asked]
    assert sizes == [BATCH + 1, BATCH + 1, 2], "each with the probe"


def test_a_long_text_is_cut_before_it_is_sent(models: ModelServer) -> None:
    space = _space(models)
    _documents(space, ["word " * 100_000])
    assert len(models.asked[-1].body["input"][0]) < 10_000


def test_its_cuts_and_gauge_are_its_own(models: ModelServer) -> None:
    space = _space(models)
    assert 0.2 < space.join_cut < 0.5, "hashed words give paraphrases 0.39 and others 0.01"
    assert space.verify_cut == space.join_cut
    assert space.gauge.by_cosine > 0.5


def test_another_model_under_the_name_is_known_by_its_vectors(models: ModelServer) -> None:
    space = _space(models)
    models.models[NAME] = Model("ef" * 32, seed=1)
    with pytest.raises(SpaceAway, match="another model"):
        _documents(space, ["use pnpm"])
    assert not space.query("use pnpm").any()
    assert space.server.tally.failed["answers with another model"] == 2


def test_another_length_of_vectors_is_another_model(models: ModelServer) -> None:
    space = _space(models)
    models.models[NAME] = Model("ab" * 32, dim=300)
    with pytest.raises(SpaceAway, match="another model"):
        _documents(space, ["use pnpm"])
    assert space.query("use pnpm").shape == (256,)


@pytest.mark.parametrize(
    "answer",
    [
        (500, {"error": "out of memory"}),
        (404, {"error": "model not found"}),
        (200, {}),
        (200, []),
        (200, b"<html>"),
        (200, {"embeddings": []}),
        (200, {"embeddings": [[1.0], [1.0, 2.0]]}),
        (200, {"embeddings": [["a"], ["b"]]}),
        (200, {"embeddings": [[float("nan")] * 256] * 2}),
        (200, {"embeddings": [[1e308] * 256] * 2}),
        (200, {"embeddings": [[0.0] * 256] * 2}),
        (200, {"embeddings": [[1.0] * 256] * 3}),
        (200, {"embeddings": "x"}),
        (200, {"data": [{"embedding": [1.0]}]}),
    ],
)
def test_rubbish_is_never_taken_for_vectors(models: ModelServer, answer: Any) -> None:
    space = _space(models)
    models.embeds = lambda _: answer
    with pytest.raises(SpaceAway):
        _documents(space, ["use pnpm"])
    assert not space.query("use pnpm").any()
    assert isinstance(measured(space.server, EMBEDDER, None), Failure)


def test_a_query_waits_a_moment_and_no_longer_and_is_not_asked_again_at_once(
    models: ModelServer,
) -> None:
    now = [0.0]
    space = _space(models, timeout=0.2, clock=lambda: now[0])
    models.pause = 2.0
    assert not space.query("use pnpm").any()
    asked = len(models.asked)
    assert not space.query("use pnpm").any()
    assert len(models.asked) == asked
    models.pause, now[0] = 0.0, 60.0
    assert space.query("use pnpm").any()


def test_a_server_that_went_away_refuses_documents_and_gives_a_query_no_vector() -> None:
    with with_models() as models:
        space = _space(models)
    with pytest.raises(SpaceAway, match="did not answer"):
        _documents(space, ["use pnpm"])
    assert not space.query("use pnpm").any()
    assert not _documents(space, ["", " "]).any(), "there is nothing to ask for"


def test_a_model_that_tells_no_meanings_apart_is_refused(models: ModelServer) -> None:
    models.embeds = lambda texts: (200, {"embeddings": [[float(len(t)), 1.0] for t in texts]})
    found = measured(_server(models), EMBEDDER, "ab")
    assert isinstance(found, Failure)
    assert "have in common" in found.detail


def _chosen(models: ModelServer, path: Path) -> Chosen:
    server = _server(models)
    write_choice(path, Choice(server.base, server.api, None, _measured(models), SERVED))
    return choose(None, None, path, key=lambda: models.key, timeout=5.0)


@pytest.mark.parametrize("ollama", [True, False])
def test_a_model_that_was_replaced_is_taken_up_with_its_own_name_and_scale(
    models: ModelServer,
    tmp_path: Path,
    ollama: bool,  # noqa: FBT001
) -> None:
    models.ollama = ollama
    path = tmp_path / "model.json"
    before = _chosen(models, path)
    assert renewed(before, path) is before
    models.models[NAME] = Model("ef" * 32, seed=1)
    after = renewed(before, path)
    assert after.space.name != before.space.name
    assert after.space.documents(["use pnpm"], lambda _: None).any()
    again = choose(None, None, path)
    assert again.space.name == after.space.name
    assert again.why == after.why


def test_while_the_server_is_away_the_choice_stands(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with with_models() as models:
        chosen = _chosen(models, path)
    kept = path.read_bytes()
    assert renewed(chosen, path) is chosen
    assert path.read_bytes() == kept


def test_choosing_asks_nothing(models: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    chosen = _chosen(models, path)
    asked = len(models.asked)
    assert isinstance(choose(None, None, path).space, Served)
    assert isinstance(choose(SERVED, None, path).space, Served)
    assert isinstance(choose("hashed", None, path).space, Hashed)
    assert len(models.asked) == asked
    assert models.url in chosen.why


@pytest.mark.parametrize(
    "damage",
    [
        ('"slope"', '"slop"'),
        ('"api": "ollama"', '"api": "telnet"'),
        ('"server": "http', '"server": "gopher'),
        ('"label"', '"lable"'),
        ('"probe": [', '"probe": ["x",'),
    ],
)
def test_a_choice_that_cannot_be_understood_is_refused_with_the_way_out(
    models: ModelServer, tmp_path: Path, damage: tuple[str, str]
) -> None:
    path = tmp_path / "model.json"
    _chosen(models, path)
    path.write_text(path.read_text().replace(*damage))
    with pytest.raises(SettingInvalid, match="everest model"):
        choose(None, None, path)


def test_what_is_kept_is_what_is_read(models: ModelServer, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    choice = Choice(models.url, Api.OLLAMA, "w", _measured(models), SERVED)
    write_choice(path, choice)
    assert read_choice(path) == choice
