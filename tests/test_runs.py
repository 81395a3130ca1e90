"""The log of runs: what ran and how it ended, whoever was killed while they wrote it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tasks.domain.ran import NIGHTLY, Outcome, Ran, RunKey, completed_nights
from tasks.errors import Refused, StoreError, UsageError
from tasks.runs import MOST_BYTES, ended_by, known_runs, new_run, note_end, recorded, runs_before
from tests.store.build import NOW, Home

SECRET = "always rebase before you push"
LATER = NOW + timedelta(minutes=5)


def at_later() -> datetime:
    return LATER


def runs(log: Path, flow: str = NIGHTLY, error: BaseException | None = None) -> RunKey:
    """Run a flow that completes, or that an error ends."""
    key = new_run(flow)
    ends = pytest.raises(type(error)) if error else nullcontext()
    with ends, recorded(log, key, at=NOW, clock=at_later):
        _end(error)
    return key


def _end(error: BaseException | None) -> None:
    if error:
        raise error


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "runs.jsonl"


def test_a_run_is_known_with_its_times_and_how_it_ended(log: Path) -> None:
    done = runs(log)
    failed = runs(log, "ingest", StoreError("the disk is on fire"))
    assert known_runs(log) == [
        Ran(done, 1, NOW, LATER, Outcome.COMPLETED),
        Ran(failed, 3, NOW, LATER, Outcome.FAILED, "StoreError", "the disk is on fire"),
    ]
    assert completed_nights(known_runs(log)) == [LATER]
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (UsageError("there is no such folder"), Outcome.REFUSED),
        (Refused("it was forgotten"), Outcome.REFUSED),
        (StoreError("the disk is on fire"), Outcome.FAILED),
        (ValueError("a fault of ours"), Outcome.FAILED),
        (KeyboardInterrupt(), Outcome.STOPPED),
    ],
)
def test_a_request_that_cannot_be_done_is_no_failure_where_it_was_seen(
    error: BaseException, outcome: Outcome
) -> None:
    assert ended_by(error, attended=True) is outcome
    unseen = Outcome.FAILED if outcome is Outcome.REFUSED else outcome
    assert ended_by(error, attended=False) is unseen


def test_an_error_that_is_not_ours_leaves_its_name_and_none_of_its_words(log: Path) -> None:
    runs(log, "ingest", ValueError(SECRET))
    (run,) = known_runs(log)
    assert (run.outcome, run.error, run.why) == (Outcome.FAILED, "ValueError", "")
    assert SECRET not in log.read_text()


def test_an_interrupt_is_a_stop_and_no_failure(log: Path) -> None:
    runs(log, error=KeyboardInterrupt())
    assert known_runs(log)[0].outcome is Outcome.STOPPED


def test_a_killed_run_has_no_end_and_the_next_one_finds_it(log: Path) -> None:
    killed = RunKey(NIGHTLY, "killed")
    child = multiprocessing.get_context("spawn").Process(target=_die, args=(log,))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    own = new_run(NIGHTLY)
    with recorded(log, own, at=LATER):
        assert [run.key for run in runs_before(log, own) if run.went_wrong] == [killed]


def _die(log: Path) -> None:
    with recorded(log, RunKey(NIGHTLY, "killed"), at=NOW):
        os.kill(os.getpid(), signal.SIGKILL)


def test_who_watched_a_run_end_adds_nothing_to_what_it_said_itself(log: Path) -> None:
    key = runs(log, error=StoreError("the disk is on fire"))
    note_end(log, key, Outcome.CRASHED, at=LATER)
    (run,) = known_runs(log)
    assert (run.outcome, run.why) == (Outcome.FAILED, "the disk is on fire")


def test_a_run_that_never_held_the_store_is_known_by_its_end(log: Path) -> None:
    note_end(log, RunKey("ingest", "one"), Outcome.FAILED, StoreError("locked"), at=NOW)
    assert [(run.key.flow, run.why) for run in known_runs(log)] == [("ingest", "locked")]


def test_a_line_that_was_cut_or_is_not_ours_is_passed_over_and_spoils_no_other(log: Path) -> None:
    first = runs(log)
    with log.open("ab") as file:
        file.write(b'[]\n"x"\n\xff\xfe\n{"v":1,"n":9}\n{"v":1,"n":3,"what":"beg')
    second = runs(log)
    assert [run.key for run in known_runs(log)] == [first, second]


def test_the_log_stays_small_and_keeps_the_last_night_and_its_count(log: Path) -> None:
    night = runs(log)
    note = json.dumps({"v": 1, "n": 7, "x": "y" * 200}) + "\n"
    with log.open("a") as file:
        file.write(note * (MOST_BYTES // len(note) + 1))
    before = runs(log, "ingest")
    after = runs(log, "ingest")
    assert log.stat().st_size < MOST_BYTES
    known = known_runs(log)
    assert [run.key for run in known] == [night, before, after]
    assert sorted(run.n for run in known) == [run.n for run in known]


def test_two_processes_write_at_once_and_no_line_is_lost(log: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(log, n)) for n in range(2)]
    for one in writers:
        one.start()
    for one in writers:
        one.join(60)
    known = known_runs(log)
    assert len(known) == 60
    assert sorted(run.n for run in known) == list(range(1, 61))


def _write_many(log: Path, writer: int) -> None:
    for n in range(30):
        note_end(log, RunKey("ingest", f"{writer}-{n}"), Outcome.COMPLETED, at=datetime.now(UTC))


def test_opening_the_store_begins_a_run_and_leaving_it_ends_it(house: Home) -> None:
    with house.run() as run:
        (own,) = known_runs(house.places.runs)
        assert (own.key, own.outcome) == (run.key, None)
    with pytest.raises(ZeroDivisionError), house.run():
        raise ZeroDivisionError
    assert [one.outcome for one in known_runs(house.places.runs)] == ["completed", "failed"]


def test_lines_that_are_not_ours_are_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    own = runs(log)
    begun = {
        "v": 1,
        "n": 9,
        "what": "begun",
        "flow": NIGHTLY,
        "run": "x",
        "at": "2026-01-01T00:00:00Z",
    }
    ended = begun | {"what": "ended", "outcome": "failed", "error": "E", "why": "w"}
    strange = [
        "null",
        "[]",
        json.dumps(begun).replace("9", "1e400", 1),
        json.dumps(begun | {"flow": ["nightly"]}),
        json.dumps(begun | {"run": {}}),
        json.dumps(ended | {"why": 1}),
        json.dumps(begun | {"what": "remarked", "remark": []}),
    ]
    with log.open("ab") as more:
        more.write(b"\xff\xfe\n" + "\n".join(strange).encode() + b"\n")

    assert [run.key for run in known_runs(log)] == [own]
    runs(log)
    assert len(known_runs(log)) == 2
