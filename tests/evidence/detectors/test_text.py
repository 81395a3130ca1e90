from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.markers import GAP
from tasks.evidence.detectors import Exchange, read
from tasks.evidence.detectors.text import clauses, gapped, own_words
from tests.evidence.detectors.build import said


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("no, use tabs\n```py\nraise Wrong('not this')\n```\nplease", "no, use tabs\n\nplease"),
        ("do the following plan:\n1. never skip\n2. always run", "do the"),
        ("see below\n> that is wrong, instead do this", "see below"),
        ("<ide_selection>never do this</ide_selection> shorten it", "shorten it"),
        ("it broke\n2026-01-02T10:00:00 still failing here", "it broke"),
        ("it broke\n    at run (app.js:3:1)\nTypeError: x is not a function", "it broke"),
        ("[Pasted text #1 +40 lines] is this wrong?", "is this wrong?"),
        ("you wrote: never do that\nwhat do you mean?", "what do you mean?"),
    ],
)
def test_what_was_pasted_is_left_out(message: str, typed: str) -> None:
    assert own_words(message) == typed


@pytest.mark.parametrize(
    "message",
    [
        "ok can you move the notes to docs/notes.md (the short ones)?",
        "* add a readme\n* does it test the output?",
        "rename <the strategy> to plain words",
        'the "ready" label is wrong, call it "done"',
    ],
)
def test_what_was_typed_stays_as_it_is(message: str) -> None:
    assert own_words(message) == message


@pytest.mark.parametrize(
    ("message", "marked"),
    [
        ("always use <Card size='x'>y</Card> in the docs.", f"always use  {GAP} in the docs."),
        ("always start with the header ```x```", f"always start with the header  {GAP}"),
    ],
)
def test_a_gap_shows_where_something_was_cut_out_of_a_span(message: str, marked: str) -> None:
    assert gapped(own_words(message), message) == marked


@pytest.mark.parametrize(
    "message",
    [
        "[Image #1] always use tabs",
        "always use tabs. [Image #1]",
        "always use tabs\n```py\nx = 1\n```",
        "always use tabs",
        "",
    ],
)
def test_what_is_cut_out_beside_a_span_leaves_no_gap(message: str) -> None:
    assert gapped(own_words(message), message) == own_words(message)


@given(st.text(alphabet=st.sampled_from("<>`/ab .\n[]#"), max_size=120))
def test_without_its_gaps_a_span_is_what_was_typed(text: str) -> None:
    words = own_words(text)
    assert gapped(words, text).replace(GAP, " ").split() == words.split()


def test_a_long_impersonal_finding_is_pasted_and_a_long_personal_wish_is_not() -> None:
    finding = "The function `load` in src/load.py:31 should not swallow the error. " * 6
    wish = "I would like the loader to tell me when a file is empty, and I want to see it. " * 6
    assert own_words(f"please fix\n\n{finding}") == "please fix"
    assert own_words(wish) == wish.strip()


def test_clauses_split_where_the_thought_turns() -> None:
    assert clauses("Yes, do it. Looks good, but please keep it short - thanks") == (
        "Yes, do it.",
        "Looks good",
        "but please keep it short",
        "thanks",
    )


def test_a_file_name_does_not_end_a_clause() -> None:
    assert clauses("put it in app.config.js e.g. at the top") == (
        "put it in app.config.js e.g. at the top",
    )


@pytest.mark.parametrize(
    "unit", ["<a>", "i see ", "no, ", "```", "you wrote: ", '"a ', "- ", "\n\n"]
)
def test_a_million_characters_of_anything_are_read_at_once(unit: str) -> None:
    """Only the head and the tail of so long a message can have been typed."""
    flood = said(unit * (1_000_000 // len(unit)))
    start = time.perf_counter()
    read(Exchange(flood))
    assert time.perf_counter() - start < 5


@given(st.text(max_size=400))
def test_every_clause_stands_verbatim_in_the_words(text: str) -> None:
    words = own_words(text)
    assert all(clause in words for clause in clauses(words))


@given(st.text(alphabet=st.sampled_from("<>`~\"“”'\n ab|/{}()[]#*-:;.?!"), max_size=300))
def test_no_arrangement_of_marks_breaks_the_reading(text: str) -> None:
    assert len(own_words(text)) <= len(text)
