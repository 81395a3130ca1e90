"""Hooks as agents run them: the shipped process, its socket, and what an agent is to print."""

from __future__ import annotations

import json
import shutil
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tasks.domain.holdout import held_out
from tasks.domain.markers import FENCE_CLOSE, FENCE_OPEN, HEADLESS
from tests.serving.client import over_socket
from tests.serving.running import (
    EVERY_API,
    RunningProxy,
    body_of,
    request,
    running_proxy,
    status_of,
)
from tests.serving.shipped import Everest
from tests.serving.speech import speak
from tests.serving.upstream import Upstream

FOLDER = "/home/mia/code/paperboat"
PROJECT = "paperboat-54472414"
ASKS = "Do we use pnpm or npm in this repo?"
LESSON = "We always use pnpm in this repo."
HANDS_BACK = "I mocked the database in the tests, and they pass."
AT_THE_END = "Don't mock the database in tests; use the test container."
FAILED = "Use `pnpm install`, not `npm install`, which has failed here."
OUT = next(f"out-{n}" for n in range(99) if held_out(f"out-{n}", 0.5))
IN = next(f"in-{n}" for n in range(99) if not held_out(f"in-{n}", 0.5))


@pytest.fixture(scope="module")
def home(slept_once: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(slept_once[1], tmp_path_factory.mktemp("hooks") / "base"))


@pytest.fixture
def base(slept_once: tuple[Path, Path], tmp_path: Path) -> Path:
    """Give a memory of the test's own."""
    return Path(shutil.copytree(slept_once[1], tmp_path / "base"))


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(speak) as server:
        yield server


@pytest.fixture(scope="module")
def door(home: Path, upstream: Upstream) -> Iterator[RunningProxy]:
    routes = EVERY_API.format(upstream.url)
    with opened(home, EVEREST_ROUTES=routes, EVEREST_PROXY_BUDGET="5") as running:
        yield running


def opened(home: Path, **env: str) -> Any:
    """Start the process; a machine that runs tests may be slower than the budget."""
    return running_proxy(Everest(home), EVEREST_HOOK_BUDGET="10", **env)


@pytest.fixture
def session(request: pytest.FixtureRequest) -> str:
    """Give a conversation of the test's own."""
    return str(request.node.name)


def fired(
    door: RunningProxy, session: str, event: str, agent: str = "claude-code", **told: Any
) -> str:
    """Return what a hook is to print."""
    return printed(door, agent, event, {"session_id": session, "cwd": FOLDER, **told})


def printed(door: RunningProxy, agent: str, event: str, told: Any) -> str:
    data = told if isinstance(told, bytes) else json.dumps(told).encode()
    answer = door.raw_unix(request(f"/hook/{agent}/{event}", body=data))
    assert status_of(answer) == 200, answer
    return body_of(answer).decode()


def prompted(door: RunningProxy, session: str, prompt: str = ASKS, **told: Any) -> str:
    return fired(door, session, "UserPromptSubmit", prompt=prompt, **told)


def exposures(door: RunningProxy, session: str, many: int = 1) -> list[dict[str, Any]]:
    """Return what the journal was told of a conversation; it is told behind the answers."""
    for _ in range(100):
        segments = (door.person.home / "journal").rglob("*.jsonl")
        lines = [json.loads(line) for path in segments for line in path.read_text().splitlines()]
        found = [one for one in lines if one.get("session") == session and one["op"] == "expose"]
        if len(found) >= many:
            return found
        time.sleep(0.05)
    return []


def counted(door: RunningProxy, outcome: str, agent: str = "claude-code") -> float:
    text = body_of(door.raw_unix(request("/metrics", method="GET"))).decode()
    wanted = f'everest_hooks_total{{agent="{agent}",outcome="{outcome}"}} '
    found = [line for line in text.splitlines() if line.startswith(wanted)]
    return float(found[0].rpartition(" ")[2]) if found else 0


def left(door: RunningProxy, told: dict[str, Any]) -> str:
    """Return what came of a hook whose client left as soon as it had told."""
    before = {outcome: counted(door, outcome) for outcome in ("late", "told")}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(door.socket)
        path = "/hook/claude-code/UserPromptSubmit"
        connection.sendall(request(path, body=json.dumps(told).encode()))
    while True:
        for outcome, count in before.items():
            if counted(door, outcome) > count:
                return outcome
        time.sleep(0.01)


class TestMoments:
    def test_a_prompt_is_told_what_bears_on_it_fenced_dated_and_attributed(
        self, door: RunningProxy, session: str
    ) -> None:
        told = json.loads(prompted(door, session))["hookSpecificOutput"]
        assert told["hookEventName"] == "UserPromptSubmit"
        first, *_, line, last = told["additionalContext"].splitlines()
        assert (first, last) == (FENCE_OPEN, FENCE_CLOSE)
        assert LESSON in told["additionalContext"]
        assert line.startswith("- 20")
        assert "corroborated lesson" in line

    def test_a_hand_back_is_told_a_correction_and_goes_on(
        self, door: RunningProxy, session: str
    ) -> None:
        told = json.loads(fired(door, session, "Stop", last_assistant_message=HANDS_BACK))
        assert told["hookSpecificOutput"]["hookEventName"] == "Stop"
        assert AT_THE_END in told["hookSpecificOutput"]["additionalContext"]

    def test_a_call_is_told_an_error_alone(self, door: RunningProxy, session: str) -> None:
        call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "npm install"}}
        told = json.loads(fired(door, session, "PreToolUse", **call))
        assert FAILED in told["hookSpecificOutput"]["additionalContext"]
        assert LESSON not in told["hookSpecificOutput"]["additionalContext"]
        assert "permissionDecision" not in told["hookSpecificOutput"]

    def test_a_prompt_that_nothing_bears_on_is_told_nothing(
        self, door: RunningProxy, session: str
    ) -> None:
        assert prompted(door, session, "Paint the hull in a friendly blue.") == ""

    @pytest.mark.parametrize("prompt", ["/clear", "", "[Request interrupted by user]", "<x"])
    def test_what_nobody_typed_is_told_nothing(
        self, door: RunningProxy, session: str, prompt: str
    ) -> None:
        assert prompted(door, session, prompt) == ""
        assert LESSON in prompted(door, session)


class TestOnce:
    def test_a_conversation_is_told_a_lesson_once_and_another_one_anew(
        self, door: RunningProxy, session: str
    ) -> None:
        assert LESSON in prompted(door, session)
        assert LESSON not in prompted(door, session)
        assert LESSON in prompted(door, f"{session}-other")

    def test_a_client_that_waits_no_longer_was_told_nothing(
        self, door: RunningProxy, session: str
    ) -> None:
        for attempt in range(50):  # the answer may be there before the client has left
            name = f"{session}-{attempt}"
            if left(door, {"session_id": name, "cwd": FOLDER, "prompt": ASKS}) == "late":
                break
        else:
            pytest.fail("no answer came too late for a client that did not wait")
        assert LESSON in prompted(door, name)

    def test_a_hook_that_is_wired_twice_is_answered_once(
        self, door: RunningProxy, session: str
    ) -> None:
        assert LESSON in prompted(door, session, prompt_id="p1")
        assert prompted(door, session, prompt_id="p1") == ""

    def test_a_turn_goes_on_once_for_a_lesson(self, door: RunningProxy, session: str) -> None:
        stopping = {"last_assistant_message": HANDS_BACK}
        assert fired(door, session, "Stop", **stopping, stop_hook_active=True) == ""
        assert AT_THE_END in fired(door, session, "Stop", **stopping, stop_hook_active=False)
        assert AT_THE_END not in fired(door, session, "Stop", **stopping, stop_hook_active=False)

    def test_what_was_told_stays_told_when_the_process_starts_anew(self, base: Path) -> None:
        with opened(base) as before:
            assert LESSON in prompted(before, "s")
            assert exposures(before, "s")
        with opened(base) as after:
            assert LESSON not in prompted(after, "s")
            assert LESSON in prompted(after, "t")

    def test_a_request_of_the_same_conversation_is_told_nothing_twice(
        self, door: RunningProxy, upstream: Upstream, session: str
    ) -> None:
        def sent(named: str) -> str:
            ask = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": ASKS}]}
            tools = [{"name": "x", "input_schema": {"type": "object"}}]
            head = f"x-claude-code-session-id: {named}"
            target = f"/t/{door.token}/v1/messages"
            data = json.dumps({**ask, "tools": tools}).encode()
            assert status_of(door.raw(request(target, head, body=data))) == 200
            return upstream.received[-1].body.decode()

        assert LESSON not in sent(f"{session}-unheard")  # no hook told which project that is
        fired(door, f"{session}-begun", "SessionStart", source="startup")
        assert LESSON in sent(f"{session}-begun")
        assert LESSON not in prompted(door, f"{session}-begun")
        assert LESSON in prompted(door, session)
        assert LESSON not in sent(session)


class TestHeldOut:
    def test_a_held_out_conversation_is_told_nothing_and_that_is_recorded(self, base: Path) -> None:
        with opened(base, EVEREST_HOLDOUT="0.5") as door:
            assert prompted(door, OUT) == ""
            assert LESSON in prompted(door, IN)
            (kept,), (told,) = exposures(door, OUT), exposures(door, IN)
        assert (kept["channel"], kept["moment"], kept["shown"]) == ("hook", "prompt", [])
        assert kept["held_out"] == told["shown"] != []
        assert told["held_out"] == []

    def test_a_point_at_which_nothing_is_shown_is_recorded_with_the_reasons(
        self, door: RunningProxy, session: str
    ) -> None:
        assert LESSON in prompted(door, session)
        assert LESSON not in prompted(door, session)
        _, line = exposures(door, session, 2)
        assert (line["shown"], line["held_out"]) == ([], [])
        assert "shown before" in {why for _, why in line["near"]}

    def test_a_point_that_no_lesson_has_to_do_with_is_recorded_too(
        self, door: RunningProxy, session: str
    ) -> None:
        assert prompted(door, session, "Paint the hull in a friendly blue.") == ""
        (line,) = exposures(door, session)
        assert (line["moment"], line["shown"], line["held_out"]) == ("prompt", [], [])


class TestWhoIsLeftAlone:
    def test_a_subagent(self, door: RunningProxy, session: str) -> None:
        assert prompted(door, session, agent_id="a1", agent_type="Explore") == ""
        assert LESSON in prompted(door, session)

    @pytest.mark.parametrize("missing", ["session_id", "cwd"])
    def test_a_conversation_that_is_not_named(
        self, door: RunningProxy, session: str, missing: str
    ) -> None:
        told = {"session_id": session, "cwd": FOLDER, "prompt": ASKS}
        assert printed(door, "claude-code", "UserPromptSubmit", {**told, missing: None}) == ""
        assert LESSON in printed(door, "claude-code", "UserPromptSubmit", told)

    def test_a_session_that_a_program_of_ours_began(self, door: RunningProxy, session: str) -> None:
        assert prompted(door, session, f"{HEADLESS}\n{ASKS}") == ""
        assert prompted(door, session) == ""

    def test_an_ignored_project_from_then_on(self, base: Path) -> None:
        with opened(base) as door:
            assert LESSON in prompted(door, "before")
            assert door.person("project", "ignore", "paperboat").code == 0
            assert prompted(door, "after") == ""
            assert prompted(door, "before", "And what else of pnpm?") == ""
            assert door.person("project", "watch", "paperboat").code == 0
            assert LESSON in prompted(door, "again")

    def test_a_folder_that_asks_for_it(
        self, door: RunningProxy, session: str, tmp_path: Path
    ) -> None:
        (tmp_path / ".everest-ignore").touch()
        before = counted(door, "ignored")
        assert prompted(door, session, cwd=str(tmp_path)) == ""
        assert counted(door, "ignored") == before + 1

    def test_everybody_while_paused(self, door: RunningProxy, session: str) -> None:
        assert door.person("pause").code == 0
        assert prompted(door, session) == ""
        assert door.person("resume").code == 0
        assert LESSON in prompted(door, session)

    def test_another_project_reads_no_lesson_of_this_one(
        self, door: RunningProxy, session: str
    ) -> None:
        assert LESSON not in prompted(door, session, cwd="/home/mia/code/tidewater")


class TestDoor:
    @pytest.mark.parametrize("path", ["/hook/claude-code/UserPromptSubmit", "/hook/x/y"])
    def test_over_tcp_there_are_no_hooks(self, door: RunningProxy, session: str, path: str) -> None:
        data = json.dumps({"session_id": session, "cwd": FOLDER, "prompt": ASKS}).encode()
        for target in (path, f"/t/{door.token}{path}", f"/t/{door.token}/p/paperboat{path}"):
            answer = door.raw(request(target, body=data))
            assert (status_of(answer), LESSON in answer.decode()) == (404, False)
        assert LESSON in prompted(door, session)

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"{",
            b"null",
            b"[1]",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"session_id": 5, "cwd": {}, "prompt": []}',
            b'{"session_id": "s", "cwd": "\\u0000/x", "prompt": "\\ud800 pnpm"}',
            b'{"prompt": "' + b"x" * (9 << 20) + b'"}',
        ],
        ids=lambda data: data[:12].decode("latin-1"),
    )
    def test_odd_input_is_answered_with_nothing(self, door: RunningProxy, data: bytes) -> None:
        assert printed(door, "claude-code", "UserPromptSubmit", data) == ""

    @pytest.mark.parametrize(
        ("agent", "event"), [("claude-code", "Notification"), ("nobody", "Stop"), ("a", "b/c")]
    )
    def test_what_we_do_not_know_is_answered_with_nothing_and_counted(
        self, door: RunningProxy, agent: str, event: str
    ) -> None:
        before = counted(door, "unknown", "other")
        assert printed(door, agent, event, {"session_id": "s", "cwd": FOLDER}) == ""
        assert counted(door, "unknown", "other") == before + 1

    def test_half_a_surrogate_in_a_prompt_costs_that_character(
        self, door: RunningProxy, session: str
    ) -> None:
        assert LESSON in prompted(door, session, f"\ud83d {ASKS}")

    def test_a_memory_that_cannot_be_read_is_silence_and_is_told_to_the_person(
        self, base: Path
    ) -> None:
        with opened(base) as door:
            assert LESSON in prompted(door, "before")
            (base / "everest" / "view" / "current").write_text("nowhere.json")
            assert prompted(door, "after") == ""
            assert counted(door, "failed") == 1
            health = over_socket(door, "GET", "/health").data["hooks"]
            assert health["unanswered"] == 1
        for _ in range(100):
            failures = base / "everest" / "spool" / "failures"
            if failures.exists():
                break
            time.sleep(0.05)
        assert failures.read_text().split()[1:] == [
            "claude-code",
            "UserPromptSubmit",
            "ViewDamaged",
        ]


class TestOtherAgents:
    def test_codex_reads_context_and_goes_on_for_a_reason(
        self, door: RunningProxy, session: str
    ) -> None:
        asked = fired(door, session, "UserPromptSubmit", "codex", prompt=ASKS, turn_id="t")
        assert LESSON in json.loads(asked)["hookSpecificOutput"]["additionalContext"]
        stopped = json.loads(
            fired(door, session, "Stop", "codex", last_assistant_message=HANDS_BACK, turn_id="t")
        )
        assert stopped["decision"] == "block"
        assert AT_THE_END in stopped["reason"]

    def test_gemini_reads_context_behind_a_prompt_and_behind_a_call(
        self, door: RunningProxy, session: str
    ) -> None:
        call = {"tool_name": "run_shell_command", "tool_input": {"command": "npm install"}}
        asked = json.loads(fired(door, session, "BeforeAgent", "gemini", prompt=ASKS))
        assert asked["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
        assert fired(door, f"{session}-2", "BeforeTool", "gemini", **call) == ""
        called = json.loads(fired(door, f"{session}-2", "AfterTool", "gemini", **call))
        assert FAILED in called["hookSpecificOutput"]["additionalContext"]
        stopped = json.loads(
            fired(door, session, "AfterAgent", "gemini", prompt_response=HANDS_BACK)
        )
        assert (stopped["decision"], AT_THE_END in stopped["reason"]) == ("deny", True)


class TestBeginning:
    WORK = "The mast is blue now."

    def tell(self, door: RunningProxy, text: str, agent: str, model: str, number: int) -> None:
        told = {
            "v": 1,
            "kind": "turn",
            "text": text,
            "role": "assistant",
            "project": PROJECT,
            "agent": agent,
            "model": model,
            "session": f"earlier-{number}",
            "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.{number:06}Z",
            "id": f"w{number}",
        }
        relay = door.person.home / "relay"
        relay.mkdir(exist_ok=True)
        with (relay / f"{PROJECT}.jsonl").open("a") as file:
            file.write(json.dumps(told) + "\n")

    def begun(self, door: RunningProxy, session: str, source: str = "startup") -> str:
        return fired(door, session, "SessionStart", source=source, model="claude-opus-4")

    def test_work_of_another_is_handed_over_once_and_ones_own_is_not(self, base: Path) -> None:
        with opened(base) as door:
            assert self.begun(door, "none") == ""
            self.tell(door, "I worked on the hull.", "claude_code", "claude-opus-4-20260101", 1)
            assert self.begun(door, "own") == ""
            self.tell(door, self.WORK, "codex", "gpt-5", 2)
            told = json.loads(self.begun(door, "new"))["hookSpecificOutput"]
            assert (told["hookEventName"], self.WORK in told["additionalContext"]) == (
                "SessionStart",
                True,
            )
            assert self.begun(door, "new", "resume") == ""
            self.tell(door, "I looked at it.", "claude_code", "claude-opus-4", 3)
            assert self.begun(door, "later") == ""

    def test_a_long_handoff_fits_and_keeps_what_is_newest(self, base: Path) -> None:
        with opened(base) as door:
            for number in range(400):
                self.tell(door, f"w{number}", "codex", "gpt-5", number)
            text = json.loads(self.begun(door, "s"))["hookSpecificOutput"]["additionalContext"]
            assert 5_000 < len(text) < 10_000
            assert "“w399”" in text
