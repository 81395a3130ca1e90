from __future__ import annotations

import json
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.modelserver import EMBEDDER, WRITER, Model, ModelServer, with_models
from tests.prefect_server import until
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


def test_a_choice_is_shown_with_how_it_stands_and_taken_back(everest: Everest) -> None:
    assert "No model is chosen" in everest("model", "--show").out
    with _there() as server:
        _model(everest, server, "--name", WRITER)
        now = everest("model", "--show", "--json").data["now"]
        assert now == {"writing": "there", "embedding": "there"}
        del server.models[WRITER]
        assert everest("model", "--show", "--json").data["now"]["writing"] == "not there any more"
    shown = everest("model", "--show")
    assert "embedding  now: the server did not answer" in shown.out
    assert everest("model", "--off").out == "No model is used any more.\n"
    assert not (everest.home / "model.json").exists()
    assert everest("model", "--off").out == "No model was chosen.\n"


def test_any_openai_compatible_server_can_be_named(everest: Everest) -> None:
    with with_models() as server:
        server.ollama, server.key = False, "s3cret"
        told = everest("model", "--server", server.url, "--name", WRITER, "--json")
        assert told.code == 2
        assert "EVEREST_LLM_KEY" in told.err
        key = everest.home / "keys" / "model.key"
        key.parent.mkdir(parents=True)
        key.write_text("s3cret\n")
        key.chmod(0o644)
        assert "others may read" in everest("model", "--server", server.url, "--name", "x").err
        key.chmod(0o600)
        told = everest("model", "--server", server.url, "--name", WRITER, "--json")
        assert (told.code, told.err) == (0, "")
        assert told.data["api"] == "openai"
        assert told.data["embed"] is None, "the model that ships goes on embedding"
        assert "s3cret" not in (everest.home / "model.json").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--server", "http://127.0.0.1:9"), "--name MODEL"),
        (("--show", "--off"), "stand alone"),
        (("--off", "--name", "x"), "stand alone"),
        (("--server", "ftp://x", "--name", "x"), "no URL of a server"),
        (("--server", "http://me:pw@x", "--name", "x"), "EVEREST_LLM_KEY"),
        (("--server", "http://127.0.0.1:9", "--name", "x"), "did not answer"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_way_out(
    everest: Everest, words: tuple[str, ...], said: str
) -> None:
    told = everest("model", *words)
    assert told.code == 2
    assert said in told.err
    assert not (everest.home / "model.json").exists()


def test_an_interrupted_pull_leaves_the_choice_and_goes_on_later(everest: Everest) -> None:
    with _there() as server:
        _model(everest, server, "--name", "none")
        kept = (everest.home / "model.json").read_bytes()
        server.pause = 0.3
        process = everest.start("model", "--name", WRITER, OLLAMA_HOST=server.url)
        until(lambda: server.layers.get(WRITER, 0) >= 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.communicate()[1] == b""
        assert (everest.home / "model.json").read_bytes() == kept
        assert not list(everest.home.glob(".model.json*"))
        server.pause = 0.0
        assert _model(everest, server, "--name", WRITER).code == 0
        assert len([one for one in server.to("/api/pull") if one.body["model"] == WRITER]) == 2


def test_a_person_sees_how_far_a_pull_is(everest: Everest) -> None:
    with _there() as server:
        server.pause = 0.1
        told = everest.at_terminal("model", "--name", WRITER, OLLAMA_HOST=server.url)
    assert told.code == 0
    assert "3.0/3.0 MB" in told.out


def test_no_server_is_told_with_the_way_out_and_nothing_is_written(everest: Everest) -> None:
    with _there() as server:
        pass
    told = _model(everest, server)
    assert told.code == 2
    assert f"no Ollama answers at {server.url}" in told.err
    assert "ollama.com/download" in told.err
    assert "Nothing was changed" in told.err
    assert not (everest.home / "model.json").exists()
