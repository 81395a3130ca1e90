from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tasks.domain.session import ReadCounts
from tasks.evidence.claude_code import read_session
from tasks.evidence.lines import LONGEST, UNREADABLE, TooLong, lines_of, open_transcript
from tasks.evidence.reading import NothingRead
from tests.evidence.writing import Transcript


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_pipe_named_like_a_transcript_is_an_error_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="not a file"):
        open_transcript(tmp_path / name)
    assert read_session(tmp_path / name) == NothingRead("not a file", ReadCounts(), 0)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_file_of_no_size_is_empty(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with open_transcript(tmp_path / name) as stream:
        assert stream.read() == b""


def test_what_a_damaged_compressed_file_raises_is_told_apart_from_our_faults(
    tmp_path: Path,
) -> None:
    whole = gzip.compress(b"line\n" * 1000)
    for data in (whole[:10] + b"\xff" * 50, whole[:-20], whole[:-6] + b"x" * 6, b"plain text"):
        path = tmp_path / "a.jsonl.gz"
        path.write_bytes(data)
        with pytest.raises(UNREADABLE), open_transcript(path) as stream:
            stream.read()


def test_a_line_that_is_too_long_is_passed_over_and_counted(transcript: Transcript) -> None:
    transcript.user("before")
    transcript.raw(b"\0" * (2 * LONGEST + 5) + b"\n")
    transcript.user("after")
    session = transcript.read()
    assert [turn.text for turn in session.turns] == ["before", "after"]
    assert session.counts.failed == [2]
    assert session.counts.adds_up()
    assert session.bytes_read == transcript.path.stat().st_size


def test_a_line_that_is_too_long_and_has_no_end_yet_is_left(transcript: Transcript) -> None:
    transcript.user("before")
    transcript.raw(b"x" * (LONGEST + 1))
    session = transcript.read()
    assert session.counts.read == 1
    assert session.bytes_read == len(transcript.lines[0])


def test_lines_come_with_their_ends_and_the_longest_is_still_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    longest = b"y" * (LONGEST - 1) + b"\n"
    path.write_bytes(b"a\n" + longest + b"y" + longest + b"part")
    with path.open("rb") as stream:
        assert list(lines_of(stream)) == [b"a\n", longest, TooLong(LONGEST + 1), b"part"]


def test_a_record_that_is_no_conversation_is_set_aside_only_when_it_is_whole(
    transcript: Transcript,
) -> None:
    transcript.user("before")
    transcript.record("progress", data={"type": "bash_progress"}, isSidechain=True)
    transcript.raw(b'{"type":"progress","data":{"output":"a"}\n')
    counts = transcript.read().counts
    assert counts.set_aside == {"progress": 1}
    assert counts.failed == [3]
