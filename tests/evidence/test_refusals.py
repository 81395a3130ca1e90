from __future__ import annotations

from typing import Any

import orjson
import pytest

from tasks.domain.session import Channel, ResultState
from tasks.evidence.records import message_of, parsed
from tasks.evidence.refusals import Verdict, verdict
from tests.evidence.writing import REFUSED, Transcript, agent_turns, spoken

STOP = "STOP what you are doing and wait for the user to tell you how to proceed."
NOTE = "\n\nNote: The user's next message may contain a correction or preference. Pay attention."
SAID = "To tell you how to proceed, the user said:\n"
FAILED = {"is_error": True}


def judged(text: str, block: dict[str, Any], record: dict[str, Any]) -> Verdict:
    """Return the verdict on a result block with `text`, in a record with further fields."""
    result = {"type": "tool_result", "tool_use_id": "c1", "content": text, **block}
    line = orjson.dumps({"type": "user", "message": {"content": [result]}, **record})
    found = parsed(line)
    assert found is not None
    (one,) = message_of(found).blocks()
    return verdict(one, found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (REFUSED + STOP, ""),
        (REFUSED + STOP + NOTE, ""),
        (REFUSED + SAID + "use pnpm", "use pnpm"),
        (REFUSED + SAID + "use pnpm\n\nand yarn" + NOTE, "use pnpm\n\nand yarn"),
        ("The user doesn't want to take this action right now. " + STOP, ""),
        ("User rejected tool use", ""),
    ],
)
def test_a_refusal_is_known_in_each_form_and_gives_the_reason_alone(text: str, words: str) -> None:
    assert judged(text, FAILED, {}) == Verdict(ResultState.REFUSED, words=words)


def test_a_wish_to_clarify_is_the_hosts_sentence_and_a_given_answer_the_persons() -> None:
    asked = REFUSED + SAID + "The user wants to clarify these questions.\n    This means …\n"
    none = asked + '- "Which?"\n  (No answer provided)'
    given = asked + '- "Which?"\n  Answer: neither of these'
    assert judged(none, FAILED, {}) == Verdict(ResultState.REFUSED, channel=Channel.ANSWER)
    assert judged(given, FAILED, {}).words == "neither of these"


@pytest.mark.parametrize(
    ("text", "record", "state", "kept"),
    [
        ("Exit code 1\nno such file", {}, ResultState.ERROR, "Exit code 1\nno such file"),
        ("MCP error -32602: bad", {}, ResultState.ERROR, "MCP error -32602: bad"),
        (
            "<tool_use_error>File has not been read yet.</tool_use_error>",
            {},
            ResultState.HARNESS,
            "File has not been read yet.",
        ),
        (
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            {},
            ResultState.CANCELLED,
            "Sibling tool call errored",
        ),
        (
            "[Request interrupted by user for tool use]",
            {},
            ResultState.CANCELLED,
            "[Request interrupted by user for tool use]",
        ),
        (
            "PreToolUse:Bash hook error: [guard]: no rm",
            {},
            ResultState.DENIED,
            "PreToolUse:Bash hook error: [guard]: no rm",
        ),
        (
            "Permission to use Bash with command rm has been denied.",
            {},
            ResultState.DENIED,
            "Permission to use Bash with command rm has been denied.",
        ),
        ("any words", {"toolDenialKind": "permission-rule"}, ResultState.DENIED, "any words"),
        ("any words", {"toolDenialKind": "automode-unavailable"}, ResultState.DENIED, "any words"),
        ("any words", {"toolDenialKind": "user-rejected"}, ResultState.REFUSED, ""),
        ("bad<system-reminder>x</system-reminder>", {}, ResultState.ERROR, "bad"),
    ],
)
def test_how_a_failed_call_ended(
    text: str, record: dict[str, Any], state: ResultState, kept: str
) -> None:
    assert judged(text, FAILED, record) == Verdict(state, kept)


@pytest.mark.parametrize("block", [{}, {"is_error": False}, {"is_error": None}])
def test_only_a_true_error_flag_is_an_error(block: dict[str, Any]) -> None:
    assert judged("Exit code 1", block, {}) == Verdict(ResultState.OK)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"q": "Yes"}, ""),
        ({"q": "Yes, No way"}, ""),
        ({"q": "Yes, but only here"}, "Yes, but only here"),
        ({"q": "neither", "p": "Yes"}, "neither"),
    ],
)
def test_of_a_form_only_typed_answers_are_words(answers: dict[str, str], words: str) -> None:
    options = [{"label": "Yes"}, {"label": "No way"}]
    outcome = {"questions": [{"question": "q", "options": options}], "answers": answers}
    found = judged("answered", {}, {"toolUseResult": outcome})
    assert (found.state, found.words, found.channel) == (ResultState.OK, words, Channel.ANSWER)


def test_a_note_beside_a_picked_answer_is_words() -> None:
    outcome = {
        "questions": [{"options": [{"label": "Yes"}]}],
        "answers": {"q": "Yes"},
        "annotations": {"q": {"notes": "only on Linux"}},
    }
    assert judged("x", {}, {"toolUseResult": outcome}).words == "only on Linux"


# In a transcript


def test_a_typed_reason_is_the_persons_turn_and_names_the_call(transcript: Transcript) -> None:
    transcript.user("deploy")
    transcript.calls("c1", command="npm publish")
    held = transcript.result("c1", REFUSED + SAID + "use pnpm" + NOTE, is_error=True)
    transcript.says("ok")
    session = transcript.read()
    turn = spoken(session)[1]
    assert (turn.uuid, turn.text, turn.channel) == (held["uuid"], "use pnpm", Channel.REFUSAL)
    assert turn.refused is not None
    assert (turn.refused.id, turn.refused.line) == ("c1", "npm publish")
    assert agent_turns(session)[0].calls[0].result == turn.refused.result
    assert session.refusals_without_reason == 0


def test_a_refusal_without_reason_is_only_a_count(transcript: Transcript) -> None:
    transcript.user("deploy")
    transcript.calls("c1", command="npm publish")
    transcript.result("c1", REFUSED + STOP, is_error=True)
    transcript.user("[Request interrupted by user for tool use]")
    transcript.user("use pnpm instead")
    session = transcript.read()
    assert (session.refusals_without_reason, session.interrupts) == (1, 1)
    assert [(turn.text, turn.after_interrupt) for turn in spoken(session)] == [
        ("deploy", False),
        ("use pnpm instead", True),
    ]


def test_an_interrupt_marks_the_next_turn_and_no_other(transcript: Transcript) -> None:
    transcript.user("one")
    transcript.says("working")
    transcript.user([{"type": "text", "text": "[Request interrupted by user]"}])
    transcript.user("two")
    transcript.user("three")
    marks = [turn.after_interrupt for turn in spoken(transcript.read())]
    assert marks == [False, True, False]


def test_words_beside_a_result_are_a_turn_typed_meanwhile(transcript: Transcript) -> None:
    transcript.user("one")
    transcript.calls("c1", command="ls")
    transcript.result("c1", "ok", text="also run the tests<system-reminder>x</system-reminder>")
    turn = spoken(transcript.read())[1]
    assert (turn.text, turn.channel) == ("also run the tests", Channel.QUEUED)


def test_a_picture_alone_is_no_turn_and_words_with_it_are(transcript: Transcript) -> None:
    transcript.user("one")
    transcript.user([{"type": "image", "source": {}}])
    transcript.user([{"type": "image", "source": {}}, {"type": "text", "text": "too wide"}])
    assert [turn.text for turn in spoken(transcript.read())] == ["one", "too wide"]


def test_arguments_of_a_built_in_recorded_by_the_system_are_words(transcript: Transcript) -> None:
    transcript.user("one")
    args = "<command-name>/rename</command-name><command-args>the shop</command-args>"
    transcript.record("system", subtype="local_command", content=args)
    transcript.record("system", subtype="local_command", content="<local-command-stdout>x")
    turn = spoken(transcript.read())[1]
    assert (turn.text, turn.channel) == ("the shop", Channel.COMMAND)
