"""What our hooks put into a conversation is nobody's words when its transcript is read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tasks.domain.markers import FENCE_CLOSE, FENCE_OPEN
from tests.evidence.writing import Transcript, agent_turns, spoken

RULE = "Always paint the mast green."
TOLD = f"{FENCE_OPEN}\nSaid here before:\n- 2026-03-01, lesson: “{RULE}” [a1]\n{FENCE_CLOSE}"


def _context(event: str) -> Callable[[Transcript], object]:
    """Return what Claude Code writes down of a hook's context."""
    given = {"hookName": event, "hookEvent": event, "toolUseID": "t1"}

    def write(transcript: Transcript) -> None:
        printed = {"type": "hook_success", "stdout": TOLD, "content": TOLD, **given}
        transcript.record("attachment", attachment=printed)
        read = f"<system-reminder>\n{event} hook additional context: {TOLD}\n</system-reminder>"
        transcript.record(
            "attachment",
            attachment={"type": "hook_additional_context", "content": [TOLD], **given},
            rendered=[{"content": read}],
        )

    return write


def _summary(transcript: Transcript) -> None:
    transcript.record("system", subtype="stop_hook_summary", hookAdditionalContext=[TOLD])


FORMS: dict[str, Callable[[Transcript], object]] = {
    **{
        event: _context(event)
        for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    },
    "the summary of a stop": _summary,
    "the feedback of a stop": lambda t: t.user(f"Stop hook feedback:\n{TOLD}", isMeta=True),
    "feedback that is not marked": lambda t: t.user(f"Stop hook feedback:\n{TOLD}"),
    "a reminder": lambda t: t.user(f"<system-reminder>\n{TOLD}\n</system-reminder>"),
    "Codex' prompt of a hook": lambda t: t.user(
        f'<hook_prompt hook_run_id="1">{TOLD}</hook_prompt>'
    ),
    "Gemini's context of a hook": lambda t: t.user(
        f"<hook_context>{TOLD.replace('<', '&lt;').replace('>', '&gt;')}</hook_context>"
    ),
    "the fence alone": lambda t: t.user(TOLD),
    "a result": lambda t: (t.calls("c1", command="ls"), t.result("c1", TOLD)),
}


@pytest.mark.parametrize("form", FORMS)
def test_our_own_text_is_nobodys_words(transcript: Transcript, form: str) -> None:
    transcript.user("Build the boat.")
    FORMS[form](transcript)
    transcript.says("It is built.")
    session = transcript.read()
    assert [turn.text for turn in spoken(session)] == ["Build the boat."]
    assert RULE not in "".join(turn.text for turn in agent_turns(session))


@pytest.mark.parametrize(
    "around", ["{0}", "{1}\n\n{0}", "{0}\n<system-reminder>{1}</system-reminder>"]
)
def test_the_same_words_typed_by_the_person_are_theirs(transcript: Transcript, around: str) -> None:
    transcript.user(around.format(RULE, TOLD))
    transcript.says("Yes.")
    assert [turn.text for turn in spoken(transcript.read())] == [RULE]
