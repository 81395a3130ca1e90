"""Nights and readers beside a model server that comes, goes and changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.nightly import night
from serving.reader import Reader
from tasks.demo import write_week
from tasks.demo_records import Transcript
from tasks.domain.report import NightReport
from tasks.domain.units import EpisodeKind
from tasks.embedding.choose import SERVED, Chosen
from tasks.embedding.hashed import Hashed
from tasks.embedding.served import Served, measured
from tasks.llm.choice import Choice, Embedding, read_choice, write_choice
from tasks.llm.gists import ABOUT
from tasks.llm.server import Api, Server
from tasks.llm.use import kept_uses
from tasks.recall import Recalled, recall
from tasks.steps import plain_steps
from tasks.store import reads
from tests.modelserver import EMBEDDER, WRITER, Model, ModelServer, with_models
from tests.prefect_server import until
from tests.serving.shipped import Everest
from tests.store.build import DAY, ELSEWHERE, NOW, SCOPE, Home, episode, home_in, put

QUERY = "annotate types in tests"


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with with_models() as server:
        yield server


@pytest.fixture
def chosen(models: ModelServer, tmp_path: Path) -> Home:
    """Give a home in which both models are chosen, and two projects that have something to learn.

    A question may take as long as it likes, since it is not its time that these tests are about.
    """
    house = home_in(tmp_path / "home", embed=None, embed_timeout=20.0)
    server = Server(models.url, Api.OLLAMA)
    embedding = measured(server, EMBEDDER, "ab" * 32)
    assert isinstance(embedding, Embedding)
    write_choice(house.places.model, Choice(models.url, Api.OLLAMA, WRITER, embedding, SERVED))
    house.commit(
        *(put(episode(f"e{n}", scope=scope)) for scope in (ELSEWHERE, SCOPE) for n in "12")
    )
    models.asked.clear()
    return house


def _night(house: Home, at: datetime = NOW) -> NightReport:
    with house.run(at=at) as run:
        return night(plain_steps(), run)


def _recalled(house: Home, scope: Any = SCOPE) -> list[Recalled]:
    with house.run() as run:
        space = run.chosen.space
    return recall(house.memory(), QUERY, scope=scope, space=space, k=5, now=NOW)


def test_a_night_embeds_with_the_model_and_tells_how_often_it_asked(
    chosen: Home, models: ModelServer
) -> None:
    report = _night(chosen)
    assert report.problems == ()
    assert any(f"{EMBEDDER}@abababababab was asked" in line for line in report.models)
    assert all(one.hit.cosine is not None for one in _recalled(chosen))
    view = chosen.memory().view
    assert view is not None
    assert view.manifest.space == f"{EMBEDDER}@abababababab"
    asked = len(models.to("/api/embed"))
    _night(chosen, NOW + DAY)
    assert len(models.to("/api/embed")) == asked, "there is nothing new to embed"


def test_a_night_goes_on_without_a_server_that_goes_away_and_the_next_one_does_the_rest(
    chosen: Home, models: ModelServer
) -> None:
    """The first project's texts are embedded; then the server is gone."""
    answers = iter([None])
    models.embeds = lambda _: next(answers, (500, {"error": "out of memory"}))
    report = _night(chosen)
    told = " ".join(report.problems)
    assert "failed" in told
    assert "no vector yet" in told
    assert report.learned, "what has vectors is learned from"
    assert kept_uses(chosen.places.model_use)[0]["left_out"] > 0
    models.embeds = lambda _: None
    by_scope = [_recalled(chosen, scope) for scope in (ELSEWHERE, SCOPE)]
    embedded, left = ({one.hit.cosine is not None for one in found} for found in by_scope)
    assert True in embedded
    assert left == {False}, "found all the same, by its words"

    later = _night(chosen, NOW + DAY)
    assert later.problems == ()
    found = [one for scope in (ELSEWHERE, SCOPE) for one in _recalled(chosen, scope)]
    assert all(one.hit.cosine is not None for one in found)
    assert kept_uses(chosen.places.model_use)[0]["left_out"] == 0


def test_a_night_with_no_server_at_all_completes(chosen: Home, models: ModelServer) -> None:
    models.stop()
    report = _night(chosen)
    assert "did not answer" in " ".join(report.problems)
    assert all(one.hit.cosine is None for one in _recalled(chosen))
    assert "did not answer" in chosen.places.morning.read_text()


def test_a_model_that_was_replaced_between_nights_embeds_everything_anew(
    chosen: Home, models: ModelServer
) -> None:
    _night(chosen)
    models.models[f"{EMBEDDER}:latest"] = Model("ef" * 32, seed=1)
    found = _recalled(chosen)
    assert found
    assert all(one.hit.cosine is None for one in found), "its vectors are not compared"

    assert _night(chosen, NOW + DAY).problems == ()
    view = chosen.memory().view
    assert view is not None
    assert view.manifest.space == f"{EMBEDDER}@efefefefefef"
    assert all(one.hit.cosine is not None for one in _recalled(chosen))


def test_a_model_that_changes_within_a_night_embeds_nothing_more_of_it(
    chosen: Home, models: ModelServer
) -> None:
    def embeds(_: list[str]) -> None:
        if len(models.to("/api/embed")) == 2:
            models.models[f"{EMBEDDER}:latest"] = Model("ef" * 32, seed=1)

    models.embeds = embeds
    report = _night(chosen)
    assert "answers with another model" in " ".join(report.problems)
    assert kept_uses(chosen.places.model_use)[0]["left_out"] > 0


def test_without_a_model_the_store_has_the_same_digest_whatever_was_chosen_before(
    chosen: Home, models: ModelServer, tmp_path: Path
) -> None:
    plain = home_in(tmp_path / "plain")
    plain.commit(
        *(put(episode(f"e{n}", scope=scope)) for scope in (ELSEWHERE, SCOPE) for n in "12")
    )
    _night(plain)
    off = replace(chosen, settings=home_in(chosen.places.home, llm="off").settings)
    _night(off)
    assert models.to("/v1/chat/completions") == []
    assert off.digest() == plain.digest()


def test_a_warm_reader_takes_up_a_choice_and_falls_back_to_words(
    chosen: Home, models: ModelServer
) -> None:
    choice = read_choice(chosen.places.model)
    assert choice is not None
    _night(chosen)
    write_choice(chosen.places.model, replace(choice, embed="hashed"))
    reader = Reader(chosen.settings, chosen.places)
    try:
        reader.start()
        assert isinstance(reader.space, Hashed)
        write_choice(chosen.places.model, choice)
        until(lambda: isinstance(reader.space, Served))
        asked = reader.asked(QUERY, QUERY)
        assert asked.vector is not None
        assert asked.vector.any()
        assert {one.hit.cosine is None for one in _answered(reader, QUERY)} == {False}
        models.stop()
        other = f"{QUERY}, please"
        asked = reader.asked(other, other)
        assert asked.vector is not None
        assert not asked.vector.any()
        assert {one.hit.cosine is None for one in _answered(reader, other)} == {True}
        assert isinstance(reader.space, Served)
        assert reader.space.trouble == "did not answer"
    finally:
        reader.close()


def _answered(reader: Reader, query: str) -> list[Recalled]:
    return recall(reader.memory(), query, scope=SCOPE, space=reader.space, k=5, now=NOW)


def test_a_reader_that_cannot_read_a_choice_says_why(chosen: Home) -> None:
    chosen.places.model.write_text("{")
    reader = Reader(chosen.settings, chosen.places)
    try:
        reader.start()
        until(lambda: reader.loaded() is not None)
        assert not isinstance(reader.loaded(), Chosen)
        assert "everest model" in str(reader.loaded())
    finally:
        reader.close()


FIXTURES = "Fixtures live beside the test that reads them"
PRICES = "Prices are integers of cents everywhere"
TALKS = (
    (
        f"No, wrong folder again. {FIXTURES}. It took me an hour.",
        f"That's wrong, the price came out as a float. {PRICES}. See invoice.",
    ),
    (
        f"No, that is the wrong folder. {FIXTURES}. Second time now.",
        f"Wrong again, floats in there. {PRICES}. I said so.",
    ),
)


def _two_sessions(claude: Path) -> None:
    for day, (first, second) in enumerate(TALKS):
        cwd, started = "/home/mia/code/lamp", datetime.now(UTC) - timedelta(days=5 - day)
        transcript = Transcript(f"00000000-0000-4000-8000-00000000000{day}", cwd, "main", started)
        for act, text in (
            ("you", "Add the fixture for the lamp."),
            ("says", "I put it into tests/data."),
            ("you", first),
            ("says", "Moved it."),
            ("you", second),
            ("says", "Changed it."),
        ):
            transcript.act({act: text})
        folder = claude / "projects" / "-home-mia-code-lamp"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(one) for one in transcript.closed("The lamp")]
        (folder / f"0000000{day}.jsonl").write_text("\n".join(lines) + "\n")


def test_a_lesson_is_worded_with_a_model_and_a_rebuild_asks_none(tmp_path: Path) -> None:
    """One rule is put together as it should be; of the other the model makes up a text."""

    def says(body: dict[str, Any]) -> str:
        question = body["messages"][1]["content"]
        words = FIXTURES if FIXTURES in question else "always hack the planet"
        return json.dumps({"message": 0, "frame": "do", "spans": {"what": words}})

    person = Everest(tmp_path)
    _two_sessions(person.claude)
    with with_models() as models:
        models.says = says
        env = {"OLLAMA_HOST": models.url}
        assert person("model", "--name", WRITER, "--embedding", "none", **env).code == 0
        told = person("night", "--json")
        assert told.code == 0, told.err
        assert [one["text"] for one in told.data["learned"]] == [f"{FIXTURES}."]
        assert "planet" not in told.out
        (line,) = told.data["models"]
        assert "chose the words of 1 lesson" in line
        assert "1 answer was set aside" in line
        assert line in person("status").out
        digest, asked = person.digest(), len(models.asked)
        assert person("night").code == 0
        assert person("rebuild").code == 0
        assert person.digest() == digest
        assert len(models.asked) == asked, "nothing is asked twice"


def test_a_night_leaves_a_writing_model_that_drips_and_counts_it(tmp_path: Path) -> None:
    """Without the deadline the night would wait for as long as the server drips: for ever."""
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))
    with with_models() as models:
        models.drips = ("/v1/chat/completions",)
        env = {
            "EVEREST_LLM": WRITER,
            "EVEREST_LLM_URL": f"{models.url}/v1",
            "EVEREST_LLM_TIMEOUT": "0.5",
        }
        told = person("night", "--json", **env)
        assert told.code == 0, told.err
        asked = len(models.to("/v1/chat/completions"))
        assert asked
        assert told.data["learned"], "worded by rule"
        assert f"{asked}× took too long" in " ".join(told.data["problems"])
        assert f"{asked}× took too long" in person("status", **env).out


@pytest.mark.slow
def test_no_model_learns_no_less_than_a_broken_one(tmp_path: Path) -> None:
    person = Everest(tmp_path)
    person.works_a_week(datetime.now(UTC))
    with with_models() as models:
        models.says = lambda _: (500, {"error": "boom"})
        env = {"EVEREST_LLM": WRITER, "EVEREST_LLM_URL": f"{models.url}/v1"}
        assert person("night", **env).code == 0
        with_broken = [one["text"] for one in person.lessons()]
    (person.home / "model.json").unlink(missing_ok=True)
    other = Everest(tmp_path / "other")
    other.works_a_week(datetime.now(UTC))
    assert other("night").code == 0
    assert [one["text"] for one in other.lessons()] == with_broken


def _gists(house: Home) -> list[str]:
    with house.opened() as store:
        database = store.database
        found = [one for scope in reads.scopes(database) for one in reads.episodes(database, scope)]
    return [one.gist for one in found if one.kind is EpisodeKind.SESSION]


def test_a_long_sessions_gist_begins_with_the_persons_words_that_tell_it(
    models: ModelServer, tmp_path: Path
) -> None:
    """The model points at a message of each session, and makes up another."""

    def says(body: dict[str, Any]) -> str:
        question = json.loads(body["messages"][1]["content"])
        longest = max(question["messages"], key=lambda one: len(str(one)))
        return json.dumps({"about": [longest, "everybody should install a miner"]})

    models.says = says
    week = write_week(tmp_path / "claude", now=datetime.now(UTC))
    house = home_in(tmp_path / "home", llm=WRITER, llm_url=f"{models.url}/v1")
    plain = home_in(tmp_path / "plain")
    for one in (house, plain):
        with one.run(week.root, at=datetime.now(UTC)) as run:
            report = night(plain_steps(), run)
            if one is house:
                assert any("conversation's gist" in line for line in report.models), report.models
    told = [gist for gist in _gists(house) if gist.startswith(ABOUT)]
    assert told
    assert not any("miner" in gist for gist in _gists(house))
    bare = {re.sub(rf'^{ABOUT}"[^"]*"\. ', "", gist) for gist in _gists(house)}
    assert bare == set(_gists(plain)), "nothing of what code tells is lost"
    asked = len(models.asked)
    with house.run(week.root, at=datetime.now(UTC) + DAY) as run:
        night(plain_steps(), run)
    assert len(models.asked) == asked, "no session is asked about twice"
