"""Reading in pieces gives what reading whole gives: the turns, the counts and the evidence file."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.domain.session import Session, Turn
from tasks.evidence.claude_code import read_session
from tasks.evidence.reading import Mark, NothingRead, Resume, SessionRead
from tasks.evidence.roots import find_transcripts
from tasks.evidence.words import append_evidence, evidence_form, load_evidence, turn_form
from tests.evidence.writing import REFUSED, Transcript, spoken

STEPS = (
    lambda t: t.user("a prompt\nof two lines"),
    lambda t: t.says("agent text", message="m"),
    lambda t: t.says("agent text, longer", message="m"),
    lambda t: t.calls(f"c{t.made}", command="make all"),
    lambda t: t.result(f"c{t.made - 1}", "ok"),
    lambda t: t.result(f"c{t.made - 3}", "Exit code 2\nlate", is_error=True),
    lambda t: t.result(
        f"c{t.made - 1}",
        REFUSED + "To tell you how to proceed, the user said:\nnot so",
        is_error=True,
    ),
    lambda t: t.result(f"c{t.made - 1}", REFUSED, is_error=True),
    lambda t: t.user("[Request interrupted by user]"),
    lambda t: t.queue("enqueue", f"queued {t.made}"),
    lambda t: t.queue("enqueue", "queued twice"),
    lambda t: t.queue("dequeue"),
    lambda t: t.queue("remove"),
    lambda t: t.queue("remove", "queued twice"),
    lambda t: t.queued("queued twice"),
    lambda t: t.user("queued twice"),
    lambda t: t.user("skill", isMeta=True),
    lambda t: t.record("progress", data={"type": "bash_progress"}),
    lambda t: t.bare(type="ai-title", aiTitle=f"title {t.made}"),
    lambda t: t.raw(b"{bad\n"),
    lambda t: t.raw(b"\n"),
    lambda t: t.raw(b"{bad, and no end"),
    lambda t: t.lines.append(t.lines.pop().rstrip(b"\n")) if t.lines else None,
    lambda t: t.lines.append(t.lines[len(t.lines) // 2]) if t.lines else None,
)


def _hide(text: str) -> str:
    return text.replace("late", "[redacted]")


def _in_pieces(path: Path, data: bytes, ends: Sequence[int]) -> tuple[Session, tuple[Turn, ...]]:
    """Read a growing file as the night does: mark through JSON, turns from the evidence file."""
    evidence = path.with_suffix(".evidence")
    evidence.unlink(missing_ok=True)
    resume, session, length = None, None, 0
    for end in [*sorted(ends), len(data)]:
        path.write_bytes(data[:end])
        reading = read_session(path, resume=resume)
        if isinstance(reading, NothingRead):
            continue
        length = append_evidence(evidence, [turn_form(turn, _hide) for turn in reading.changed])
        session = evidence_form(reading.session, _hide)
        if reading.mark is not None:
            mark = Mark.from_json(json.loads(json.dumps(reading.mark.to_json())))
            resume = Resume(mark, load_evidence(evidence, length))
    assert session is not None
    assert session.counts.adds_up()
    return session, load_evidence(evidence, length)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(st.sampled_from(STEPS), max_size=25),
    cuts=st.lists(st.floats(0, 1), max_size=4),
)
def test_pieces_of_any_transcript_give_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[Callable[[Transcript], object]],
    cuts: list[float],
) -> None:
    transcript = Transcript(tmp_path_factory.getbasetemp() / "pieces" / "s1.jsonl")
    transcript.user("first")
    for step in steps:
        step(transcript)
    whole = evidence_form(transcript.read(), _hide)
    data = b"".join(transcript.lines)
    session, kept = _in_pieces(transcript.path, data, [int(cut * len(data)) for cut in cuts])
    assert session == whole
    assert kept == whole.turns


def _attached_then_removed(t: Transcript) -> None:
    t.queue("enqueue", "x")
    t.queued("x")
    t.user("next")
    t.queue("remove")
    t.says("ok")


def _removed_then_attached_late(t: Transcript) -> None:
    t.queue("enqueue", "x")
    t.queue("remove")
    t.says("ok")
    t.user("next")
    t.queued("x")


def _removed_twice_by_one_record(t: Transcript) -> None:
    t.queue("remove", "x")
    t.lines.append(t.lines[-1])
    t.result("c1", "ok")
    t.lines.append(t.lines[-2])
    t.user("next")


def _titled_early(t: Transcript) -> None:
    t.bare(type="custom-title", customTitle="mine")
    t.user("next")
    t.says("ok")


def _taken_over_a_refusal(t: Transcript) -> None:
    t.calls("c1", command="make")
    t.queue("enqueue", "after")
    t.queue("enqueue", "sooner")
    t.queue("dequeue")
    said = "To tell you how to proceed, the user said:\nno"
    t.result("c1", REFUSED + said, is_error=True)
    t.user("sooner")
    t.queue("remove")
    t.says("ok")


def _queue_record_again(t: Transcript) -> None:
    t.queue("remove", "x")
    t.user("next")
    t.lines.append(t.lines[1])
    t.user("last")


@pytest.mark.parametrize(
    ("story", "texts"),
    [
        (_attached_then_removed, ["first", "x", "next"]),
        (_removed_then_attached_late, ["first", "x", "next"]),
        (_removed_twice_by_one_record, ["first", "x", "next"]),
        (_titled_early, ["first", "next"]),
        (_taken_over_a_refusal, ["first", "no", "sooner", "after"]),
        (_queue_record_again, ["first", "x", "next", "last"]),
    ],
)
def test_a_cut_at_any_line_gives_the_whole(
    transcript: Transcript, story: Callable[[Transcript], None], texts: list[str]
) -> None:
    transcript.user("first")
    story(transcript)
    whole = evidence_form(transcript.read(), _hide)
    assert [turn.text for turn in spoken(whole)] == texts
    data = b"".join(transcript.lines)
    for lines in range(1, len(transcript.lines)):
        end = len(b"".join(transcript.lines[:lines]))
        session, kept = _in_pieces(transcript.path, data, [end])
        assert session == whole
        assert kept == whole.turns


def test_pieces_of_every_real_transcript_give_the_whole(shared_data: Path, tmp_path: Path) -> None:
    chance = random.Random(20260302)
    for file in find_transcripts(shared_data / "transcripts" / "claude").transcripts[::3]:
        data = file.read_bytes()
        whole = read_session(file)
        assert isinstance(whole, SessionRead)
        formed = evidence_form(whole.session, _hide)
        ends = [chance.randrange(len(data) + 1) for _ in range(3)]
        session, kept = _in_pieces(tmp_path / file.name, data, ends)
        assert replace(session, path=formed.path) == formed
        assert kept == formed.turns


def _long(transcript: Transcript, prompts: int) -> SessionRead:
    for number in range(prompts):
        transcript.user(f"prompt {number}")
        transcript.says("answer")
    reading = read_session(transcript.write())
    assert isinstance(reading, SessionRead)
    return reading


def _resumed(transcript: Transcript, before: SessionRead) -> SessionRead:
    assert before.mark is not None
    resume = Resume(before.mark, before.session.turns)
    reading = read_session(transcript.write(), resume=resume)
    assert isinstance(reading, SessionRead)
    return reading


def test_an_append_is_read_alone_with_the_turn_it_falls_into(transcript: Transcript) -> None:
    before = _long(transcript, 200)
    transcript.says("more")
    transcript.user("next")
    after = _resumed(transcript, before)
    assert [turn.text for turn in after.changed] == ["answer\n\nmore", "next"]
    assert len(after.session.turns) == 401
    assert after.session.turns[:399] == before.session.turns[:399]


def test_nothing_before_the_mark_is_read_again(transcript: Transcript) -> None:
    before = _long(transcript, 200)
    transcript.lines[10] = b"#" * (len(transcript.lines[10]) - 1) + b"\n"  # would be a bad line
    transcript.user("next")
    assert _resumed(transcript, before).session.counts.failed == []
    whole = transcript.read()
    assert whole.counts.failed == [11]


def test_a_late_result_changes_the_earlier_turn_it_belongs_to(transcript: Transcript) -> None:
    transcript.user("go")
    transcript.calls("c1", command="sleep 9")
    before = _long(transcript, 3)
    transcript.result("c1", "Exit code 1", is_error=True)
    after = _resumed(transcript, before)
    assert after.changed[0] == after.session.turns[1]
    assert "Exit code 1" in repr(after.changed[0])


def test_records_appended_again_long_after_are_still_known(transcript: Transcript) -> None:
    before = _long(transcript, 200)
    transcript.lines += transcript.lines[20:40]
    after = _resumed(transcript, before)
    assert len(after.session.turns) == 400
    assert after.session.counts.duplicates == 20


def test_without_the_evidence_of_earlier_turns_the_file_is_read_whole(
    transcript: Transcript,
) -> None:
    before = _long(transcript, 20)
    transcript.user("next")
    assert before.mark is not None
    reading = read_session(transcript.write(), resume=Resume(before.mark, ()))
    assert isinstance(reading, SessionRead)
    assert len(reading.session.turns) == 41


def test_a_file_shorter_than_the_mark_is_read_whole(transcript: Transcript) -> None:
    before = _long(transcript, 20)
    transcript.lines = transcript.lines[:4]
    assert len(_resumed(transcript, before).session.turns) == 4


def test_a_mark_holds_none_of_the_persons_words(transcript: Transcript) -> None:
    transcript.bare(type="custom-title", customTitle="hunter2")
    transcript.queue("enqueue", "hunter2 waits")
    transcript.user("hunter2")
    reading = read_session(transcript.write())
    assert isinstance(reading, SessionRead)
    assert reading.mark is not None
    assert "hunter2" in repr(reading.session)
    assert "hunter2" not in json.dumps(reading.mark.to_json())


# Real data, whole


def test_every_real_transcript_reads_and_adds_up(shared_data: Path) -> None:
    found = find_transcripts(shared_data / "transcripts" / "claude")
    people = 0
    for file in found.transcripts:
        reading = read_session(file)
        assert isinstance(reading, SessionRead), (file, reading)
        assert reading.session.counts.adds_up()
        assert reading.session.by_person
        people += len(spoken(reading.session))
    assert found.set_aside == ()
    assert len(found.transcripts) == 141
    assert 1100 < people < 1200


def test_every_labelled_message_is_a_turn_of_the_persons(shared_data: Path) -> None:
    rows = (shared_data / "labels" / "labels.tsv").read_text("utf-8").split("\n")[1:]
    wanted: dict[str, set[str]] = {}
    for row in filter(None, rows):
        file, _, uuid, *_ = row.split("\t")
        wanted.setdefault(file, set()).add(uuid)
    missing = set()
    for file, uuids in wanted.items():
        reading = read_session(shared_data / file)
        assert isinstance(reading, SessionRead)
        missing |= uuids - {turn.uuid for turn in spoken(reading.session)}
    assert sum(map(len, wanted.values())) == 376
    assert missing == set()
