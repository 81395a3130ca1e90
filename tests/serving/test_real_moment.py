"""The real command lines with our hooks: corrected once, told at the moment, measured against.

The person types to Claude Code at a terminal; `everest setup` has wired it. Run with
`-m real_clients`; `agents` says where the command lines come from.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tasks.domain.clock import utc_now
from tasks.domain.holdout import held_out, line_id
from tasks.store import reads
from tests.serving.agents import Agent, Claude, Codex, Gemini, Request, in_time, need, session
from tests.serving.running import running_proxy
from tests.serving.scripted import Calls, Heard, Says, follow
from tests.serving.shipped import Everest
from tests.serving.terminal import wait_until
from tests.serving.upstream import Upstream
from tests.store.build import home_in

pytestmark = [pytest.mark.real_clients, pytest.mark.timeout(300)]

INSTALL = "Install the packages of this repo."
SET_UP = "Get it ready for me."
PUBLISH = "Send my work to the others."
PUSH = "shipit --all"
CORRECTION = "No. Never install the packages with npm in this repo."
RULE = "Never install the packages with npm in this repo."
DONE = "I installed the packages of this repo with npm."
FAILED = "It did not work."
UNDERSTOOD = "Understood."


def plan(heard: Heard) -> Says | Calls:
    """Work as an agent does that learns nothing by itself."""
    if CORRECTION in heard.words:
        return Says(UNDERSTOOD)
    if PUBLISH in heard.words:
        return Says(FAILED) if heard.results else heard.shell(PUSH)
    return Says(DONE)


@dataclass(frozen=True, slots=True)
class Taught:
    """A person who corrected Claude Code in one session, whose push failed in two; then a night.

    Attributes:
        lesson: the id of the lesson from the correction.
        error: the id of the one from the pushes.
    """

    person: Everest
    model: Upstream
    lesson: str
    error: str

    def share(self, *, of_line_held: bool) -> float:
        """Return a share at which the lesson's line is held out this week, or is not."""
        name = line_id(self.lesson, utc_now(), home_in(self.person.home).settings.zone)
        shares = (n / 100 for n in range(5, 100))
        return next(one for one in shares if held_out(name, one) is of_line_held)

    def index(self) -> str:
        """Return the `MEMORY.md` that Claude Code reads."""
        return next(self.person.claude.rglob("MEMORY.md")).read_text()

    def sessions_shown(self) -> frozenset[str]:
        """Return the sessions in which the lesson was in some channel."""
        with home_in(self.person.home).opened(utc_now()) as store:
            found = [reads.shown(store.database, one) for one in reads.scopes(store.database)]
        return frozenset().union(*(one.get(self.lesson, frozenset()) for one in found))


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Taught]:
    need("claude", "tmux", "git")
    person = Everest(tmp_path_factory.mktemp("taught"))
    subprocess.run(["git", "init", "-q"], cwd=person.cwd, check=True)
    with Upstream(follow(plan)) as model:
        claude = Claude(person, model, model.url)
        claude.settle()
        _wire(person, "claude-code")
        with running_proxy(person):
            claude.typed((SET_UP, DONE), (CORRECTION, UNDERSTOOD))
            claude.typed((PUBLISH, FAILED))
            claude.typed((PUBLISH, FAILED))
            wait_until(lambda: person("status", "--json").data["sessions"] == 3)
        assert person("night").code == 0
        found = {one["kind"]: one["lesson_id"] for one in person.lessons()}
        yield Taught(person, model, found["correction"], found["error"])


def _wire(person: Everest, agent: str) -> None:
    told = person("setup", "--agent", agent, "--yes")
    assert told.code == 0, told.err


@in_time
def test_the_end_of_a_turn_is_held_up_once_for_a_lesson(taught: Taught) -> None:
    claude = Claude(taught.person, taught.model, taught.model.url)
    with running_proxy(taught.person):
        asked = claude.typed((SET_UP, DONE), (SET_UP, DONE))
    assert [len(request.fenced) for request in asked] == [0, 1, 1]
    assert _telling(asked) == [False, True, True]


@in_time
def test_a_call_that_failed_before_brings_what_was_learned_from_it(taught: Taught) -> None:
    claude = Claude(taught.person, taught.model, taught.model.url)
    with running_proxy(taught.person):
        asked = claude.typed((PUBLISH, FAILED))
    assert _telling(asked, "shipit") == [False, True]


@pytest.mark.parametrize("kind", [Codex, Gemini])
@in_time
def test_another_agent_is_told_at_every_moment_that_it_listens_at(
    taught: Taught, kind: type[Agent]
) -> None:
    agent = _joining(taught, kind)
    agent.trust_hooks()
    with running_proxy(taught.person, EVEREST_HOLDOUT="1"):
        assert _telling(agent.asked(INSTALL)) == [False]
    with running_proxy(taught.person):
        assert _telling(agent.asked(INSTALL)) == [True]
        assert _telling(agent.asked(SET_UP)) == [False, True]
        assert _telling(agent.asked(PUBLISH), "shipit") == [False, True]


@in_time
def test_codex_runs_no_hook_that_the_person_has_not_agreed_to(taught: Taught) -> None:
    codex = _joining(taught, Codex)
    with running_proxy(taught.person):
        assert _telling(codex.asked(INSTALL)) == [False]
        codex.trust_hooks()
        assert _telling(codex.asked(INSTALL)) == [True]


@in_time
def test_with_nothing_running_a_hook_answers_and_the_session_is_read_by_itself(
    taught: Taught,
) -> None:
    claude = Claude(taught.person, taught.model, taught.model.url)
    name = session(0.5, held=False)
    assert _telling(claude.typed((INSTALL, DONE), (PUBLISH, FAILED), session=name)) == [True] * 3
    wait_until(lambda: _is_read(taught.person, name))
    assert taught.person("night").code == 0
    assert name in taught.sessions_shown()


@in_time
def test_hooks_and_proxy_in_one_session_tell_nothing_twice(taught: Taught) -> None:
    """The proxy is told no project: it learns from the hook where the session belongs."""
    routes = f"*={taught.model.url};api=anthropic"
    name = session(0.5, held=False)
    with running_proxy(taught.person, EVEREST_ROUTES=routes) as proxy:
        door = f"{proxy.url}/t/{proxy.token}"
        claude = Claude(taught.person, taught.model, door)
        both = claude.typed((INSTALL, DONE), (INSTALL, DONE), session=name)
        assert taught.person("setup", "--undo", "--agent", Claude.wired, "--yes").code == 0
        alone = Claude(taught.person, taught.model, f"{door}/p/work").typed((INSTALL, DONE))
        _wire(taught.person, Claude.wired)
    assert [len(request.fenced) for request in both] == [1, 1]
    assert [len(request.fenced) for request in alone] == [1]
    assert name in "".join(one.read_text() for one in taught.person.home.rglob("relay/*.jsonl"))


@in_time
@pytest.mark.parametrize("kind", [Codex, Gemini])
def test_what_was_done_through_the_proxy_is_handed_to_the_next_agent_by_its_hook(
    taught: Taught, kind: type[Agent]
) -> None:
    words = f"The staging port for {kind.command} is 9090."
    agent = _joining(taught, kind)
    agent.trust_hooks()
    with running_proxy(taught.person, EVEREST_ROUTES=f"*={taught.model.url};api=anthropic") as one:
        claude = Claude(taught.person, taught.model, f"{one.url}/t/{one.token}")
        assert _telling(claude.typed((words, DONE)), words)[0] is False
        assert _telling(agent.asked(PUBLISH), words)[0] is True
        assert _telling(claude.typed((PUBLISH, FAILED)), words)[0] is False


def _joining(taught: Taught, kind: type[Agent]) -> Agent:
    """Return another agent of the same person's, wired."""
    need(kind.command)
    agent = kind(taught.person, taught.model, taught.model.url)
    agent.settle()
    _wire(taught.person, kind.wired)
    return agent


def _is_read(person: Everest, name: str) -> bool:
    """Tell whether a session was ingested."""
    return any(person.home.rglob(f"evidence/*/{name}.jsonl"))


def _telling(requests: list[Request], words: str = RULE) -> list[bool]:
    """Tell of each request whether it holds words in our fence."""
    return [any(words in one for one in request.fenced) for request in requests]


@in_time
def test_the_next_session_is_told_and_a_held_out_one_is_not(taught: Taught) -> None:
    claude, share = Claude(taught.person, taught.model, taught.model.url), 0.5
    with running_proxy(taught.person, EVEREST_HOLDOUT=str(share)):
        told = claude.typed((INSTALL, DONE), session=session(share, held=False))
        untold = claude.typed((INSTALL, DONE), session=session(share, held=True))
    assert _telling(told) == [True]
    assert _telling(untold) == [False]


@in_time
def test_the_line_stands_in_its_weeks_and_a_session_in_no_channel_is_counted_so(
    taught: Taught,
) -> None:
    claude = Claude(taught.person, taught.model, taught.model.url)
    seen = {}
    for of_line_held in (False, True):
        share = taught.share(of_line_held=of_line_held)
        assert taught.person("night", EVEREST_HOLDOUT=str(share)).code == 0
        assert (RULE in taught.index()) is not of_line_held
        with running_proxy(taught.person, EVEREST_HOLDOUT=str(share)):
            for held in (False, True):
                name = session(share, held=held)
                request = claude.typed((INSTALL, DONE), session=name)[0]
                assert _telling([request]) == [not held]
                assert (RULE in request.text) is not (held and of_line_held)
                seen[of_line_held, held] = name
    assert taught.person("night", EVEREST_HOLDOUT="0").code == 0
    in_some = taught.sessions_shown()
    assert {key for key, name in seen.items() if name not in in_some} == {(True, True)}
