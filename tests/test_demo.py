import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tasks.demo import DemoWeek, write_week
from tasks.domain.redaction import redact
from tasks.domain.scope import Scope
from tasks.domain.session import AgentTurn, Channel, PersonTurn, ResultState, Session
from tasks.domain.units import Episode, EpisodeKind
from tasks.evidence.claude_code import read_session
from tasks.evidence.detectors import detect
from tasks.evidence.episodes import episodes_of
from tasks.evidence.reading import SessionRead
from tasks.render.places import encode
from tasks.sleep.error_key import error_key
from tasks.wording import Worded, word

NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
SCOPE = Scope("me", "user", "default", "demo")


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> DemoWeek:
    return write_week(tmp_path_factory.mktemp("demo"), now=NOW)


@pytest.fixture(scope="module")
def sessions(week: DemoWeek) -> list[Session]:
    found = [read_session(path) for path in week.files]
    return [one.session for one in found if isinstance(one, SessionRead)]


def records(week: DemoWeek) -> list[dict[str, Any]]:
    return [json.loads(line) for path in week.files for line in path.read_bytes().splitlines()]


def said(sessions: list[Session]) -> list[PersonTurn]:
    return [turn for one in sessions for turn in one.turns if isinstance(turn, PersonTurn)]


def test_it_lies_as_under_the_hosts_root(week: DemoWeek) -> None:
    assert len(week.files) == 12
    assert len(week.projects) == 2
    names = {encode(project) for project in week.projects}
    assert {path.parent.name for path in week.files} == names
    assert {path.parent.parent for path in week.files} == {week.root / "projects"}


def test_the_same_moment_gives_the_same_bytes(week: DemoWeek, tmp_path: Path) -> None:
    again = write_week(tmp_path, now=NOW)
    assert [x.read_bytes() for x in again.files] == [x.read_bytes() for x in week.files]
    later = write_week(tmp_path, now=NOW + timedelta(days=1))
    assert {x.name for x in later.files}.isdisjoint({x.name for x in week.files})


@pytest.mark.parametrize("hour", [0, 23])
def test_everything_happened_in_the_days_before(tmp_path: Path, hour: int) -> None:
    now = NOW.replace(hour=hour)
    for path in write_week(tmp_path, now=now).files:
        read = read_session(path)
        assert isinstance(read, SessionRead)
        assert now - timedelta(days=8) < read.session.started < read.session.ended < now
        assert path.stat().st_mtime <= now.timestamp()


def test_every_record_is_read_or_set_aside(sessions: list[Session]) -> None:
    assert len(sessions) == 12
    for one in sessions:
        assert one.by_person
        assert one.counts.adds_up()
        assert not one.counts.failed
        assert one.counts.set_aside.total() > 0


def test_it_has_the_noise_of_real_files(week: DemoWeek) -> None:
    found = records(week)
    kinds = Counter(record["type"] for record in found)
    for kind in ("progress", "system", "attachment", "queue-operation", "file-history-snapshot"):
        assert kinds[kind] > 0
    messages = Counter(x["message"]["id"] for x in found if x["type"] == "assistant")
    assert max(messages.values()) > 1
    uuids = [record["uuid"] for record in found if "uuid" in record]
    assert len(set(uuids)) == len(uuids)


def test_the_person_speaks_through_every_channel(sessions: list[Session]) -> None:
    channels = Counter(turn.channel for turn in said(sessions))
    assert channels[Channel.PROMPT] > 20
    assert channels[Channel.QUEUED] > 0
    assert channels[Channel.REFUSAL] > 0
    assert any(turn.after_interrupt for turn in said(sessions))
    assert sum(one.interrupts for one in sessions) > 0
    assert sum(one.refusals_without_reason for one in sessions) > 0


def test_no_harness_text_is_taken_for_words(sessions: list[Session]) -> None:
    for turn in said(sessions):
        assert "tool use" not in turn.text
        assert "system-reminder" not in turn.text


def test_it_holds_something_to_learn_and_something_not_to(sessions: list[Session]) -> None:
    corrections = [c for one in sessions for c in detect(one).corrections]
    lasting = [c for c in corrections if c.lasting]
    assert len(lasting) >= 6
    assert len(corrections) > len(lasting)
    assert any(c.standing for c in lasting)
    about_pnpm = {c.turn.uuid for c in lasting if "pnpm" in c.turn.text}
    assert len(about_pnpm) >= 2


def test_errors_and_surprises_come_back_in_other_sessions(sessions: list[Session]) -> None:
    failed = Counter(
        line for one in sessions for line in {error.call.line for error in detect(one).errors}
    )
    assert failed["npm install"] >= 2
    surprised = [one.id for one in sessions if detect(one).surprises]
    assert len(surprised) >= 3
    assert any(detect(one).environment for one in sessions)


def test_each_call_has_its_end(sessions: list[Session]) -> None:
    calls = [
        call
        for one in sessions
        for turn in one.turns
        if isinstance(turn, AgentTurn)
        for call in turn.calls
    ]
    assert all(call.result is not None for call in calls)
    states = Counter(call.result.state for call in calls if call.result is not None)
    assert {ResultState.OK, ResultState.ERROR, ResultState.REFUSED} <= states.keys()


def test_the_pasted_credential_is_one_that_redaction_knows(week: DemoWeek) -> None:
    texts = [path.read_text("utf-8") for path in week.files]
    holding = [text for text in texts if week.token in text]
    assert len(holding) == 1
    assert week.token not in str(redact(holding[0]))


def test_what_it_teaches_reads_as_rules_that_a_stranger_can_follow(
    sessions: list[Session],
) -> None:
    found = {text for one in sessions for text in told(one)}
    assert found >= {
        "Don't mock the database in tests; use the test container.",
        "We always use pnpm in this repo.",
        "File names are kebab-case here, always: export-orders.ts.",
        "Run the tests with uv run pytest: the system Python has nothing installed.",
        "Always make a branch and open a pull request, even for small changes.",
        "We don't keep dead code.",
    }
    assert not any("The person" in text for text in found)


def test_a_way_that_failed_twice_is_told_with_the_way_that_worked(sessions: list[Session]) -> None:
    alike: dict[object, list[Episode]] = {}
    for one in sessions:
        for episode in episodes_of(one, detect(one), SCOPE, NOW):
            if key := error_key(episode):
                alike.setdefault(key, []).append(episode)
    made = [word(EpisodeKind.ERROR, each) for each in alike.values()]
    assert {one.text for one in made if isinstance(one, Worded)} == {
        "Use `uv run pytest`, not `python -m pytest`, which has failed here.",
        "Use `pnpm install`, not `npm install`, which has failed here.",
    }


def told(session: Session) -> list[str]:
    """Return the texts that each lasting rule of a session would have by itself."""
    rules = [one for one in episodes_of(session, detect(session), SCOPE, NOW) if one.lasting]
    made = [word(EpisodeKind.CORRECTION, [rule]) for rule in rules]
    return [one.text for one in made if isinstance(one, Worded)]
