from __future__ import annotations

import pytest

from tasks.domain.session import ResultState
from tasks.evidence.detectors import Exchange, detect, read
from tests.evidence.detectors.build import call, refused, reply, said, session

DONE = reply("Done. The export is finished and all tests pass.")


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("no, never push to main", "never push to main"),
        ("don't amend commits, it breaks the links", "don't amend commits"),
        ("no. always run the linter before you commit", "always run the linter before you commit"),
        ("why aren't you using subagents for the tests?", "subagents"),
        ("that's wrong. from now on put every change on a branch", "from now on"),
        ("no, we never use mocks in our tests", "we never use mocks"),
        ("Don't force-push, ever. Others work on these branches.", "Don't force-push, ever"),
        ("No, drop it. We don't keep dead code.", "We don't keep dead code"),
        ("bun, not npm", "bun, not npm"),
        ("why aren't we using property tests here? we always do", "we always do"),
    ],
)
def test_these_corrections_outlast_the_task(words: str, rule: str) -> None:
    reading = read(Exchange(said(words), DONE))
    assert reading.correction
    assert rule in reading.rule
    assert reading.rule in words


@pytest.mark.parametrize(
    "words",
    [
        "the commit test still fails, don't run the tests again",
        "it doesn't work, the branch is broken and never builds",
        "I get an error whenever the tests run",
        "no, rename this function to load",
        "why is the button green?",
        "no, not PR 12, the other one",
        "no, for auto commit we only need the push hook, or?",
        "why would you repeat that if the migration always runs?",
        "you can always push the branch for me, not the tag",
        "no, maybe we should never cache the tests",
        "but make sure to note the cache problem in the docs, for the tests",
        "no. No matching commits found on the branch",
        "no, we don't diff it, we only read it",
        "no, keep the message and make sure the tests are separate",
        "for every test in load_test.go i'd like to see literal values",
        "general purpose for future sessions in this repo",
        "all tests should pass now, no?",
    ],
)
def test_a_failure_report_or_a_word_on_this_case_is_never_lasting(words: str) -> None:
    assert read(Exchange(said(words), DONE)).rule == ""


@pytest.mark.parametrize(
    "words",
    [
        "ok, add the two cases, and always write the tests table driven",
        "yes please. don't forget to branch off main from now on",
        "make sure to squash the commits every time",
        "we don't mock in this codebase",
        "in this project all dates are UTC",
        "every new endpoint needs an integration test",
        "commit messages should be in imperative mood",
        "please keep functions under 30 lines",
        "use British spelling in all docs",
        "for UI changes always attach a screenshot",
        "I always want a plan before you write code",
        "Going forward, put new endpoints under api/v2",
    ],
)
def test_a_lasting_rule_without_a_correction_is_standing(words: str) -> None:
    found = detect(session(said("hello"), DONE, said(words, uuid="p2"))).corrections
    assert [(one.lasting, one.standing) for one in found] == [(True, True)]


def test_the_rule_leaves_an_aside_and_what_stands_before_it_out() -> None:
    words = "add both cases, use table driven tests where possible (the old ones too)"
    assert read(Exchange(said(words), DONE)).rule == "use table driven tests where possible"


def test_the_rule_keeps_what_its_pronoun_stands_for() -> None:
    words = "the schema folder is generated, never edit it by hand"
    assert read(Exchange(said(words), DONE)).rule == words
    assert read(Exchange(said(f"ok, never edit schemas, {words}"), DONE)).rule.startswith("never")


def test_the_rule_keeps_the_condition_before_it() -> None:
    words = "before you open a pr, don't forget to squash the commits"
    assert read(Exchange(said(words), DONE)).rule == words


def test_a_rule_that_the_agent_writes_into_its_memory_counts_for_more() -> None:
    words = said("prefer the short names")
    kept = reply("Noted.", call("Write", "/home/x/.claude/projects/p/memory/names.md"))
    elsewhere = reply("Noted.", call("Write", "/code/shop/names.md"))
    assert read(Exchange(words, reply("Here."), kept)).rule == "prefer the short names"
    assert read(Exchange(words, reply("Here."), elsewhere)).rule == ""


def test_a_refused_call_is_found_with_and_without_its_reason() -> None:
    silent = call("Bash", "rm -r out", state=ResultState.REFUSED, ident="t1")
    told = call("Edit", "/a.py", state=ResultState.REFUSED, ident="t2")
    reason = refused("never edit generated files", told, uuid="p2")
    found = detect(session(said("go"), reply("", silent, told), reason))
    assert [(one.call.id, one.reason) for one in found.refusals] == [
        ("t1", ""),
        ("t2", "never edit generated files"),
    ]
    assert [one.rule for one in found.corrections] == ["never edit generated files"]


def test_weak_words_alone_make_no_rule_and_a_strong_one_beside_them_does() -> None:
    weak = "no, make sure our tests and docs are simple"
    assert read(Exchange(said(weak), DONE)).rule == ""
    assert read(Exchange(said(f"{weak} whenever you commit"), DONE)).rule


def test_a_train_of_thought_is_no_rule_though_a_short_one_is() -> None:
    rule = "no, never push to main"
    assert read(Exchange(said(rule), DONE)).rule
    thought = f"{rule} while the release of the spring edition is being prepared by the others " * 3
    assert read(Exchange(said(thought), DONE)).rule == ""
