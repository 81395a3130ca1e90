"""What the proxy puts into requests, by the real reader over a home that has slept."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from serving.proxy.addition import Additions
from serving.proxy.calls import Call
from serving.proxy.tee import Teeing
from serving.state import Serving, serving_of
from tasks.domain.clock import utc_now
from tasks.domain.holdout import held_out
from tasks.domain.markers import FENCE_CLOSE, FENCE_OPEN, HEADLESS
from tasks.domain.proposals import Actor
from tasks.domain.scope import Scope
from tasks.embedding.choose import Chosen
from tasks.embedding.space import WORDS, Gauge, Space
from tasks.prime import Candidate, Moment
from tasks.ranking import Asked as Question
from tasks.settings import Places, Settings
from tests.serving.asking import TALKS, agent, call, person, talk, tool_round

PROJECT, OTHER = "paperboat-54472414", "tidewater-8829adbc"
ASKS = "Do we use pnpm or npm in this repo?"
LESSON = "We always use pnpm in this repo."
FILES = "Export the orders from a new file, its name in kebab-case"
SHOWN_ID, HELD_ID = "session-1", "session-0"


class Door:
    """The proxy's memory, without its sockets."""

    def __init__(self, serving: Serving) -> None:
        assert isinstance(serving.addition, Additions)
        assert isinstance(serving.tee, Teeing)
        self.serving, self.addition, self.tee = serving, serving.addition, serving.tee

    def sent(self, asked: Call) -> bytes:
        """Return the body that goes to the server."""
        assert asked.body is not None
        added = asyncio.run(self.addition(asked))
        return asked.body if added is None else added

    def answered(self, asked: Call, answer: bytes, **headers: str) -> None:
        """Let the server answer a call."""
        listed = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
        reader = self.tee(asked, 200, listed)
        assert reader is not None
        reader.feed(answer)
        reader.done(whole=True)

    def relayed(self, project: str = PROJECT) -> list[tuple[str, str, str]]:
        """Return what the relay was told: kind, model and text."""
        self.settle()
        events = self.serving.reader.relays.of("default").tail(project, most=99)
        return [(one.kind.value, one.model, one.text) for one in events]

    def settle(self) -> None:
        while self.serving.behind._waiting:
            time.sleep(0.005)


@contextmanager
def door(home: Path, **more: Any) -> Iterator[Door]:
    chosen = {"home": home, "embed": "hashed", "timezone": "UTC", "holdout": 0.0, **more}
    settings = Settings.load(**chosen)
    serving = serving_of(settings, Places(settings.home), started=utc_now())
    serving.reader.start()
    while serving.reader.loaded() is None:
        time.sleep(0.005)
    try:
        yield Door(serving)
    finally:
        serving.behind.close()
        serving.reader.close()


@pytest.fixture
def home(slept_once: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(slept_once[1] / "everest", tmp_path / "home"))


@pytest.fixture
def memory(home: Path) -> Iterator[Door]:
    with door(home) as opened:
        yield opened


def ask(
    name: str,
    *messages: dict[str, Any],
    project: str = PROJECT,
    model: str = "model-a",
    **more: Any,
) -> Call:
    headers = {
        key: more.pop(key) for key in list(more) if key.startswith("x_") or key == "user_agent"
    }
    return call(name, talk(name, *messages, **{"model": model, **more}), project=project, **headers)


class TestPrefix:
    @pytest.mark.parametrize("name", TALKS)
    def test_each_request_begins_with_the_whole_of_the_one_before(
        self, name: str, home: Path
    ) -> None:
        first = [person(name, ASKS)]
        looped = [*first, *tool_round(name, "cat package.json", "pnpm")]
        later = [*looped, agent(name, "pnpm."), person(name, FILES)]
        last = [*later, *tool_round(name, "ls", "ok"), agent(name, "done"), person(name, "thanks")]
        bodies = []
        for messages in (first, looped, later, last):
            with door(home) as restarted:
                bodies.append(restarted.sent(ask(name, *messages)))
        for body, longer in itertools.pairwise(bodies):
            assert longer.startswith(body.removesuffix(b"]}"))
        assert [one.count(FENCE_OPEN.encode()) for one in bodies] == [1, 1, 2, 2]

    def test_a_string_and_a_block_of_the_same_words_stay_the_same_to_the_server(
        self, memory: Door
    ) -> None:
        marked = {"type": "text", "text": ASKS, "cache_control": {"type": "ephemeral"}}
        first = json.loads(memory.sent(ask("anthropic", {"role": "user", "content": [marked]})))
        later = json.loads(
            memory.sent(
                ask(
                    "anthropic",
                    person("anthropic", ASKS),
                    agent("anthropic", "x"),
                    person("anthropic", "y"),
                )
            )
        )
        texts = [one["text"] for one in first["messages"][0]["content"]]
        assert [one["text"] for one in later["messages"][0]["content"]] == texts
        assert len(texts) == 2

    def test_nothing_comes_behind_a_turn_that_was_answered(self, memory: Door) -> None:
        asked = ask("chat", person("chat", ASKS), agent("chat", "pnpm"), person("chat", "thanks"))
        assert memory.sent(asked) == asked.body
        assert LESSON.encode() in memory.sent(
            ask("chat", person("chat", "hi"), agent("chat", "yes"), person("chat", ASKS))
        )

    def test_a_chain_gets_nothing_but_what_is_new(self, memory: Door) -> None:
        first = ask("responses", person("responses", ASKS))
        assert LESSON.encode() in memory.sent(first)
        memory.answered(
            first, json.dumps({"object": "response", "id": "resp_1", "output": []}).encode()
        )
        follow = ask("responses", person("responses", ASKS), previous_response_id="resp_1")
        assert memory.sent(follow) == follow.body
        other = ask("responses", person("responses", FILES), previous_response_id="resp_1")
        assert b"kebab-case" in memory.sent(other)


class TestPlace:
    @pytest.mark.parametrize("name", TALKS)
    def test_it_stands_at_the_end_of_the_persons_turn_and_nowhere_else(
        self, name: str, memory: Door
    ) -> None:
        messages = [
            person(name, "hi"),
            *tool_round(name, "ls", "ok"),
            agent(name, "ok"),
            person(name, ASKS),
        ]
        body = json.loads(memory.sent(ask(name, *messages, system="You help.")))
        told = body.get("messages") or body.get("contents") or body.get("input")
        assert told[:-1] == messages[:-1]
        last = told[-1].get("content") or told[-1].get("parts")
        text = last if isinstance(last, str) else last[-1]["text"]
        assert text.endswith(FENCE_CLOSE)
        assert LESSON in text
        assert body.get("system") == "You help."

    def test_it_comes_after_results_and_after_the_clients_last_breakpoint(
        self, memory: Door
    ) -> None:
        made, back = tool_round("anthropic", "ls", "ok")
        back["content"] += [{"type": "text", "text": ASKS, "cache_control": {"type": "ephemeral"}}]
        body = json.loads(memory.sent(ask("anthropic", person("anthropic", "hi"), made, back)))
        kinds = [one["type"] for one in body["messages"][-1]["content"]]
        assert kinds == ["tool_result", "text", "text"]
        assert body["messages"][-1]["content"][:2] == back["content"]

    def test_a_small_context_is_not_filled_up(self, memory: Door) -> None:
        tight = ask("ollama", person("ollama", ASKS), options={"num_ctx": 100})
        assert memory.sent(tight) == tight.body
        assert LESSON.encode() in memory.sent(ask("ollama", person("ollama", ASKS + "!")))

    def test_ollamas_generate_has_one_turn(self, memory: Door) -> None:
        asked = call("generate", {"model": "m", "prompt": ASKS, "stream": False}, project=PROJECT)
        assert json.loads(memory.sent(asked))["prompt"].startswith(f"{ASKS}\n\n{FENCE_OPEN}\n")


class TestNothing:
    """Each beside its positive control: the same words that get a lesson otherwise."""

    @pytest.fixture(autouse=True)
    def control(self, memory: Door) -> None:
        assert LESSON.encode() in memory.sent(
            ask("anthropic", person("anthropic", ASKS), x_claude_code_session_id="c")
        )

    def test_for_another_project(self, memory: Door) -> None:
        mine = ask("anthropic", person("anthropic", FILES), x_claude_code_session_id=SHOWN_ID)
        assert memory.sent(mine) != mine.body
        asked = ask("anthropic", person("anthropic", FILES), project=OTHER)
        assert memory.sent(asked) == asked.body
        named = ask("anthropic", person("anthropic", ASKS), project=OTHER)
        assert LESSON.encode() not in memory.sent(named)

    def test_without_a_grant_or_a_project(self, memory: Door) -> None:
        asked = ask("anthropic", person("anthropic", ASKS))
        assert asked.grant is not None
        for grant in (None, replace(asked.grant, projects=None)):
            bare = replace(asked, grant=grant)
            assert memory.sent(bare) == bare.body

    def test_in_a_title_a_count_or_a_subagents_call(self, memory: Door) -> None:
        title = ask(
            "anthropic",
            person("anthropic", ASKS),
            system="Write a short title for the conversation.",
        )
        inside = ask(
            "anthropic",
            person("anthropic", ASKS),
            x_claude_code_session_id="s",
            x_claude_code_agent_id="a",
        )
        count = replace(
            ask("anthropic", person("anthropic", ASKS)), path="/v1/messages/count_tokens"
        )
        for asked in (title, inside, count):
            assert memory.sent(asked) == asked.body

    def test_for_our_own_children_and_where_we_were_before(self, memory: Door) -> None:
        ours = f"{FENCE_OPEN}\nx\n{FENCE_CLOSE}\n{ASKS}"
        for words in (f"{HEADLESS}\n{ASKS}", ours):
            asked = ask("anthropic", person("anthropic", words))
            assert memory.sent(asked) == asked.body

    def test_on_the_way_back_from_a_tool(self, memory: Door) -> None:
        asked = ask("anthropic", person("anthropic", ASKS), *tool_round("anthropic", "ls", "ok"))
        assert memory.sent(asked) == asked.body

    def test_a_second_time_in_the_same_conversation(self, memory: Door) -> None:
        more = [person("chat", ASKS), agent("chat", "pnpm"), person("chat", "Really, " + ASKS)]
        assert memory.sent(ask("chat", more[0])).count(LESSON.encode()) == 1
        assert memory.sent(ask("chat", *more)).count(LESSON.encode()) == 1


class TestHeldOut:
    def test_what_it_would_have_got_is_due_once(self, home: Path) -> None:
        turns = [person("chat", ASKS), agent("chat", "pnpm"), person("chat", "Really, " + ASKS)]
        with door(home, holdout=1.0) as never:
            for messages in (turns[:1], turns):
                asked = ask("chat", *messages)
                assert never.sent(asked) == asked.body
        first, second = (set(one["held_out"]) for one in journaled(home))
        assert first
        assert first.isdisjoint(second)

    def test_it_gets_no_lesson_and_what_it_would_have_got_is_written_down(self, home: Path) -> None:
        assert held_out(HELD_ID, 0.5)
        assert not held_out(SHOWN_ID, 0.5)
        with door(home, holdout=0.5) as half:
            held = ask("anthropic", person("anthropic", ASKS), x_claude_code_session_id=HELD_ID)
            assert half.sent(held) == held.body
            assert half.sent(held) == held.body
            assert LESSON.encode() in half.sent(
                ask("anthropic", person("anthropic", ASKS), x_claude_code_session_id=SHOWN_ID)
            )
        exposed = {one["session"]: one for one in journaled(home)}
        assert exposed[HELD_ID]["shown"] == exposed[SHOWN_ID]["held_out"] == []
        assert exposed[SHOWN_ID]["shown"]
        assert exposed[HELD_ID]["held_out"] == exposed[SHOWN_ID]["shown"]
        assert all(reason for _, reason in exposed[HELD_ID]["near"])
        assert exposed[HELD_ID]["channel"] == "proxy"
        assert exposed[HELD_ID]["scope"][3] == PROJECT
        assert len(journaled(home)) == 2

    def test_a_correction_that_became_a_lesson_does_not_come_by_the_handoff(
        self, home: Path
    ) -> None:
        said = ["No, not npm: we always use pnpm in this repo.", "No, the mast is 3 m too long."]
        with door(home, holdout=0.5) as half:
            for words in said:
                other = [person("chat", "hi"), agent("chat", "Done so."), person("chat", words)]
                half.answered(ask("chat", *other, model="model-b"), b"{}")
            half.settle()
            assert [kind for kind, *_ in half.relayed()] == ["correction", "correction"]
            told = {
                name: half.sent(
                    ask("anthropic", person("anthropic", "Hello"), x_claude_code_session_id=name)
                ).decode()
                for name in (HELD_ID, SHOWN_ID)
            }
        assert [words in told[SHOWN_ID] for words in said] == [True, True]
        assert [words in told[HELD_ID] for words in said] == [False, True]


class TestTakenOut:
    def test_a_lesson_that_was_rejected_is_gone_from_the_next_request(
        self, home: Path, memory: Door
    ) -> None:
        first = [person("chat", ASKS)]
        assert LESSON.encode() in memory.sent(ask("chat", *first))
        scope = memory.serving.reader.scope("default", PROJECT)
        found = memory.serving.reader.candidates(Question(ASKS, None, WORDS), scope, Moment.PROMPT)
        lesson = next(one for one in found if one.row["text"] == LESSON)
        reject(memory, lesson.id, scope)
        later = ask("chat", *first, agent("chat", "pnpm"), person("chat", "thanks"))
        assert memory.sent(later) == later.body


class TestHandoff:
    def work(
        self, memory: Door, model: str, words: str, answer: str, project: str = PROJECT
    ) -> bytes:
        asked = ask("chat", person("chat", words), model=model, project=project)
        body = memory.sent(asked)
        memory.answered(asked, json.dumps({"choices": [{"message": {"content": answer}}]}).encode())
        memory.settle()
        return body

    def test_the_next_model_is_told_what_the_last_one_did(self, memory: Door) -> None:
        one = self.work(memory, "model-a", "Let the mast be blue", "The mast is blue now.")
        two = self.work(memory, "model-b", "And the hull?", "The hull is red.")
        three = self.work(memory, "model-a", "What of the sail?", "White.")
        assert FENCE_OPEN.encode() not in one
        assert b"The mast is blue now." in two
        assert b"The hull is red." in three
        elsewhere = self.work(memory, "model-c", "And here?", "Nothing.", OTHER)
        assert FENCE_OPEN.encode() not in elsewhere

    def test_the_same_model_is_not_told_its_own_work(self, memory: Door) -> None:
        self.work(memory, "model-a", "Let the mast be blue", "The mast is blue now.")
        assert FENCE_OPEN.encode() not in self.work(memory, "model-a", "And the hull?", "Red.")

    def test_the_same_opening_words_to_another_model_begin_another_conversation(
        self, memory: Door
    ) -> None:
        self.work(memory, "model-a", "go on", "The mast is blue now.")
        assert b"The mast is blue now." in self.work(memory, "model-b", "go on", "The hull is red.")
        assert b"The hull is red." in self.work(memory, "model-a", "go on", "White.")

    def test_a_later_correction_reaches_a_conversation_once(self, memory: Door) -> None:
        mine = [person("chat", "Let us begin"), agent("chat", "ok"), person("chat", "first step")]
        memory.sent(ask("chat", mine[0]))
        other = ask(
            "chat",
            person("chat", "hi"),
            agent("chat", "I used npm."),
            person("chat", "No, don't use npm, use pnpm."),
            model="model-b",
        )
        memory.answered(
            other, json.dumps({"choices": [{"message": {"content": "Sorry."}}]}).encode()
        )
        assert ("correction", "model-b", "No, don't use npm, use pnpm.") in memory.relayed()
        told = memory.sent(ask("chat", *mine))
        again = memory.sent(
            ask("chat", *mine, agent("chat", "done"), person("chat", "second step"))
        )
        assert told.count(b"use pnpm.") == 1
        assert again.count(b"use pnpm.") == 1
        assert again.startswith(told.removesuffix(b"]}"))


class Slow:
    """A memory that takes its time."""

    def __init__(self, door: Door, seconds: float) -> None:
        self._source, self._seconds = door.addition.source, seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def settled(self, text: str, scope: Scope, told: Collection[str]) -> list[Candidate] | None:
        time.sleep(self._seconds)
        return self._source.settled(text, scope, told)


class Pondering(Slow):
    """A memory that goes by meanings, and whose encoder takes its time."""

    def settled(self, text: str, scope: Scope, told: Collection[str]) -> list[Candidate] | None:
        return None

    def asked(self, text: str, meaning: str) -> Question:
        time.sleep(self._seconds)
        return self._source.asked(text, meaning)


def test_a_beginning_that_came_too_late_is_made_up_for(memory: Door) -> None:
    TestHandoff().work(memory, "model-a", "Let the mast be blue", "The mast is blue now.")
    slow = replace(memory.addition, source=Slow(memory, 0.3))
    first = [person("chat", ASKS)]
    with pytest.raises(TimeoutError):
        asyncio.run(_within(0.02, lambda: slow(ask("chat", *first, model="model-b"))))
    time.sleep(0.4)
    looped = ask("chat", *first, *tool_round("chat", "ls", "ok"), model="model-b")
    assert memory.sent(looped) == looped.body
    later = ask(
        "chat", *first, agent("chat", "x"), person("chat", "and the hull?"), model="model-b"
    )
    assert b"The mast is blue now." in memory.sent(later)


def test_words_must_do_where_the_meaning_takes_too_long(memory: Door) -> None:
    patient = replace(memory.addition, source=Pondering(memory, 0.5), patience=0.02)
    begun = time.monotonic()
    added = asyncio.run(patient(ask("chat", person("chat", ASKS))))
    assert LESSON.encode() in (added or b"")
    assert time.monotonic() - begun < 0.4


async def _within(seconds: float, work: Callable[[], Any]) -> None:
    async with asyncio.timeout(seconds):
        await work()


class Meant:
    """The space of a memory, as one of meanings; it keeps what it reads."""

    gauge = Gauge(base=0.0, by_cosine=0.35, by_words=0.65)

    def __init__(self, space: Space) -> None:
        self._space, self.read = space, list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._space, name)

    def query(self, text: str) -> NDArray[np.float32]:
        self.read.append(text)
        return self._space.query(text)


def test_a_prompt_is_read_where_its_meaning_can_change_what_is_told(memory: Door) -> None:
    reader = memory.serving.reader
    meant = Meant(reader.space)
    reader._chosen = Future()
    reader._chosen.set_result(Chosen(cast("Space", meant), "it says so"))
    memory.sent(ask("chat", person("chat", "Sing of the Kraken")))
    assert meant.read == []
    assert LESSON.encode() in memory.sent(ask("chat", person("chat", ASKS)))
    assert meant.read == [ASKS]
    told = (person("chat", ASKS), agent("chat", "Yes."))
    memory.sent(ask("chat", *told, person("chat", "So pnpm it is")))
    assert meant.read == [ASKS]


def test_after_an_hour_the_same_words_begin_anew(home: Path) -> None:
    now = [datetime.now(UTC)]
    with door(home) as memory:
        later = replace(memory.addition, clock=lambda: now[0])
        asked = ask("chat", person("chat", ASKS))
        assert asyncio.run(later(asked)) == asyncio.run(later(asked))
        folder = home / "shown"
        memory.settle()
        before = next(folder.iterdir()).read_text()
        now[0] += timedelta(hours=2)
        assert LESSON.encode() in (asyncio.run(later(asked)) or b"")
        memory.settle()
        assert next(folder.iterdir()).read_text() != before


def journaled(home: Path) -> list[dict[str, Any]]:
    lines = [
        json.loads(line)
        for path in sorted((home / "journal").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return [one for one in lines if one["op"] == "expose" and one["channel"] == "proxy"]


def reject(memory: Door, lesson_id: str, scope: Scope) -> None:
    body = {
        "verb": "reject",
        "unit": "lesson",
        "unit_id": lesson_id,
        "digests": [],
        "hides": [lesson_id],
    }
    memory.serving.reader.append(
        "decide", body, scope=scope, actor=Actor.PERSON, at=datetime.now(UTC)
    )
