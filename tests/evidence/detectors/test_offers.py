from __future__ import annotations

import pytest

from tasks.domain.session import ResultState
from tasks.evidence.detectors import Answer, OfferKind, detect, offered
from tests.evidence.detectors.build import call, refused, reply, said, session


@pytest.mark.parametrize(
    ("closing", "kind"),
    [
        ("All green.\n\nWant me to commit this?", OfferKind.COMMIT),
        ("Committed. Shall I push it and open a PR?", OfferKind.PUSH),
        ("Should I run the slow suite as well?", OfferKind.RUN),
        ("Want me to implement it?", OfferKind.EDIT),
        ("Should I delete the old folder?", OfferKind.DELETE),
        ("Does this plan look right?", OfferKind.PLAN),
        ("Which of the two colours?", OfferKind.QUESTION),
        ("Let me know how you like it.", OfferKind.OTHER),
    ],
)
def test_the_end_of_a_reply_tells_what_it_offers(closing: str, kind: OfferKind) -> None:
    assert offered(reply(f"Here is what I did.\n\n{closing}")) is kind


def test_a_reply_that_only_reports_does_not_wait() -> None:
    asked_early = "Is it sorted? Yes.\n\nOne.\n\nTwo.\n\nThree.\n\nThe list is sorted by date."
    assert offered(reply(asked_early)) is None


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("yes", Answer.APPROVED),
        ("go ahead and push it", Answer.APPROVED),
        ("no", Answer.DECLINED),
        ("no, that's wrong, use the other branch instead", Answer.CORRECTED),
        ("what is in the commit?", Answer.OTHER),
    ],
)
def test_how_the_person_answered(words: str, answer: Answer) -> None:
    asks = reply("Want me to commit this?")
    (found,) = detect(session(said("hi"), asks, said(words, uuid="p2"))).offers
    assert found.answer is answer
    assert found.answered_by == "p2"


def test_a_refused_call_is_an_offer_that_was_declined_or_corrected() -> None:
    stopped = call("ExitPlanMode", state=ResultState.REFUSED)
    turns = (said("hi"), reply("My plan.", stopped), refused("wait, let's discuss", stopped))
    (found,) = detect(session(*turns)).offers
    assert (found.kind, found.answer) == (OfferKind.PLAN, Answer.DECLINED)


def test_waits_counts_the_replies_that_waited() -> None:
    turns = (said("a"), reply("Shall I?"), said("yes"), reply("Done."), said("b"), reply("Ok?"))
    assert detect(session(*turns)).waits == 2
