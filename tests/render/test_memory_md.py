from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.ids import shown
from tasks.domain.markers import SECTION_BEGIN, SECTION_END
from tasks.domain.units import EpisodeKind, Trust
from tasks.render.memory_md import (
    MOST_BYTES,
    MOST_LINES,
    TITLE,
    NotUtf8Error,
    best_first,
    entry_of,
    fitting,
    over_limit,
    parse,
    put,
    section_of,
    take_out,
)
from tests.render.build import NOW, lesson

PNPM = lesson("pnpm")
ENTRY = entry_of(PNPM, UTC)
SECTION = section_of([ENTRY], omitted=0)
OURS = "\n".join(SECTION).encode() + b"\n"
MINE = b"# My notes\n\n- the office is closed on Friday\n"

lines_of_a_person = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1, max_size=20
).filter(lambda line: "everest" not in line)
any_line = st.one_of(
    lines_of_a_person, st.sampled_from([SECTION_BEGIN, SECTION_END, TITLE, ENTRY.line, ""])
)
files = st.builds(
    lambda lines, newline, end, bom: (
        (b"\xef\xbb\xbf" if bom else b"") + newline.join(lines).encode() + end.encode()
    ),
    st.lists(any_line, max_size=14),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\r\n", "\n\n"]),
    st.booleans(),
)


def test_the_section_stands_after_the_persons_own_text() -> None:
    assert put(parse(MINE), SECTION) == MINE + b"\n" + OURS


def test_a_second_time_changes_nothing() -> None:
    once = put(parse(MINE), SECTION)
    assert put(parse(once), SECTION) == once


@given(st.binary(max_size=200).filter(lambda x: not x.startswith((b"\xff\xfe", b"\xfe\xff"))))
def test_taking_our_section_out_gives_the_persons_bytes_back(mine: bytes) -> None:
    assert take_out(parse(put(parse(mine), SECTION))) == mine


@given(files, files)
def test_text_on_both_sides_of_the_section_stays_to_the_byte(before: bytes, after: bytes) -> None:
    if b"everest" in before + after or after.startswith(b"\xef\xbb\xbf"):
        return
    if before and not before.endswith(b"\n"):
        before += b"\n"
    new = put(parse(before + OURS + after), section_of([], omitted=3))
    assert new.startswith(before)
    assert new.endswith(after)


@given(files)
def test_broken_or_doubled_markers_never_cost_a_person_a_line(data: bytes) -> None:
    kept = put(parse(data), SECTION)
    for whole in (kept, take_out(parse(data))):
        lost = _persons_lines(data) - _persons_lines(whole)
        assert not lost
    assert kept.count(SECTION_BEGIN.encode()) == 1
    assert kept.count(SECTION_END.encode()) == 1
    assert put(parse(kept), SECTION) == kept


def _persons_lines(data: bytes) -> set[bytes]:
    lines = (line.strip(b"\r\n\xef\xbb\xbf \t") for line in data.split(b"\n"))
    return {line for line in lines if line.strip() and b"everest" not in line.lower()}


@pytest.mark.parametrize(
    "data",
    [
        MINE + b"\n" + OURS.replace(SECTION_END.encode() + b"\n", b""),
        MINE + b"\n" + OURS.replace(SECTION_BEGIN.encode() + b"\n", b""),
        MINE + b"\n" + OURS + OURS,
        MINE + b"\n" + OURS + SECTION_END.encode() + b"\n",
    ],
    ids=["no end", "no begin", "twice", "a second end"],
)
def test_broken_markers_are_mended(data: bytes) -> None:
    assert put(parse(data), SECTION) == MINE + b"\n" + OURS


def test_the_whole_section_keeps_its_place_beside_a_broken_one() -> None:
    data = SECTION_BEGIN.encode() + b"\n" + MINE + OURS
    assert put(parse(data), SECTION) == MINE + OURS


def test_what_follows_a_section_with_no_end_is_the_persons() -> None:
    data = OURS.replace(SECTION_END.encode() + b"\n", b"") + b"my own line\n"
    assert put(parse(data), SECTION) == OURS + b"my own line\n"


def test_a_strangers_line_between_the_markers_moves_out_before_them() -> None:
    mixed = OURS.replace(b"<!-- everest:end", b"remember the milk\n<!-- everest:end")
    assert parse(mixed).strangers == (b"remember the milk\n",)
    assert put(parse(mixed), SECTION) == b"remember the milk\n\n" + OURS


def test_line_endings_and_byte_order_mark_are_kept() -> None:
    mine = b"\xef\xbb\xbf# Notes\r\n\r\n- one\r\n"
    whole = put(parse(mine), SECTION)
    assert whole.startswith(mine)
    assert b"\n" not in whole.replace(b"\r\n", b"")
    assert take_out(parse(whole)) == mine


def test_utf_16_is_refused_rather_than_spoilt() -> None:
    with pytest.raises(NotUtf8Error, match="UTF-8"):
        parse("notes".encode("utf-16"))


def test_a_line_is_read_back_with_its_rule_and_id() -> None:
    (entry,) = parse(put(parse(MINE), SECTION)).entries
    assert (entry.lesson, entry.text) == (shown(PNPM.id), "Use pnpm.")


def test_a_line_whose_tail_a_person_cut_is_still_that_lessons() -> None:
    cut = OURS.replace(b", 2026-11-24, seen 1x)", b"").replace(b"Use pnpm.", b"Use yarn.")
    (entry,) = parse(cut).entries
    assert (entry.lesson, entry.text) == (shown(PNPM.id), "Use yarn.")


def test_best_lines_come_first() -> None:
    verified = lesson("verified", trust=Trust.VERIFIED)
    often = lesson("often", sessions=3)
    once = lesson("once")
    assert best_first([once, often, verified], NOW) == [verified, often, once]


def test_what_the_person_said_comes_before_what_only_failed_more_often() -> None:
    said, failed = lesson("said"), lesson("failed", sessions=7, kind=EpisodeKind.ERROR)
    assert best_first([failed, said], NOW) == [said, failed]


@given(st.lists(st.integers(1, 300), max_size=120))
def test_our_share_of_the_file_is_never_exceeded(lengths: list[int]) -> None:
    entries = [entry_of(lesson(f"n{n}", "é" * size), UTC) for n, size in enumerate(lengths)]
    room = fitting(entries)
    section = section_of(entries[:room], omitted=len(entries) - room)
    assert len(section) <= MOST_LINES
    assert len("\r\n".join(section).encode()) + 2 <= MOST_BYTES


def test_what_the_host_drops_is_named() -> None:
    whole = put(parse(b"- mine\n" * 199), SECTION)
    excess = over_limit(whole)
    assert excess is not None
    assert excess.lost == (shown(PNPM.id),)
    assert over_limit(put(parse(b"- mine\n" * 150), SECTION)) is None


def test_a_file_of_few_but_long_lines_is_over_the_limit_too() -> None:
    excess = over_limit(put(parse(b"x" * 24_900 + b"\n"), SECTION))
    assert excess is not None
    assert excess.lost == (shown(PNPM.id),)
