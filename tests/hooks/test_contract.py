"""What hooks tell and take: every agent's own form, whatever is missing, and no more than fits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.hooks.contract import (
    Agent,
    Begun,
    Calling,
    Compacting,
    Ended,
    Happening,
    Prompted,
    Stopping,
    answer,
    fits,
    happening,
)
from tasks.hooks.moments import Arriving, Point, Silence, due
from tasks.prime import Moment

TOLD = {
    "session_id": "s",
    "cwd": "/home/ada/boat",
    "transcript_path": "/t/s.jsonl",
    "model": "m",
    "prompt": "which port",
    "tool_name": "Bash",
    "tool_input": {"command": "npm install"},
    "last_assistant_message": "All done.",
    "prompt_response": "All done.",
    "source": "startup",
    "reason": "clear",
}
EVENTS = {
    "claude-code": {
        "SessionStart": Begun("startup"),
        "UserPromptSubmit": Prompted("which port"),
        "PreToolUse": Calling("Bash", {"command": "npm install"}),
        "Stop": Stopping("All done.", again=False),
        "PreCompact": Compacting(),
        "SessionEnd": Ended("clear"),
    },
    "gemini": {
        "SessionStart": Begun("startup"),
        "BeforeAgent": Prompted("which port"),
        "BeforeTool": Calling("Bash", {"command": "npm install"}),
        "AfterTool": Calling("Bash", {"command": "npm install"}),
        "AfterAgent": Stopping("All done.", again=False),
        "PreCompress": Compacting(),
        "SessionEnd": Ended("clear"),
    },
}
EVENTS["codex"] = EVENTS["claude-code"]
EVERY = [(agent, event) for agent, events in EVENTS.items() for event in events]


def of(agent: str, event: str, **more: Any) -> Happening:
    found = happening(agent, event, json.dumps({**TOLD, **more}).encode())
    assert found is not None
    return found


@pytest.mark.parametrize(("agent", "event"), EVERY)
def test_each_event_is_read(agent: str, event: str) -> None:
    one = of(agent, event)
    assert one.what == EVENTS[agent][event]
    assert (one.session, one.cwd, one.transcript, one.model) == (
        "s",
        "/home/ada/boat",
        "/t/s.jsonl",
        "m",
    )


@pytest.mark.parametrize(("agent", "event"), EVERY)
def test_what_is_missing_is_empty(agent: str, event: str) -> None:
    one = happening(agent, event, b"")
    assert one is not None
    assert (one.session, one.cwd, one.turn, one.subagent) == ("", "", "", False)
    assert isinstance(due(one), Silence)


@given(
    st.sampled_from(EVERY),
    st.dictionaries(
        st.sampled_from([*TOLD, "agent_id", "stop_hook_active", "tool_use_id"]),
        st.one_of(st.sampled_from([None, True, 0.5, [], {}, ["x"], {"command": 5}]), st.text()),
    ),
)
def test_nothing_that_an_agent_tells_is_an_error(
    which: tuple[str, str], told: dict[str, Any]
) -> None:
    one = happening(*which, json.dumps(told).encode())
    assert one is not None
    due(one)
    printed = answer(one, "words")
    assert not printed or isinstance(json.loads(printed), dict)


@given(st.sampled_from(EVERY), st.binary(max_size=200))
def test_no_bytes_are_an_error(which: tuple[str, str], data: bytes) -> None:
    one = happening(*which, data)
    assert one is not None
    due(one)


@pytest.mark.parametrize(
    ("agent", "event"), [("cursor", "Stop"), ("gemini", "Stop"), ("codex", "BeforeTool"), ("", "")]
)
def test_another_agent_or_event_is_none_of_ours(agent: str, event: str) -> None:
    assert happening(agent, event, b"{}") is None


class TestAnswer:
    @pytest.mark.parametrize(
        ("agent", "event"),
        [
            ("claude-code", "SessionStart"),
            ("claude-code", "UserPromptSubmit"),
            ("claude-code", "PreToolUse"),
            ("claude-code", "Stop"),
            ("codex", "SessionStart"),
            ("codex", "UserPromptSubmit"),
            ("codex", "PreToolUse"),
            ("gemini", "SessionStart"),
            ("gemini", "BeforeAgent"),
            ("gemini", "AfterTool"),
        ],
    )
    def test_context_bears_the_name_of_its_event(self, agent: str, event: str) -> None:
        told = json.loads(answer(of(agent, event), "wörds"))
        assert told == {
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": "wörds"}
        }

    @pytest.mark.parametrize(
        ("agent", "event", "word"), [("codex", "Stop", "block"), ("gemini", "AfterAgent", "deny")]
    )
    def test_where_a_turn_goes_on_only_for_a_reason_it_is_one(
        self, agent: str, event: str, word: str
    ) -> None:
        told = json.loads(answer(of(agent, event), "words"))
        assert told == {"decision": word, "reason": "words"}

    @pytest.mark.parametrize(
        ("agent", "event"),
        [
            ("claude-code", "SessionEnd"),
            ("claude-code", "PreCompact"),
            ("gemini", "BeforeTool"),
            ("gemini", "PreCompress"),
        ],
    )
    def test_where_no_text_is_taken_nothing_is_printed(self, agent: str, event: str) -> None:
        assert answer(of(agent, event), "words") == b""

    def test_no_text_is_no_byte(self) -> None:
        assert answer(of("claude-code", "Stop"), "") == b""

    def test_what_fits_is_counted_as_hosts_count(self) -> None:
        assert fits("x" * 9_900)
        assert not fits("x" * 9_901)
        assert not fits("🏔" * 5_000)  # two units each


class TestDue:
    def test_each_moment_has_its_words(self) -> None:
        assert due(of("codex", "UserPromptSubmit")) == Point(Moment.PROMPT, "which port")
        assert due(of("codex", "PreToolUse")) == Point(Moment.TOOL, "Bash npm install")
        assert due(of("codex", "Stop")) == Point(Moment.END, "All done.")
        assert due(of("codex", "SessionStart")) == Arriving()

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"command": "cd boat &&\nnpm test"}, "Bash cd boat &&\nnpm test"),
            ({"file_path": "/a/b.ts", "content": "x\ny"}, "Bash /a/b.ts"),
            ({"odd": ["x"]}, "Bash"),
            ({}, "Bash"),
        ],
    )
    def test_a_call_is_named_by_what_tells_most(self, given: dict[str, Any], words: str) -> None:
        assert due(of("claude-code", "PreToolUse", tool_input=given)) == Point(Moment.TOOL, words)

    def test_a_turn_that_a_hook_made_go_on_ends(self) -> None:
        assert due(of("claude-code", "Stop", stop_hook_active=True)) == Silence("went on before")

    @pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "Stop", "SessionStart"])
    def test_inside_a_subagent_nothing_is(self, event: str) -> None:
        assert due(of("claude-code", event, agent_id="a")) == Silence("subagent")

    @pytest.mark.parametrize(
        ("prompt", "words"),
        [
            ("/review the hull", "the hull"),
            ("<system-reminder>x</system-reminder>which port", "which port"),
            ("<everest-memory>\nold\n</everest-memory>\nwhich port", "which port"),
        ],
    )
    def test_a_prompts_words_are_what_the_person_typed(self, prompt: str, words: str) -> None:
        assert due(of("claude-code", "UserPromptSubmit", prompt=prompt)) == Point(
            Moment.PROMPT, words
        )

    @pytest.mark.parametrize("prompt", ["/clear", "  ", "<task-notification>x</task-notification>"])
    def test_a_hosts_own_prompt_is_nobodys(self, prompt: str) -> None:
        assert due(of("claude-code", "UserPromptSubmit", prompt=prompt)) == Silence("not typed")


def test_agents_go_by_the_names_that_transcripts_give_them() -> None:
    assert [one.provenance for one in Agent] == ["claude_code", "codex", "gemini_cli"]
