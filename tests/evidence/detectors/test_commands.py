from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.session import ToolCall
from tasks.evidence.detectors.commands import _words, command_of, ways_of


def _by_shlex(step: str) -> list[str]:
    try:
        return shlex.split(step)
    except ValueError:
        return step.split()


@given(st.text("ab-=# \t\n'\"\\\x0bé", max_size=16))
def test_a_step_is_parted_into_words_as_a_shell_does(step: str) -> None:
    assert _words(step) == _by_shlex(step)


def test_a_quoted_word_is_one_and_an_operator_in_it_ends_no_step() -> None:
    call = ToolCall("c", "Bash", "git commit -m 'a && b' && \"go\" te'st' ./...")
    assert command_of(call) == "git"
    assert ways_of(call) == ("git commit", "go test")
