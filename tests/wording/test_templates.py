from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.markers import GAP
from tasks.wording import Unfit, filled, frames
from tasks.wording.spans import Rule, content_words


def _text(frame: object, spans: object, said: str) -> str:
    made = filled(frame, spans, said)
    return made.text if isinstance(made, Rule) else f"({made.reason})"


@pytest.mark.parametrize(
    ("frame", "spans", "said", "text"),
    [
        ("do", {"what": "use pnpm"}, "No, use pnpm. I told you that yesterday.", "Use pnpm."),
        (
            "do",
            {"what": "tests live in the container"},
            "that's the wrong place. tests live in the container. ok?",
            "Tests live in the container.",
        ),
        (
            "instead",
            {"good": "pnpm", "bad": "npm"},
            "Use pnpm, not npm.",
            "Use pnpm instead of npm.",
        ),
        (
            "instead",
            {"good": "the test container", "bad": "mocks"},
            "I told you already to use the test container instead of mocks.",
            "Use the test container instead of mocks.",
        ),
        (
            "when",
            {"when": "you touch the schema", "what": "run the migration check"},
            "Look. Run the migration check if you touch the schema, please.",
            "When you touch the schema, run the migration check.",
        ),
        (
            "before",
            {"when": "you commit", "what": "run the linter"},
            "Run the linter before you commit, I said that twice.",
            "Before you commit, run the linter.",
        ),
        (
            "because",
            {"what": "keep secrets in the vault", "why": "env files get committed"},
            "That hurt us. Keep secrets in the vault, env files get committed.",
            "Keep secrets in the vault: env files get committed.",
        ),
        (
            "never",
            {"what": "rewrite the history"},
            "Hm, my work is gone. Don't rewrite the history.",
            "Never rewrite the history.",
        ),
    ],
)
def test_a_frame_takes_the_persons_words(
    frame: str, spans: dict[str, str], said: str, text: str
) -> None:
    assert _text(frame, spans, said) == text


@pytest.mark.parametrize(
    ("frame", "spans", "said", "reason"),
    [
        ("nope", {}, "use pnpm", "no frame of ours"),
        (["do"], {}, "use pnpm", "no frame of ours"),
        ("do", None, "use pnpm", "other slots"),
        ("do", {"what": "use pnpm", "why": "x"}, "use pnpm", "other slots"),
        ("do", {"what": 7}, "use pnpm", "did not type"),
        ("do", {"what": ""}, "use pnpm", "did not type"),
        ("do", {"what": "use yarn"}, "No, use pnpm here always.", "did not type"),
        ("do", {"what": "use pnp"}, "No, use pnpm here always.", "did not type"),
        ("do", {"what": "run it"}, "run it, then run it again", "did not type"),
        ("because", {"what": "use pnpm", "why": "pnpm"}, "please use pnpm", "did not type"),
        ("do", {"what": "use npm in builds"}, "Don't use npm in builds.", "reverse"),
        ("do", {"what": "deploy"}, "Do not deploy on Fridays.", "reverse"),
        ("never", {"what": "use pnpm"}, "I want you to use pnpm.", "reverse"),
        ("instead", {"good": "npm", "bad": "pnpm"}, "Use pnpm, not npm.", "reverse"),
        ("do", {"what": "run the linter"}, "Run the linter before you commit.", "condition"),
        ("do", {"what": "push to main"}, "Push to main only when CI is green.", "condition"),
        ("do", {"what": "use tabs"}, "Use tabs in Go and spaces in Python.", "dropped"),
        ("do", {"what": "skip the slow tests"}, "Skip the slow tests this time.", "moment"),
        ("do", {"what": "close the ticket"}, "Close the ticket, that is ABC-123.", "moment"),
        ("do", {"what": "use the lamp"}, f"use the lamp {GAP} at night", "moment"),
        ("do", {"what": "use pnpm. Commit"}, "Use pnpm. Commit often.", "end of a sentence"),
        ("do", {"what": "it is like that"}, "Well. it is like that", "stand by itself"),
    ],
)
def test_what_the_person_did_not_say_so_is_refused_with_a_reason(
    frame: object, spans: object, said: str, reason: str
) -> None:
    made = filled(frame, spans, said)
    assert isinstance(made, Unfit), made
    assert reason in made.reason


_SAID = (
    "No, wrong again. Don't mock the clock in unit tests, use the fake clock. "
    "Run make lamp before you push unless CI is down. Prices are integers of cents everywhere."
)
_PIECES = st.sampled_from(re.split(r"(?<=[.,])\s", _SAID)) | st.sampled_from(_SAID.split())
_SPANS = st.one_of(
    _PIECES,
    st.text(max_size=30),
    st.integers(0, len(_SAID)).flatmap(
        lambda a: st.integers(a, len(_SAID)).map(lambda b: _SAID[a:b])
    ),
)


@given(
    frame=st.sampled_from(list(frames())),
    spans=st.dictionaries(
        st.sampled_from(["what", "when", "why", "good", "bad"]), _SPANS, max_size=3
    ),
)
def test_no_answer_gets_a_foreign_word_into_a_rule(frame: str, spans: dict[str, str]) -> None:
    made = filled(frame, spans, _SAID)
    if isinstance(made, Rule):
        ours = set(content_words(re.sub(r"\{\w+\}", " ", frames()[frame]["text"])))
        assert set(content_words(made.text)) <= ours | set(content_words(_SAID))
