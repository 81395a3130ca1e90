"""`recall --explain`: why something is found, why it is not, and whether agents are told of it."""

from __future__ import annotations

import re

from tests.serving.shipped import Everest

HERE = ("--project", "paperboat")
FOREIGN = "how is the main cat fed during holidays abroad by neighbours"
"""One word of it stands in this memory."""


def test_each_listed_record_says_what_it_rests_on(reader: Everest) -> None:
    query = ("recall", "is it npm or pnpm", *HERE, "-k", "2")
    told = reader.at_terminal(*query, "--explain")
    listed = reader(*query, "--json").data
    assert told.code == 0
    assert "Looked for npm, pnpm in paperboat-" in told.out
    ids = re.findall(r"^    .*, ([0-9a-f]{16})\n    fit .*\n    place ", told.out, re.MULTILINE)
    assert ids == [one["id"][:16] for one in listed]
    assert len(re.findall(r"it holds npm, pnpm \(words 0\.\d\d\)", told.out)) >= 2
    assert len(re.findall(r"place 0\.\d\d = 0.6 x fit .* \(\d+ days? old\)", told.out)) == 2
    assert told.out.count("unasked: at prompts and ") == 2
    assert max(map(len, told.out.splitlines())) <= 100


def test_what_was_left_out_says_what_it_lacks(reader: Everest) -> None:
    few = reader.at_terminal("recall", "pull requests", *HERE, "-k", "1", "--explain").out
    assert "left out: no room: -k lists more" in few
    many = reader.at_terminal("recall", "pull requests", *HERE, "-k", "100", "--explain").out
    assert "no room" not in many
    assert "left out: far behind the best" in many


def test_with_nothing_found_the_nearest_is_named_with_what_it_lacks(reader: Everest) -> None:
    told = reader.at_terminal("recall", FOREIGN, *HERE, "--explain").out
    assert "Nothing in paperboat-" in told
    assert "Nearest to it:" in told
    weighed = re.findall(r"fit (0\.\d\d), (0\.\d\d) needed: it holds main ", told)
    assert weighed
    assert all(float(fit) < float(needed) for fit, needed in weighed)
    assert "left out: nothing that is held fits well enough" in told
    nothing = reader.at_terminal("recall", "quantum chromodynamics", *HERE, "--explain").out
    assert "Nothing that is held shares a word with it." in nothing
    assert "Nearest" not in nothing


def test_meaning_is_told_where_it_is_compared(newcomer: Everest, reader: Everest) -> None:
    model: dict[str, str | None] = {"EVEREST_EMBED": None}
    note = "the staging database is refreshed on Mondays"
    assert newcomer("remember", note, **model).code == 0
    for command in ("ingest", "sleep"):
        assert newcomer(command, **model).code == 0
    told = newcomer.at_terminal("recall", "database refresh", "--explain", **model).out
    assert "by words and by meaning" in told
    assert re.search(r"it holds database, refresh \(words 0\.\d\d\), meaning 0\.\d\d", told)
    without = reader.at_terminal("recall", "pull requests", *HERE, "--explain").out
    assert "by words alone" in without
    assert "meaning" not in without


def test_only_lessons_are_told_unasked(reader: Everest) -> None:
    told = reader.at_terminal("recall", "pull requests", *HERE, "-k", "9", "--explain").out
    assert "unasked: never; agents are told lessons alone" in told
    assert "unasked: at prompts and ends of turns it bears on, once a session\n" in told


def test_what_is_held_out_is_said(reader: Everest) -> None:
    query = ("recall", "pull requests", *HERE, "-k", "1", "--explain")
    everywhere = reader.at_terminal(*query, EVEREST_HOLDOUT="1").out
    assert "not in sessions held out (100%), nor this week in MEMORY.md" in everywhere
    assert "held out" not in reader.at_terminal(*query).out


def test_a_program_gets_the_whole_of_it_as_data(reader: Everest) -> None:
    query = ("recall", "pull requests", *HERE, "-k", "1")
    told = reader(*query, "--explain", "--json").data
    (found,) = told["found"]
    (same,) = reader(*query, "--json").data
    assert found["id"] == same["id"]
    assert found["words"] == ["pull", "requests"]
    assert found["lacks"] is None
    assert found["relevance"] >= found["needed"]
    assert [one["lacks"] for one in told["left_out"]] == ["no room: -k lists more"] * 3
    assert told["sought"] == ["pull", "requests"]
    assert told["by_meaning"] is False
    nothing = reader("recall", FOREIGN, *HERE, "--explain", "--json").data
    assert nothing["found"] == []
    assert all(one["relevance"] < one["needed"] for one in nothing["left_out"])
    assert nothing["left_out"]


def test_a_program_is_given_no_words_outside_of_the_fence(reader: Everest) -> None:
    query = ("recall", "pull requests", *HERE, "-k", "1", "--explain")
    left = reader(*query, "--json").data["left_out"]
    told = reader(*query).out
    outside = told.partition("</everest-memory>")[2]
    assert "left out: no room" in outside
    for one in left:
        assert one["text"][:30] not in outside
    assert left[0]["text"][:30] in reader.at_terminal(*query).out
