import json
import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from tasks.domain.report import (
    Bets,
    DayShare,
    Ingested,
    Learned,
    Measures,
    Merged,
    NightReport,
    Question,
    Rate,
    Retired,
    RetiredBy,
    Shelf,
    StageTime,
    Strengthened,
)
from tasks.domain.units import EpisodeKind
from tasks.render.morning import MOST_LEARNED, as_data, morning

CASES = Path(__file__).parents[1] / "cases" / "morning"
DAY = date(2026, 11, 30)


def unit(n: int) -> str:
    return f"{n:016x}" + "0" * 48


def week(*shares: tuple[int, int]) -> Rate:
    first = DAY - timedelta(days=len(shares))
    return Rate(
        tuple(DayShare(first + timedelta(days=n), part, of) for n, (part, of) in enumerate(shares))
    )


FULL = NightReport(
    day=DAY,
    ingested=Ingested(
        files=14,
        changed=12,
        read=1204,
        used=812,
        set_aside=380,
        duplicates=10,
        failed=2,
        sessions=12,
        episodes=(("correction", 9), ("error", 14), ("surprise", 2), ("environment hiccup", 1)),
    ),
    learned=(
        Learned(
            unit(1),
            "Use pnpm, never npm",
            "No, we use pnpm in this repo, never npm.",
            date(2026, 11, 24),
            "paperboat",
        ),
        Learned(
            unit(2),
            "`python -m pytest` fails: no module named pytest.",
            "/usr/bin/python: No module named pytest",
            date(2026, 11, 25),
            "tidewater",
            kind=EpisodeKind.ERROR,
            sessions=3,
        ),
        Learned(
            unit(3),
            "Keep messages short.",
            "shorter please",
            date(2026, 11, 26),
            "tidewater",
            confirmed=False,
        ),
    ),
    strengthened=(Strengthened(unit(4), "Do not mock the database in tests.", "paperboat", 2),),
    merged=(Merged(unit(5), "Work on a branch.", "paperboat", (unit(6), unit(7))),),
    retired=(Retired(unit(8), "Use tabs.", "tidewater", RetiredBy.FADED),),
    refused=(("rejected before", 2),),
    held=(
        Question(
            "“Always pass --no-verify when CI is red”",
            "It would switch a check off, so it is not used until you say so.",
            (f'everest reject {unit(11)[:16]} --reason "…"',),
        ),
    ),
    bets=Bets(made=3, confirmed=1, unexercised=1, open=5),
    measures=Measures(
        week((0, 1), (0, 2), (1, 3), (0, 0), (1, 2), (0, 1)),
        week((0, 3), (1, 2), (1, 3), (1, 2), (1, 2), (2, 4)),
        person_turns=61,
    ),
    shelf=Shelf(
        live=4,
        candidates=1,
        written=8,
        shown=2,
        held_out=2,
        folders=("/home/mia/.claude/projects/-home-mia-code-paperboat/memory",),
    ),
    unsure=(
        Question(
            "5 of 11 lesson files were gone from /home/mia/.everest/memory/tidewater-1.",
            "That looks like a restored folder, so they were put back and nothing was rejected.",
            ('everest reject ID --reason "…"',),
        ),
    ),
    problems=("broken.jsonl ends in the middle of its compressed data; 204 records were read.",),
    stages=(StageTime("ingest", 1.24), StageTime("embed", 14.2), StageTime("sleep", 0.3)),
)
QUIET = NightReport(day=DAY, ingested=Ingested(files=14), shelf=Shelf(live=4))
FIRST = NightReport(day=DAY, first=True)


def test_a_full_night_reads_as_it_should() -> None:
    """After a change in wording, write the new text into the case and read it as a person would."""
    assert morning(FULL) == (CASES / "full.md").read_text("utf-8")


def test_a_quiet_night_is_a_few_lines() -> None:
    assert morning(QUIET) == (CASES / "quiet.md").read_text("utf-8")


def test_a_first_night_without_conversations_says_what_to_do() -> None:
    text = morning(FIRST)
    assert "first night" in text
    assert "`everest demo`" in text
    assert "##" not in text


def test_a_first_night_that_read_something_says_so_once() -> None:
    text = morning(replace(FULL, first=True))
    assert text.count("first night") == 1
    assert "everest demo" not in text


def test_a_later_night_of_a_day_says_what_it_did_and_then_what_all_of_the_day_did() -> None:
    day = replace(FULL, again=True, ingested=replace(FULL.ingested, files=11), held=(), unsure=())
    one = NightReport(DAY, ingested=Ingested(files=11, changed=1, read=2), shelf=Shelf(live=4))
    text = morning(replace(day, alone=one, problems=()))
    assert text.splitlines()[2] == (
        "Nothing new to learn: 1 transcript had something new, but no lesson moved. "
        "All of today together, as told below: read 12 conversations, learned 2 lessons, "
        "noted 1 that waits for a second conversation, saw 1 come up again and retired 1."
    )
    assert "12 transcripts had something new: 1,204 records" in text
    assert "of 11" not in text, "what several runs read is no share of what one looked at"


def test_a_later_night_that_is_all_there_was_today_says_it_once() -> None:
    text = morning(replace(QUIET, again=True, alone=QUIET))
    assert text.count("Nothing new") == 1
    assert "together" not in text


def test_an_empty_section_is_left_out() -> None:
    bare = morning(replace(FULL, learned=(), merged=(), retired=(), refused=(), problems=()))
    for title in ("## Learned", "## Merged", "## Retired", "## Problems", "refused"):
        assert title in morning(FULL)
        assert title not in bare


def test_every_question_stands_with_its_command() -> None:
    text = morning(FULL)
    assert "2 questions wait" in text
    for question in FULL.questions:
        for command in question.commands:
            assert f"`{command}`" in text


def test_many_lessons_are_listed_up_to_a_cap_and_counted_beyond() -> None:
    many = tuple(Learned(unit(n), f"Rule {n}", "words", DAY, "p") for n in range(100))
    text = morning(NightReport(day=DAY, learned=many))
    assert len(re.findall(r"^\d+\. ", text, re.MULTILINE)) == MOST_LEARNED
    assert "And 70 more: `everest lessons`" in text
    few = morning(NightReport(day=DAY, learned=many[:MOST_LEARNED]))
    assert "more: `everest lessons`" not in few


def test_candidates_share_the_cap() -> None:
    waiting = tuple(
        Learned(unit(n), f"Rule {n}", "words", DAY, "p", confirmed=False) for n in range(100)
    )
    text = morning(NightReport(day=DAY, learned=waiting))
    assert text.count("\n- Rule") == MOST_LEARNED
    assert "And 70 more" in text


def test_a_share_never_stands_without_its_numbers() -> None:
    text = morning(FULL)
    for share in re.findall(r"[^.\n]*%[^.\n]*", text):
        assert re.search(r"\d+ of \d+", share)


def table_of(text: str) -> list[list[str]]:
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return rows[1:]


def test_the_columns_of_the_table_add_up_to_the_headlines() -> None:
    text = morning(FULL)
    days, *columns = zip(*table_of(text), strict=True)
    met, before, errors, happened = (sum(map(int, column)) for column in columns)
    assert f"- {before} of {met} (" in text
    assert f"- {happened} of {errors} (" in text
    assert f"the last {len(days)} days" in text
    assert f"since {days[0]}" in text


def test_both_lines_of_bars_stand_over_the_days_of_the_table() -> None:
    text = morning(FULL)
    mine, errors = re.findall(r"Share by day: ([▁-█·]+)", text)
    rows = table_of(text)
    assert len(mine) == len(errors) == len(rows)
    for bars, column in ((mine, 1), (errors, 3)):
        none = [bar == "·" for bar in bars]
        assert none == [row[column] == "0" for row in rows]
    assert "·" in mine
    assert text.count("none that day") == 1


def test_days_of_another_year_carry_it() -> None:
    late = replace(FULL, day=date(2027, 1, 2))
    assert "| Sun 29 November 2026 |" in morning(late)
    assert "since Tue 24 November 2026;" in morning(late)
    assert "| Sun 29 November |" in morning(FULL)


def test_words_of_others_cannot_act_as_markdown() -> None:
    bad = "x\n# Title\n<!-- everest:begin -->\n```\n<b>"
    hostile = Learned(unit(1), bad, bad, DAY, bad)
    text = morning(
        NightReport(
            day=DAY,
            learned=(hostile,),
            held=(Question(bad, bad, ()),),
            problems=(bad,),
            refused=((bad, 1),),
        )
    )
    for mark in ("\n# T", "<!--", "```", "<b>"):
        assert mark not in text.removeprefix("# Everest")


def test_a_forgotten_lesson_is_named_without_its_text() -> None:
    gone = Retired(unit(8), "", "tidewater", RetiredBy.FORGOTTEN)
    text = morning(NightReport(day=DAY, retired=(gone,)))
    assert "(forgotten)" in text
    assert unit(8)[:16] in text


def test_the_folders_of_many_projects_are_one_place_each() -> None:
    hosts = tuple(f"/home/mia/.claude/projects/-p{n}/memory" for n in range(5))
    homes = tuple(f"/home/mia/.everest/memory/p{n}" for n in range(5))
    text = morning(NightReport(day=DAY, shelf=Shelf(live=3, folders=hosts + homes)))
    assert "`/home/mia/.claude/projects/*/memory` (5 projects)" in text
    assert "`/home/mia/.everest/memory/*` (5 projects)" in text
    assert "p1" not in text
    assert f"`{hosts[1]}`" in morning(NightReport(day=DAY, shelf=Shelf(3, folders=hosts[1:2])))


def test_the_same_in_plain_values() -> None:
    data = as_data(FULL)
    assert json.loads(json.dumps(data)) == data
    assert data["day"] == "2026-11-30"
    assert data["learned"][0]["text"] == "Use pnpm, never npm"
    assert data["retired"][0]["why"] == "faded"


def test_long_words_are_cut_with_a_sign() -> None:
    long = Learned(unit(1), "Rule", "word " * 200, DAY, "p")
    (line,) = [x for x in morning(NightReport(day=DAY, learned=(long,))).splitlines() if "> " in x]
    assert line.endswith("word…”")
    assert len(line) < 260


def test_the_words_stay_inside_their_lesson_from_the_tenth_on() -> None:
    many = tuple(replace(FULL.learned[0], id=unit(n)) for n in range(11))
    lines = morning(NightReport(day=DAY, learned=many)).splitlines()
    ninth = next(n for n, line in enumerate(lines) if line.startswith("9. "))
    tenth = next(n for n, line in enumerate(lines) if line.startswith("10. "))
    assert lines[ninth + 1].startswith("   > ")
    assert lines[tenth + 1].startswith("    > ")
