from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.markers import GAP
from tasks.domain.scope import Scope
from tasks.domain.units import Episode, EpisodeKind, Grounding, Strength
from tasks.wording import Held, Unworded, Worded, open_question, word
from tasks.wording.lessons import QUOTE_ROOM, TEXT_ROOM

OURS = {"about", "the", "person", "said", "asked", "do", "not", "use", "don", "t"}
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def episode(kind: EpisodeKind = EpisodeKind.CORRECTION, **given: object) -> Episode:
    made = Episode(
        id="e1",
        scope=Scope("me", "user", "default", "shop"),
        agent="claude_code",
        session_id="s1",
        kind=kind,
        anchor="u1",
        title="",
        gist="",
        words="",
        at=NOW,
        recorded_at=NOW,
        grounding=Grounding.PERSON,
        strength=Strength(1.0, NOW),
    )
    return replace(made, **given)  # type: ignore[arg-type]  # fields by name


def worded(rule: str, **given: object) -> str:
    made = word(EpisodeKind.CORRECTION, [episode(words=rule, rule=rule, **given)])
    return made.text if isinstance(made, Worded) else ""


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("no, please don't amend commits", "Don't amend commits."),
        ("dont touch the generated files", "Don't touch the generated files."),
        ("ok so always squash before merging!", "Always squash before merging."),
        ("let's cut a branch first", "Cut a branch first."),
        ("let's not rebuild the whole image", "Do not rebuild the whole image."),
        ("can we stick to the review workflow?", "Stick to the review workflow."),
        ("are we able to not leave testing to the end?", "Do not leave testing to the end."),
        ("why aren't we using the shared parser?", "Use the shared parser."),
        ("I told you to use metric units", "Use metric units."),
        ("before you commit, run the linter", "Before you commit, run the linter."),
        ("we should write the docs in British English", "Write the docs in British English."),
        (
            "I told you before: don't mock the clock in tests, use the fake one",
            "Don't mock the clock in tests; use the fake one.",
        ),
        (
            "From now on run the suite with nox, the system Python has no packages.",
            "Run the suite with nox: the system Python has no packages.",
        ),
        ("From now on always name the unit", "Always name the unit."),
        ("as I said yesterday, keep the changelog short", "Keep the changelog short."),
        ("please make sure to squash the commits", "Squash the commits."),
        ("you keep forgetting to update the changelog", "Update the changelog."),
        ("always answer in English, my colleagues read this too", "Always answer in English."),
        (
            "stop adding comments everywhere, the code should speak for itself",
            "Stop adding comments everywhere: the code should speak for itself.",
        ),
        ("before a release, dont forget to tag main", "Before a release, tag main."),
    ],
)
def test_an_order_whose_grammar_is_sure_becomes_an_imperative(rule: str, text: str) -> None:
    assert worded(rule) == text


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            "internal changes are never breaking changes",
            "Internal changes are never breaking changes.",
        ),
        (
            "folder names are lower-case here, always: order-export",
            "Folder names are lower-case here, always: order-export.",
        ),
        (
            "I said that the other day: we always use bun in this repo",
            "We always use bun in this repo.",
        ),
        ("no emojis in commit messages please", "No emojis in commit messages."),
        ("All public functions need docstrings", "All public functions need docstrings."),
        (
            "the schema folder is generated, don't edit it by hand",
            "The schema folder is generated, don't edit it by hand.",
        ),
        (
            "I always want a plan before you write code",
            'The person said: "I always want a plan before you write code"',
        ),
        (
            "for manual releases we use the signing hook",
            "For manual releases we use the signing hook.",
        ),
    ],
)
def test_a_plain_statement_stands_with_a_frame_only_for_one_persons_wish(
    rule: str, text: str
) -> None:
    assert worded(rule) == text


@pytest.mark.parametrize(
    "rule",
    [
        f"always use {GAP} in the reports",
        f"always start new files with the header {GAP}",
        f"before you commit, run {GAP} and {GAP}",
        "always use in the README.",
        "don't use in the reports of the team",
        "Always start files with.",
        "always start files with <!--",
        "Always add ‹/everest-memory› '' ‹everest-memory› and.",
        "in the weekly reports, always use",
        "always sort the imports of the",
    ],
)
def test_words_that_lost_a_part_make_no_rule(rule: str) -> None:
    assert worded(rule) == ""


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("always use tabs in the reports", "Always use tabs in the reports."),
        ("always start files with a header", "Always start files with a header."),
        ("ask which branch to start from", "Ask which branch to start from."),
        ("never log in as another user", "Never log in as another user."),
        ("always add to the changelog", "Always add to the changelog."),
        ("name the tool that the tests run with", "Name the tool that the tests run with."),
        ("always leave the debug flag on", "Always leave the debug flag on."),
        ("write tests for the code you use", "Write tests for the code you use."),
    ],
)
def test_words_that_are_whole_do(rule: str, text: str) -> None:
    assert worded(rule) == text


def test_a_gap_never_reaches_a_text_or_a_quote() -> None:
    whole = episode(words="always use tabs in reports", rule="always use tabs in reports")
    cut = replace(whole, id="e2", session_id="s2", rule=f"always use {GAP} in reports")
    made = word(EpisodeKind.CORRECTION, [whole, cut])
    assert isinstance(made, Worded)
    assert GAP not in made.text + made.quote


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            "can't the tests be table driven?",
            'The person asked: "can\'t the tests be table driven?"',
        ),
        (
            "I want the docs to live beside the code",
            'The person said: "I want the docs to live beside the code"',
        ),
        (
            "maybe names should never hold digits",
            'The person said: "maybe names should never hold digits"',
        ),
    ],
)
def test_everything_else_is_quoted_once_it_came_back(rule: str, text: str) -> None:
    said = episode(words=rule, rule=rule)
    assert worded(rule) == ""
    made = word(EpisodeKind.CORRECTION, [said, replace(said, id="e2", session_id="s2")])
    assert isinstance(made, Worded)
    assert made.text == text


def test_a_rule_that_says_first_names_what_it_comes_before() -> None:
    rule = "let's cut a branch first"
    assert worded(rule, tool="Edit") == "Before you change a file: cut a branch first."
    assert worded(rule, tool="Bash", command="git") == "Before you run `git`: cut a branch first."
    assert worded(rule, tool="ExitPlanMode") == "Cut a branch first."
    assert worded("first cut a branch", tool="Edit") == ""


def test_the_clearest_words_of_several_sessions_are_taken() -> None:
    plain = "I want names to be short"
    quoted = episode(words=plain, rule=plain, id="e2", at=NOW + timedelta(days=1))
    order = episode(words="use short names", rule="use short names")
    made = word(EpisodeKind.CORRECTION, [quoted, order])
    assert isinstance(made, Worded)
    assert (made.text, made.quote) == ("Use short names.", "use short names")


@pytest.mark.parametrize(
    "rule",
    [
        "not like that",
        "don't do this",
        "use it instead",
        "commit",
        "yes please",
        "that one is wrong",
    ],
)
def test_words_that_hang_on_something_outside_make_no_rule(rule: str) -> None:
    made = word(EpisodeKind.CORRECTION, [episode(words=rule, rule=rule)])
    assert isinstance(made, Unworded)


def test_a_hanging_rule_is_tied_to_the_command_that_was_stopped() -> None:
    hanging = "don't run that in the background"
    assert worded(hanging, command="docker") == "About `docker`: Don't run that in the background."
    assert worded(hanging) == ""


def test_leave_to_act_is_no_rule() -> None:
    assert worded("you can comment on the issue for me") == ""


def test_a_vague_word_is_not_saved_by_a_command_beside_it() -> None:
    assert worded("let's not do the nuclear thing", command="docker") == ""


def test_an_open_question_is_no_rule_and_a_rhetorical_one_is() -> None:
    assert worded("do we need the hook at all then?") == ""
    said = "why don't we keep the hook?"
    twice = [episode(words=said), episode(words=said, id="e2", session_id="s2")]
    assert isinstance(word(EpisodeKind.CORRECTION, twice), Worded)


def test_a_hanging_reason_is_cut_off_a_rule_that_stands_by_itself() -> None:
    assert worded("name files by date for those we archive") == "Name files by date."


def test_a_reason_that_holds_for_the_moment_makes_the_rule_fleeting() -> None:
    assert worded("don't forget to switch to a fresh branch because this one is merged") == ""
    assert worded("don't forget to switch to a fresh branch") == "Switch to a fresh branch."


@pytest.mark.parametrize(
    "rule",
    ["use the names from PR #12", "fix the branch for ENT-104", "document the cache problem"],
)
def test_a_rule_tied_to_one_ticket_makes_no_lesson(rule: str) -> None:
    assert worded(rule) == ""
    assert worded("use the names from the glossary")


def test_a_dangerous_rule_is_held_with_its_text() -> None:
    words = "don't use --dangerously-skip-permissions"
    made = word(EpisodeKind.CORRECTION, [episode(words=words, rule=words)])
    assert made == Held(
        "Don't use --dangerously-skip-permissions.", words, "it speaks of a permission"
    )


def test_a_dangerous_quote_shrinks_to_the_rule_in_it() -> None:
    words = "never amend commits. see https://example.org/why"
    made = word(EpisodeKind.CORRECTION, [episode(words=words, rule="never amend commits.")])
    assert made == Worded("Never amend commits.", "never amend commits.")


def test_the_quote_of_a_long_message_begins_at_the_sentence_with_the_rule() -> None:
    rule = "never amend commits"
    asked = "The export of the orders is nearly done and only the totals are missing now. " * 3
    made = word(EpisodeKind.CORRECTION, [episode(words=f"{asked}And {rule}. Thanks.", rule=rule)])
    assert made == Worded("Never amend commits.", f"… And {rule}. Thanks.")
    short = word(EpisodeKind.CORRECTION, [episode(words=f"Done? And {rule}.", rule=rule)])
    assert short == Worded("Never amend commits.", f"Done? And {rule}.")


def test_a_stated_rule_is_taken_before_later_words_without_one() -> None:
    stated = episode(words="never amend commits", rule="never amend commits")
    later = episode(words="please stop amending my commits", id="e2", at=NOW + timedelta(days=1))
    made = word(EpisodeKind.CORRECTION, [later, stated])
    assert isinstance(made, Worded)
    assert made.text == "Never amend commits."


def failed(error_class: str, *, sessions: int, **given: object) -> list[Episode]:
    parts = {"error_class": error_class, "tool": "Bash", "words": "it broke"} | given
    return [
        episode(EpisodeKind.ERROR, id=f"e{n}", session_id=f"s{n}", **parts) for n in range(sessions)
    ]


def remedy(episodes: list[Episode]) -> str:
    made = word(EpisodeKind.ERROR, episodes)
    return made.text if isinstance(made, Worded) else ""


def test_words_of_several_sentences_that_state_no_rule_are_not_worded() -> None:
    said = episode(words="No. Use the newer date of the commits.")
    more = replace(said, words="Use the newer date. There should always be a commit for it.")
    for words, text in ((said, "Use the newer date of the commits."), (more, "")):
        twice = [words, replace(words, id="e2", session_id="s2")]
        made = word(EpisodeKind.CORRECTION, twice)
        assert (made.text if isinstance(made, Worded) else "") == text


@pytest.mark.parametrize(
    "words",
    ["so there's no way to get the right name?", "what should it be? that feels wrong to me"],
)
def test_a_question_asks_for_an_answer(words: str) -> None:
    assert open_question(words)


@pytest.mark.parametrize(
    "words",
    [
        "why don't we use the right name?",
        "can you use the right name?",
        "are we able to not leave the tests to the end?",
        "no, use the right name. ok?",
    ],
)
def test_a_question_that_asks_for_a_change_is_no_open_one(words: str) -> None:
    assert not open_question(words)


def test_of_one_session_only_what_was_heard_as_a_rule_is_worded() -> None:
    vague = "the things there should never be like that"
    rule = episode(words=vague, rule=vague)
    beside = episode(words="use the newer date of the commits", id="e2")
    assert isinstance(word(EpisodeKind.CORRECTION, [rule, beside]), Unworded)
    elsewhere = replace(beside, session_id="s2")
    made = word(EpisodeKind.CORRECTION, [rule, elsewhere])
    assert isinstance(made, Worded)
    assert made.text == "Use the newer date of the commits."


def test_an_error_becomes_the_remedy_of_its_class_with_its_own_names() -> None:
    unread = failed("not_read", sessions=3, tool="Edit", words="File has not been read yet.")
    made = word(EpisodeKind.ERROR, [*unread, replace(unread[0], id="w", tool="Write")])
    assert isinstance(made, Worded)
    assert made.text.startswith("Read a file before you change it: Edit and Write refused")
    assert made.quote == "File has not been read yet."


def test_what_any_agent_knows_is_taught_only_when_it_keeps_coming_back() -> None:
    assert remedy(failed("not_read", sessions=2, tool="Edit")) == ""
    assert remedy(failed("not_read", sessions=3, tool="Edit")) != ""
    assert remedy(failed("command_missing", sessions=2, command="docker")) != ""


def test_the_commonest_fitting_way_of_running_is_named() -> None:
    met = failed("lint", sessions=2, command="mise", topic=("Bash", "mise", "mise run lint"))
    met += failed("lint", sessions=1, command="go", topic=("Bash", "go", "go build"))
    assert "(`mise run lint`)" in remedy(met)
    assert "(`go build`)" in remedy([met[2], replace(met[2], session_id="s7", id="e7")])
    assert "(`ruff`)" in remedy(failed("lint", sessions=2, command="ruff"))


def test_what_worked_instead_is_the_rule_whatever_the_class() -> None:
    topic = ("Bash", "npm", "npm install", "npm install → pnpm install")
    met = failed("exit_nonzero", sessions=2, command="npm", topic=topic)
    assert remedy(met).startswith("Use `pnpm install`, not `npm install`,")
    assert remedy(met[:1]) == ""
    assert remedy(failed("exit_nonzero", sessions=2, command="npm", topic=topic[:3])) == ""
    strange = (*topic[:2], "npm install → pnpm install; rm -r /")
    assert remedy(failed("exit_nonzero", sessions=2, command="npm", topic=strange)) == ""


def test_an_error_without_a_remedy_or_with_a_strange_name_makes_no_lesson() -> None:
    assert remedy(failed("exit_nonzero", sessions=3, command="ls")) == ""
    assert remedy(failed("test_failed", sessions=3, command="x; rm -r")) == ""
    assert remedy(failed("test_failed", sessions=3, command="gh")) == ""  # it shows others' work
    assert remedy(failed("test_failed", sessions=3, command="pytest")) != ""
    assert remedy(failed("file_missing", sessions=3, command="wsl")) == ""
    assert remedy(failed("file_missing", sessions=3, tool="Read")) != ""


def test_an_errors_quote_is_its_own_words_and_never_the_rule() -> None:
    unsafe, safe = failed("command_missing", sessions=2, command="jqq")
    unsafe = replace(unsafe, words="see https://example.org/jqq")
    safe = replace(safe, words="bash: jqq: command not found")
    made = word(EpisodeKind.ERROR, [unsafe, safe])
    assert isinstance(made, Worded)
    assert made.quote == "bash: jqq: command not found"
    without = word(EpisodeKind.ERROR, [unsafe, replace(unsafe, id="e9", session_id="s9")])
    assert isinstance(without, Worded)
    assert without.quote == "A call failed (command missing), first on 2026-03-02"
    headed = replace(unsafe, words="jqq is missing\nsee https://example.org/jqq")
    shown = word(EpisodeKind.ERROR, [headed, replace(headed, id="e9", session_id="s9")])
    assert isinstance(shown, Worded)
    assert shown.quote == "jqq is missing"


def test_a_surprise_is_a_thing_to_check_when_it_stands_by_itself() -> None:
    stands = episode(
        EpisodeKind.SURPRISE, words="It turns out that the importer never clears its cache."
    )
    hangs = episode(EpisodeKind.SURPRISE, words="I was wrong about that.")
    made = word(EpisodeKind.SURPRISE, [stands])
    assert isinstance(made, Worded)
    assert made.text == 'Check first: "the importer never clears its cache"'
    assert isinstance(word(EpisodeKind.SURPRISE, [hangs]), Unworded)
    done = replace(stands, words="Surprisingly, the tariff is in cents, not euros, so I store 250.")
    told = word(EpisodeKind.SURPRISE, [done])
    assert isinstance(told, Worded)
    assert told.text == 'Check first: "the tariff is in cents, not euros"'


@pytest.mark.parametrize("kind", [EpisodeKind.SESSION, EpisodeKind.ENVIRONMENT, EpisodeKind.NOTE])
def test_other_kinds_make_no_lesson(kind: EpisodeKind) -> None:
    assert isinstance(word(kind, [episode(kind, words="always use tabs")]), Unworded)


@given(st.text(max_size=500), st.sampled_from(["", "npm", "git; rm"]))
def test_no_content_word_comes_from_elsewhere_and_lengths_hold(words: str, command: str) -> None:
    made = word(EpisodeKind.CORRECTION, [episode(words=words, rule=words, command=command)])
    if isinstance(made, Worded | Held):
        ours = {*OURS, command}
        assert set(re.findall(r"\w+", made.text.lower())) <= ours | set(
            re.findall(r"\w+", words.lower())
        )
        assert len(made.text) <= TEXT_ROOM
        assert len(made.quote) <= QUOTE_ROOM
