"""Hooks by hand: what an agent would print, why, and never an exit code that stops an agent."""

from __future__ import annotations

import json
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
