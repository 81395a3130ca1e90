"""Hooks by hand: what an agent would print, why, and never an exit code that stops an agent."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.serving.running import running_proxy
from tests.serving.shipped import Everest, tree_of

FOLDER = "/home/mia/code/paperboat"
ASKS = "Do we use pnpm or npm in this repo?"
LESSON = "We always use pnpm in this repo."


def told(session: str, **more: Any) -> str:
    return json.dumps({"session_id": session, "cwd": FOLDER, **more})


@pytest.mark.parametrize("words", [["prime"], ["hook", "UserPromptSubmit"]])
@pytest.mark.parametrize("by", ["the warm process", "itself"])
def test_a_hook_is_answered_and_counts_as_told(person: Everest, words: list[str], by: str) -> None:
    def answered() -> str:
        done = person(*words, stdin=told("s1", prompt=ASKS))
        assert (done.code, done.err) == (0, "")
        return done.out

    if by == "the warm process":
        with running_proxy(person, EVEREST_HOOK_BUDGET="10"):
            first, second = answered(), answered()
    else:
        first, second = answered(), answered()
    assert LESSON in json.loads(first)["hookSpecificOutput"]["additionalContext"]
    assert LESSON not in second


def test_prime_takes_the_event_from_the_input(reader: Everest) -> None:
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash"}
    done = reader(
        "prime",
        "--dry-run",
        "--json",
        stdin=told("s2", **call, tool_input={"command": "npm install"}),
    )
    assert done.data["moment"] == "tool call"


def test_a_dry_run_says_why_and_changes_nothing(person: Everest) -> None:
    before = tree_of(person.home)
    done = person("prime", "--dry-run", "--json", stdin=told("s3", prompt=ASKS))
    assert (done.code, tree_of(person.home)) == (0, before)
    explained = done.data
    assert (explained["moment"], explained["outcome"]) == ("prompt", "told")
    assert LESSON in explained["text"]
    assert explained["considered"][0]["verdict"] == "shown"
    assert {one["verdict"] for one in explained["considered"]} >= {"shown", "not relevant enough"}
    relevances = [one["relevance"] for one in explained["considered"]]
    assert relevances == sorted(relevances, reverse=True)
    spoken = person("prime", "--dry-run", stdin=told("s3", prompt=ASKS)).out
    assert "moment     prompt" in spoken
    assert f"shown: {LESSON}" in spoken


def test_a_dry_run_compares_as_the_hook_would_now(person: Everest) -> None:
    asks = told("s3", prompt=ASKS)
    assert person("prime", "--dry-run", "--json", stdin=asks).data["by_meaning"] is False
    assert "words alone" in person("prime", "--dry-run", stdin=asks).out
    with running_proxy(person):
        assert person("prime", "--dry-run", "--json", stdin=asks).data["by_meaning"] is True
    assert person("pause").code == 0
    paused = person("prime", "--dry-run", "--json", stdin=asks).data
    assert (paused["outcome"], paused["text"]) == ("paused", "")


def test_a_dry_run_of_a_held_out_conversation_says_so(reader: Everest) -> None:
    done = reader(
        "prime", "--dry-run", "--json", stdin=told("s4", prompt=ASKS), EVEREST_HOLDOUT="1"
    )
    assert (done.data["held_out"], done.data["text"]) == (True, "")
    assert done.data["considered"][0]["verdict"] == "held out"


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["hook", "Nothing"], "{}"),
        (["hook", "Stop", "--agent", "nobody"], "{}"),
        (["prime"], "no JSON"),
        (["prime"], ""),
    ],
)
def test_nothing_that_an_agent_sends_is_an_error(
    reader: Everest, words: list[str], stdin: str
) -> None:
    done = reader(*words, stdin=stdin)
    assert (done.code, done.out) == (0, "")


def test_a_setting_that_cannot_be_used_does_not_stop_an_agent(reader: Everest) -> None:
    done = reader("prime", stdin=told("s5", prompt=ASKS), EVEREST_TIMEZONE="Mars/Olympus")
    assert (done.code, done.out) == (0, "")
    assert "EVEREST_TIMEZONE" in done.err


def test_asking_why_of_what_is_no_event_is_an_error_with_its_name(reader: Everest) -> None:
    done = reader("hook", "Nothing", "--dry-run", stdin="{}")
    assert (done.code, "Nothing" in done.err) == (2, True)


def test_status_counts_what_came_of_hooks_wherever_it_stands(person: Everest) -> None:
    def counted() -> dict[tuple[str, str], dict[str, int]]:
        found = person("status", "--json").data["hooks"]
        assert found["days"] == 7
        return {(one.pop("agent"), one.pop("moment")): one for one in found["moments"]}

    none = dict.fromkeys(("told", "held_out", "silent", "late", "failed"), 0)
    assert counted() == {}
    assert "no agent's hook asked" in person("status").out
    person("prime", stdin=told("s1", prompt=ASKS))
    person("prime", stdin=told("s2", prompt=ASKS), EVEREST_HOLDOUT="1")
    wanted = {("claude-code", "prompt"): {**none, "told": 1, "held_out": 1}}
    assert counted() == wanted, "it waits in the spool"
    with running_proxy(person, EVEREST_HOOK_BUDGET="10"):
        patient = {"EVEREST_HOOK_SECONDS": "20"}
        paints = told("s1", prompt="Paint the hull in a friendly blue.")
        person("prime", "--agent", "codex", stdin=paints, **patient)
        person("prime", "--agent", "codex", stdin="{}", **patient)
        process = person("status", "--json").data["hooks"]["process"]
        assert process["agents"] == {"codex": {"nothing": 1, "nameless": 1}}
        assert "codex 2 asked since" in person("status").out
    assert person("status", "--json").data["hooks"]["process"] is None
    (person.home / "spool" / "failures").write_text(
        f"{time.time():.0f} codex Stop Late\n1000000000 codex Stop Late\n"
        f"{time.time():.0f} codex SessionStart OSError\n{time.time():.0f} nobody\nrubbish\n"
    )
    wanted |= {
        ("codex", "prompt"): {**none, "silent": 1},
        ("codex", "end of turn"): {**none, "late": 1},
        ("codex", "other"): {**none, "failed": 1},
    }
    assert counted() == wanted
    assert person("night").code == 0
    assert counted() == wanted, "it is folded"
    lines = person("status").out
    assert "claude-code 1 told, 1 held out; codex 1 silent, 1 late, 1 failed" in lines


def test_status_tells_of_hooks_that_got_no_answer(person: Everest) -> None:
    assert person("status", "--json").data["hook_failures"]["count"] == 0
    folder = person.home / "spool"
    folder.mkdir(exist_ok=True)
    (folder / "failures").write_text("1000000000 codex Stop Late\nrubbish\n")
    assert "none in 7 days" in person("status").out  # it is years ago
    with running_proxy(person, EVEREST_HOOK_BUDGET="0.000001"):
        assert person("prime", stdin=told("s6", prompt=ASKS)).out == ""
    found = person("status", "--json").data["hook_failures"]
    assert (found["count"], found["last"]) == (1, "claude-code UserPromptSubmit late")
    assert "1 in 7 days" in person("status").out


def test_a_dry_run_of_no_input_says_so(reader: Everest) -> None:
    done = reader("prime", "--dry-run")
    assert (done.code, "no JSON on standard input" in done.err) == (2, True), done.err
    assert reader("prime").code == 0, "a hook is never in the way"


def test_a_dry_run_where_nothing_was_learned_says_so(newcomer: Everest) -> None:
    asks = json.dumps({"session_id": "s", "cwd": str(newcomer.cwd), "prompt": ASKS})
    done = newcomer("prime", "--dry-run", stdin=asks)
    assert (done.code, "nothing to choose from" in done.out) == (0, True), done.out + done.err
