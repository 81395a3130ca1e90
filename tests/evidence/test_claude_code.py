from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.domain.session import AgentTurn, PersonTurn, ReadCounts
from tasks.evidence.claude_code import read_session
from tasks.evidence.reading import NothingRead, SessionRead
from tests.evidence.writing import Transcript, agent_turns, spoken


def test_records_of_one_message_and_of_several_become_one_turn(transcript: Transcript) -> None:
    transcript.user("build it")
    first = transcript.says("Looking.", message="m1")
    transcript.calls("c1", command="make all\nmake check")
    transcript.result("c1", "done")
    transcript.says("Built.", message="m2")
    (turn,) = agent_turns(transcript.read())
    assert turn.text == "Looking.\n\nBuilt."
    assert turn.uuid == first["uuid"]
    assert turn.model == "claude-x"
    assert [(call.id, call.name, call.line) for call in turn.calls] == [("c1", "Bash", "make all")]


def test_a_message_told_again_longer_replaces_its_shorter_form(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.says("I will", message="m1")
    transcript.says("I will begin.", message="m1")
    transcript.says("I will", message="m2")
    (turn,) = agent_turns(transcript.read())
    assert turn.text == "I will begin.\n\nI will"


def test_a_persons_words_part_two_turns_of_the_agents(transcript: Transcript) -> None:
    transcript.user("one")
    transcript.says("a")
    transcript.user("two")
    transcript.says("b")
    kinds = [type(turn) for turn in transcript.read().turns]
    assert kinds == [PersonTurn, AgentTurn, PersonTurn, AgentTurn]


def test_a_late_result_reaches_its_call_in_an_earlier_turn(transcript: Transcript) -> None:
    transcript.user("one")
    transcript.calls("c1", command="sleep 9")
    transcript.user("two")
    transcript.says("b")
    transcript.result("c1", "Exit code 1\nno", is_error=True)
    first, _ = agent_turns(transcript.read())
    assert first.calls[0].result.text == "Exit code 1\nno"


def test_records_appended_again_by_compaction_count_once(transcript: Transcript) -> None:
    said = transcript.user("keep me")
    answered = transcript.says("yes")
    transcript.record("system", subtype="compact_boundary")
    transcript.user("This session is being continued from …", isCompactSummary=True)
    transcript.bare(**said)
    transcript.bare(**answered)
    session = transcript.read()
    assert [turn.text for turn in spoken(session)] == ["keep me"]
    assert [turn.text for turn in agent_turns(session)] == ["yes"]
    assert session.counts.duplicates == 2
    assert session.counts.set_aside["user/summary"] == 1


def test_meta_sidechain_progress_and_unknown_records_are_set_aside_by_name(
    transcript: Transcript,
) -> None:
    transcript.user("hello")
    transcript.user("Base directory for this skill: /x", isMeta=True)
    transcript.user("do the subtask", isSidechain=True)
    transcript.record("progress", data={"type": "agent_progress", "message": {"type": "user"}})
    transcript.record("brand-new-type", anything=1)
    transcript.record("attachment", attachment={"type": "hook_success"})
    session = transcript.read()
    assert [turn.text for turn in spoken(session)] == ["hello"]
    assert dict(session.counts.set_aside) == {
        "user/meta": 1,
        "sidechain": 1,
        "progress": 1,
        "brand-new-type": 1,
        "attachment/hook_success": 1,
    }


def test_a_result_that_holds_a_progress_object_is_no_progress_record(
    transcript: Transcript,
) -> None:
    transcript.user("hello")
    transcript.calls("c1", name="mcp__x__y")
    transcript.user(
        [{"type": "tool_result", "tool_use_id": "c1", "content": "bad", "is_error": True}],
        toolUseResult={"type": "progress"},
    )
    line = json.loads(transcript.lines[-1])
    moved = {"toolUseResult": line.pop("toolUseResult"), **line}  # before the record's own type
    transcript.lines[-1] = json.dumps(moved, separators=(",", ":")).encode() + b"\n"
    (turn,) = agent_turns(transcript.read())
    assert turn.calls[0].result.text == "bad"


def test_a_refusal_of_the_service_is_a_failed_call_that_nobody_said(transcript: Transcript) -> None:
    transcript.user("hello")
    block = [{"type": "text", "text": "API Error: 500 oops"}]
    inner = {"id": "x", "model": "<synthetic>", "content": block}
    transcript.record("assistant", message=inner, isApiErrorMessage=True)
    inner = {"id": "y", "model": "<synthetic>", "content": "No response requested."}
    transcript.record("assistant", message=inner)
    session = transcript.read()
    (turn,) = agent_turns(session)
    assert (turn.text, turn.model) == ("", "")
    assert (turn.calls[0].name, turn.calls[0].result.text) == ("api", "API Error: 500 oops")
    assert session.counts.set_aside["assistant/placeholder"] == 1


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([], "fix the build"),
        ([{"type": "summary", "summary": "Old"}], "Old"),
        (
            [
                {"type": "ai-title", "aiTitle": "First"},
                {"type": "custom-title", "customTitle": "Mine"},
            ],
            "Mine",
        ),
        (
            [{"type": "custom-title", "customTitle": "Mine"}, {"type": "ai-title", "aiTitle": " "}],
            "Mine",
        ),
    ],
)
def test_the_last_title_wins_else_the_first_prompts_first_line(
    transcript: Transcript, records: list[dict[str, str]], title: str
) -> None:
    transcript.user("fix the build\nplease")
    for record in records:
        transcript.bare(**record)
    assert transcript.read().title == title


@pytest.mark.parametrize(
    ("given", "by_person"),
    [
        ({}, True),
        ({"entrypoint": "cli"}, True),
        ({"entrypoint": "sdk-cli"}, False),
        ({"entrypoint": "sdk-ts", "origin": {"kind": "human"}}, True),
        ({"promptSource": "sdk"}, False),
        ({"promptSource": "sdk", "entrypoint": "claude-desktop"}, True),
    ],
)
def test_several_signals_say_whether_a_person_drove(
    transcript: Transcript, given: dict[str, Any], *, by_person: bool
) -> None:
    transcript.user("hello", **given)
    assert transcript.read().by_person is by_person


def test_an_interrupt_shows_that_a_person_sat_at_an_sdk_session(transcript: Transcript) -> None:
    transcript.user("hello", entrypoint="sdk-ts")
    transcript.user("[Request interrupted by user]", entrypoint="sdk-ts")
    assert transcript.read().by_person


def test_our_own_headless_session_is_no_persons_even_with_a_persons_origin(
    transcript: Transcript,
) -> None:
    transcript.user("<!-- everest:headless -->\nsummarise", origin={"kind": "human"})
    assert not transcript.read().by_person


def test_a_background_notification_is_not_typed_by_its_origin(transcript: Transcript) -> None:
    transcript.user("hello")
    transcript.user("All done, have a look.", origin={"kind": "task-notification"})
    session = transcript.read()
    assert [turn.text for turn in spoken(session)] == ["hello"]


# Damage


def test_bad_lines_are_counted_by_number_and_lose_nothing_else(transcript: Transcript) -> None:
    transcript.user("one")
    transcript.raw(b"{broken\n")
    transcript.raw(b"\x00\x00\x00\n")
    transcript.raw(b"[1, 2]\n")
    transcript.raw(b"\n")
    transcript.user("two")
    session = transcript.read()
    assert [turn.text for turn in spoken(session)] == ["one", "two"]
    assert session.counts.failed == [2, 3, 4]
    assert session.counts.read == 5


def test_nul_bom_crlf_separators_and_lone_surrogates_are_read(transcript: Transcript) -> None:
    transcript.raw(b"\xef\xbb\xbf")
    transcript.user("one\u2028still one\u0085and here")
    transcript.lines[-1] = transcript.lines[-1].replace(b"\n", b"\r\n")
    transcript.user("two")
    transcript.lines[-1] = b"\x00\x00" + transcript.lines[-1]
    transcript.user("thr\x00ee")
    transcript.user("four")
    transcript.lines[-1] = transcript.lines[-1].replace(b"four", b"four \\ud83d \xff \x01")
    session = transcript.read()
    texts = [turn.text for turn in spoken(session)]
    assert texts[:3] == ["one\u2028still one\u0085and here", "two", "three"]
    assert texts[3].startswith("four ")
    texts[3].encode()
    assert session.counts.failed == []


def test_two_records_glued_on_one_line_are_both_read(transcript: Transcript) -> None:
    transcript.user("one")
    transcript.lines[-1] = transcript.lines[-1].rstrip(b"\n")
    transcript.bare(type="summary", summary="Glued")
    transcript.record("progress", data={})
    line = transcript.lines[-1].replace(b": ", b":").replace(b", ", b",").rstrip(b"\n")
    transcript.lines[-1] = line
    transcript.user("two")
    session = transcript.read()
    assert [turn.text for turn in spoken(session)] == ["one", "two"]
    assert session.title == "Glued"


def test_a_line_of_a_megabyte_is_read(transcript: Transcript) -> None:
    transcript.user("x" * 1_500_000)
    transcript.user("after")
    assert [len(turn.text) for turn in spoken(transcript.read())] == [1_500_000, 5]


def test_a_whole_last_line_without_newline_is_read_and_a_part_is_left(
    transcript: Transcript,
) -> None:
    transcript.user("one")
    transcript.user("two")
    transcript.lines[-1] = transcript.lines[-1].rstrip(b"\n")
    assert len(transcript.read().turns) == 2
    whole = transcript.path.read_bytes()
    transcript.path.write_bytes(whole[:-5])
    reading = read_session(transcript.path)
    assert isinstance(reading, SessionRead)
    assert len(reading.session.turns) == 1
    assert reading.session.bytes_read == len(transcript.lines[0])
    assert reading.session.counts == ReadCounts(read=1, used=1)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"{bad\n", "no record could be read"),
        (b'{"type":"mode","mode":"plan"}\n', "nobody speaks in it"),
        (b'{"type":"started"}\n{"type":"result"}\n', "nobody speaks in it"),
    ],
)
def test_a_file_in_which_nobody_speaks_says_so(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    reading = read_session(path)
    assert isinstance(reading, NothingRead)
    assert reading.reason == reason
    assert reading.counts.adds_up()


def test_a_file_that_cannot_be_opened_is_a_reading_with_the_reason(tmp_path: Path) -> None:
    assert read_session(tmp_path / "none.jsonl") == NothingRead(
        "No such file or directory", ReadCounts(), 0
    )
    assert read_session(tmp_path) == NothingRead("Is a directory", ReadCounts(), 0)


def test_a_compressed_transcript_reads_like_its_plain_form(
    transcript: Transcript, tmp_path: Path
) -> None:
    for number in range(50):
        transcript.user(f"prompt {number}")
        transcript.says("ok")
    plain = transcript.read()
    packed = tmp_path / "s1.jsonl.gz"
    packed.write_bytes(gzip.compress(transcript.path.read_bytes()))
    reading = read_session(packed)
    assert isinstance(reading, SessionRead)
    assert reading.session.turns == plain.turns
    assert reading.session.id == plain.id
    assert reading.mark is None
    assert reading.cut == ""


def test_a_truncated_compressed_transcript_keeps_what_was_readable(
    transcript: Transcript, tmp_path: Path
) -> None:
    for number in range(3000):
        transcript.user(f"prompt {number} {hash(number * 7919) % 10**9}")
    data = gzip.compress(transcript.write().read_bytes())
    packed = tmp_path / "s1.jsonl.gz"
    packed.write_bytes(data[: len(data) // 2])
    reading = read_session(packed)
    assert isinstance(reading, SessionRead)
    assert reading.cut == "the compressed file is cut off"
    assert 500 < len(reading.session.turns) < 3000
    packed.write_bytes(data[: len(data) // 2] + b"\xff" * 1000 + data[len(data) // 2 :])
    assert "damaged" in read_session(packed).cut
    packed.write_bytes(b"not gzip at all\n")
    assert "damaged" in read_session(packed).reason


def test_a_file_that_shrinks_while_it_is_read_keeps_its_earlier_turns(
    transcript: Transcript,
) -> None:
    for number in range(20_000):
        transcript.user(f"prompt {number}")
    path = transcript.write()
    size = path.stat().st_size
    begun = threading.Event()

    def shrink() -> None:
        begun.wait()
        for part in range(9, 0, -1):
            with path.open("r+b") as stream:
                stream.truncate(size * part // 10 - 7)

    thread = threading.Thread(target=shrink)
    thread.start()
    begun.set()
    reading = read_session(path)
    thread.join()
    assert isinstance(reading, SessionRead)
    texts = [turn.text for turn in reading.session.turns]
    assert texts == [f"prompt {number}" for number in range(len(texts))]
    assert reading.session.counts.adds_up()


_WORDS = (
    "user assistant system attachment queue-operation text tool_result tool_use queued_command "
    "enqueue remove dequeue local_command summary u1 c1 AskUserQuestion <synthetic> "
    "2026-01-01T00:00:00Z 0001-01-01T00:00:00+23:00"
)
_NAMES = (
    "type message content uuid timestamp origin attachment operation toolUseResult is_error id "
    "input tool_use_id text prompt answers questions options annotations kind subtype isMeta model "
    "customTitle cwd entrypoint commandMode toolDenialKind name"
)
_OTHERS = [None, True, False, 0, -1.5, "", [], {}, ["x"], "\x00", "\ud800"]
_SCALARS = st.sampled_from([*_WORDS.split(), *_OTHERS])
_KEYS = st.sampled_from(_NAMES.split())
_INNER = st.dictionaries(_KEYS, _SCALARS, max_size=4)
_MIDDLE = st.dictionaries(_KEYS, _SCALARS | _INNER | st.lists(_INNER, max_size=2), max_size=4)
_OBJECTS = st.dictionaries(_KEYS, _SCALARS | _MIDDLE | st.lists(_MIDDLE, max_size=2), max_size=6)
_LINES = st.lists(
    _OBJECTS.map(lambda record: json.dumps(record).encode()) | st.binary(max_size=40), max_size=6
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=_LINES)
def test_no_bytes_make_reading_fail_and_every_line_is_accounted_for(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "wild.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    reading = read_session(path)
    counts = reading.session.counts if isinstance(reading, SessionRead) else reading.counts
    assert counts.adds_up()
    if isinstance(reading, SessionRead):
        assert len({turn.uuid for turn in reading.session.turns}) == len(reading.session.turns)
