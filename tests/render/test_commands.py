"""Commands that a person copies: read by a shell and by Markdown as what they were made of."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.render.commands import code_span, shell_word

TEXTS = st.text(alphabet=st.sampled_from("ab '\"$`\\!;&|*~#<>(){}\n€"), max_size=40)


def test_an_apostrophe_stays_readable() -> None:
    assert shell_word("Don't amend commits.") == '"Don\'t amend commits."'


@pytest.mark.parametrize("text", ["Don't $(rm x).", "don't `ls`", "don't!", 'don\'t say "x"'])
def test_what_double_quotes_do_not_guard_is_quoted_singly(text: str) -> None:
    assert shell_word(text) == shlex.quote(text)


@given(TEXTS)
def test_a_word_is_read_as_its_text(text: str) -> None:
    assert shlex.split(f"x {shell_word(text)} y") == ["x", text, "y"]


@pytest.mark.parametrize(
    "text", ["Don't", "it's $HOME", "a `b` 'c'", 'say "it\'s"', "100% isn't all; & ~ * # x"]
)
def test_a_real_shell_reads_it_so(text: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"printf %s {shell_word(text)}"], capture_output=True, check=True, text=True
    )
    assert done.stdout == text


def test_a_plain_command_stands_in_single_backticks() -> None:
    assert code_span("everest lessons") == "`everest lessons`"


@given(TEXTS.filter(bool))
def test_no_command_ends_its_own_span(command: str) -> None:
    span = code_span(command)
    mark = re.match("`+", span)
    assert mark is not None
    inside = span[mark.end() : -mark.end()]
    assert mark.group() not in re.findall("`+", inside)
    assert inside in {command, f" {command} "}
