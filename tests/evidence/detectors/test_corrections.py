from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.domain.session import Channel
from tasks.evidence.detectors import Exchange, detect, read
from tests.evidence.detectors.build import call, refused, reply, said, session

DONE = reply("Done. The export is finished and all tests pass.")
ASKS = reply("I can add the index now. Shall I go on?")


@pytest.mark.parametrize(
    "words",
    [
        "no, it isn't on the server yet",
        "why did you put that into the header?",
        "can't we read the list from a file?",
        "shouldn't this be sorted by date?",
        "that's not what I asked for",
        "I said metric units, not imperial",
        "instead of a modal we should use the side panel",
        "the upload still fails with the same error",
        "it doesn't work on my phone",
        "you forgot the second table",
        "are we able to not rebuild everything each time?",
        "yes, but don't touch the layout",
        "this is way too verbose, rather keep the old wording",
    ],
)
def test_these_correct(words: str) -> None:
    assert read(Exchange(said(words), DONE)).correction


@pytest.mark.parametrize(
    "words",
    [
        "yes",
        "go ahead",
        "looks good, commit it",
        "now add a test for the parser",
        "what does the cache do?",
        "where is the config read?",
        "thanks, let's continue with the next one",
        "no problem, take your time",
        "the reviewer left a comment on the loader, please address it",
    ],
)
def test_these_do_not_correct(words: str) -> None:
    assert not read(Exchange(said(words), DONE)).correction


def test_the_first_message_of_a_session_is_never_a_correction() -> None:
    first = said("no, that's wrong, don't do that", uuid="p1")
    again = said("no, that's wrong, don't do that", uuid="p2")
    found = detect(session(first, DONE, again)).corrections
    assert [one.turn.uuid for one in found] == ["p2"]


def test_pasted_findings_are_not_the_person_correcting() -> None:
    pasted = "please look at these\n```\nThis is wrong. Don't do that, it still fails.\n```"
    typed = "please look at these\nThis is wrong. Don't do that, it still fails."
    assert not read(Exchange(said(pasted), DONE)).correction
    assert read(Exchange(said(typed), DONE)).correction


def test_a_no_to_anything_else_is_a_go_ahead() -> None:
    more = reply("The plan has three steps. Anything else before I write it up?")
    assert not read(Exchange(said("no, write it up"), more)).correction
    assert read(Exchange(said("no, write it up"), DONE)).correction


def test_the_reason_of_a_refusal_weighs_more_than_the_same_words_in_a_prompt() -> None:
    stopped = call("Bash", "npm run e2e")
    words = "the small suite will do"
    assert read(Exchange(refused(words, stopped), ASKS)).correction
    assert not read(Exchange(said(words), ASKS)).correction


def test_stopping_without_saying_what_is_wrong_is_no_correction() -> None:
    stopped = call("Edit", "/a/b.py")
    assert not read(Exchange(refused("wait, let's discuss", stopped), ASKS)).correction


def test_a_concession_in_the_next_reply_speaks_for_a_correction() -> None:
    doubtful = said("the third argument is the path, I believe")
    conceded, moved_on = reply("You're right, fixed."), reply("Moving on to the docs.")
    assert (
        read(Exchange(doubtful, DONE, conceded)).score
        > read(Exchange(doubtful, DONE, moved_on)).score
    )


def test_the_words_after_a_slash_command_and_in_a_form_weigh_less() -> None:
    plain = said("why is it green?")
    command = replace(plain, channel=Channel.COMMAND)
    form = replace(plain, channel=Channel.ANSWER)
    assert read(Exchange(command)).score < read(Exchange(plain)).score
    assert read(Exchange(form)).score < read(Exchange(plain)).score
