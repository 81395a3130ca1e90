from __future__ import annotations

import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.session import (
    AgentTurn,
    Channel,
    PersonTurn,
    ResultState,
    ToolCall,
    ToolResult,
    Turn,
)
from tasks.errors import WriteFailed
from tasks.evidence.words import (
    append_evidence,
    evidence_form,
    evidence_path,
    load_evidence,
    middle_cut,
    replace_evidence,
    turn_form,
)
from tests.evidence.writing import Transcript

AT = datetime(2026, 3, 2, 9, 0, 0, 123000, tzinfo=UTC)
FAILED = ToolCall("c1", "Bash", "make", ToolResult(ResultState.ERROR, "Exit code 1\nno", AT))
SAID = PersonTurn("u1", AT, "use pnpm\u2028please", Channel.PROMPT)
REFUSED = PersonTurn("u3", AT, "no", Channel.REFUSAL, after_interrupt=True, refused=FAILED)
DID = AgentTurn("u2", AT, "Done.", (FAILED, ToolCall("c2", "Read", "/x")), "claude-x")


def _hide(text: str) -> str:
    return text.replace("hunter2", "[redacted]")


def _shown(text: str) -> str:
    return text


def test_turns_come_back_as_they_were_appended(tmp_path: Path) -> None:
    path = evidence_path(tmp_path, "claude_code", "s1")
    first = append_evidence(path, [SAID, DID])
    second = append_evidence(path, [REFUSED])
    assert load_evidence(path, second) == (SAID, DID, REFUSED)
    assert path.read_bytes().count(b"\n") == 3
    assert load_evidence(path, first) == (SAID, DID)


def test_what_lies_beyond_the_length_is_cut_off_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    length = append_evidence(path, [SAID, DID])
    with path.open("ab") as stream:
        stream.write(b'{"torn')
    assert load_evidence(path, length) == (SAID, DID)
    assert path.stat().st_size == length
    assert load_evidence(path, length + 100) == (SAID, DID)
    assert path.stat().st_size == length


def test_a_later_line_replaces_an_earlier_one_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    longer = replace(DID, text="Done. And more.")
    append_evidence(path, [DID, SAID])
    assert load_evidence(path, append_evidence(path, [longer])) == (longer, SAID)


def test_a_rewritten_transcript_gets_its_evidence_anew(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    append_evidence(path, [SAID, DID])
    assert load_evidence(path, replace_evidence(path, [REFUSED])) == (REFUSED,)


def test_evidence_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = evidence_path(tmp_path / "evidence", "claude_code", "s1")
    append_evidence(path, [SAID])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_nothing_to_append_makes_no_file(tmp_path: Path) -> None:
    assert append_evidence(tmp_path / "s1.jsonl", []) == 0
    assert load_evidence(tmp_path / "s1.jsonl", 10) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_named(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").mkdir()
    with pytest.raises(WriteFailed, match=r"s1\.jsonl"):
        append_evidence(tmp_path / "s1.jsonl", [SAID])


def test_every_text_is_redacted_before_it_is_cut(transcript: Transcript) -> None:
    transcript.user("hunter2 is it " + "x" * 40_000)
    transcript.says("hunter2")
    transcript.calls("c1", command="login hunter2 " + "y" * 400)
    transcript.result("c1", "hunter2 wrong", is_error=True)
    transcript.calls("c2", command="ls")
    transcript.result("c2", "hunter2 listed")
    shown = repr(evidence_form(transcript.read(), _shown))
    session = evidence_form(transcript.read(), _hide)
    assert shown.count("hunter2") == 5
    assert "hunter2" not in repr(session)
    assert repr(session).count("[redacted]") == 5
    assert session.title.startswith("[redacted] is it")


def test_a_secret_across_a_cut_is_known_before_it_is_cut(transcript: Transcript) -> None:
    transcript.user("t" * 115 + " hunter2")
    transcript.calls("c1", command="c" * 296 + " hunter2")
    session = evidence_form(transcript.read(), _hide)
    assert "hun" not in repr(session)
    assert len(session.title) <= 120


def test_results_are_kept_only_for_what_went_wrong_and_texts_have_their_limits() -> None:
    good = ToolCall("c3", "Bash", "ls", ToolResult(ResultState.OK, "listed", AT))
    bad = replace(FAILED, result=ToolResult(ResultState.ERROR, "a" * 5000 + "z", AT))
    formed = turn_form(AgentTurn("u", AT, "é" * 9000, (good, bad)), _shown)
    assert isinstance(formed, AgentTurn)
    results = [call.result for call in formed.calls if call.result is not None]
    assert results[0].text == ""
    assert len(results[1].text.encode()) <= 2048
    assert results[1].text.endswith("z")
    assert 8000 < len(formed.text.encode()) <= 8192
    said = turn_form(replace(SAID, text="b" * 40_000), _shown)
    assert 32_000 < len(said.text) <= 32_768


_TURNS = st.one_of(
    st.builds(
        PersonTurn,
        st.just("u"),
        st.just(AT),
        st.text(),
        st.sampled_from(Channel),
        st.booleans(),
        st.none() | st.just(FAILED),
    ),
    st.builds(AgentTurn, st.just("u"), st.just(AT), st.text(), st.just((FAILED,)), st.text()),
)


@given(turn=_TURNS)
def test_the_evidence_form_of_evidence_is_itself(turn: Turn) -> None:
    once = turn_form(turn, _hide)
    assert turn_form(once, _hide) == once


@given(text=st.text(max_size=400), limit=st.integers(40, 300))
def test_a_cut_text_keeps_head_and_tail_within_the_limit(text: str, limit: int) -> None:
    cut = middle_cut(text, limit)
    assert len(cut.encode()) <= max(limit, 0)
    assert middle_cut(cut, limit) == cut
    if len(text.encode()) <= limit:
        assert cut == text
    else:
        head, _, tail = cut.partition("\n[… cut …]\n")
        assert text.startswith(head)
        assert text.endswith(tail)
