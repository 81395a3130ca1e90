"""Two processes at one home: one writes at a time, and whoever speaks or reads never waits."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from subprocess import Popen

import duckdb
import pytest

from tasks.memory import Memory
from tasks.settings import Places
from tasks.store.lock import writer_at_work
from tests.serving.shipped import Everest
from tests.trust import material

Started = Popen[bytes]

_LONG = 100.0


@pytest.fixture
def home(tmp_path: Path) -> Everest:
    """Give a person with a week of transcripts and no night yet."""
    person = Everest(tmp_path)
    material.first_week(person.claude, datetime.now(UTC))
    return person


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the digest of one night on the same week, with nobody else about."""
    person = Everest(tmp_path_factory.mktemp("alone"))
    material.first_week(person.claude, datetime.now(UTC))
    assert person("night").code == 0
    return person.digest()


def _end(process: Started) -> str:
    _, told = process.communicate(timeout=_LONG)
    assert process.returncode == 0, told.decode()
    return told.decode()


def _until(found: Callable[[], object], process: Started) -> None:
    deadline = time.monotonic() + _LONG
    while not found():
        assert process.poll() is None, "it ended before it could be met at work"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _rows(person: Everest, sql: str) -> list[tuple[str, int]]:
    with duckdb.connect(str(person.home / "memory.duckdb"), read_only=True) as store:
        return store.execute(sql).fetchall()


def test_two_nights_started_together_come_to_what_one_comes_to(home: Everest, alone: str) -> None:
    both = [home.start("night", EVEREST_LOCK_WAIT="90") for _ in range(2)]
    for process in both:
        _end(process)
    assert home.digest() == alone
    twice = "SELECT lesson_id, max(version) FROM lesson_versions GROUP BY 1 ORDER BY 1"
    before = _rows(home, twice)
    assert home("night").code == 0
    assert _rows(home, twice) == before
    assert home("rebuild").code == 0
    assert home.digest() == alone


def test_one_that_may_not_wait_says_who_is_at_work_and_changes_nothing(
    home: Everest, alone: str
) -> None:
    first = home.start("night")
    _until(lambda: writer_at_work(home.home / "store.lock"), first)
    told = home("night", EVEREST_LOCK_WAIT="0")
    assert told.code == 4
    assert f"process {first.pid}" in told.err
    _end(first)
    assert home.digest() == alone


def test_a_night_that_waits_goes_on_when_the_one_it_waits_for_is_killed(
    home: Everest, alone: str
) -> None:
    first = home.start("night")
    _until(lambda: list(home.home.glob("ledger/*.jsonl")), first)
    second = home.start("night", EVEREST_LOCK_WAIT="90")
    time.sleep(0.1)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert first.returncode == -signal.SIGKILL, "it was at work when it was killed"
    _end(second)
    assert home.digest() == alone


READER = """
import sys
from pathlib import Path
from serving.cli.main import run
view, newest = Path(sys.argv[1]), sys.argv[2].encode()
def take_away(event, given):
    if event == "open" and "catalog-0" in str(given[0]) and (view / "0.json").exists():
        (view / "0.json").unlink()
        (view / "current").write_bytes(newest)
sys.addaudithook(take_away)
code = run(["lessons", "--json"])
assert not (view / "0.json").exists(), "it was read before it went away"
sys.exit(code)
"""


def test_a_reader_whose_view_went_away_meanwhile_reads_the_newest(home: Everest) -> None:
    """It goes between the reading of its manifest and that of the folders it names."""
    assert home("night").code == 0
    listed = home.lessons()
    view = home.home / "view"
    newest = (view / "current").read_bytes()
    manifest = json.loads((view / newest.decode()).read_bytes())
    old = json.dumps({**manifest, "number": 0, "catalog": "catalog-0"}).encode()
    (view / "0.json").write_bytes(old)
    (view / "current").write_bytes(b"0.json")
    told = home.run([sys.executable, "-c", READER, str(view), newest.decode()])
    assert told.code == 0, told.err
    assert told.data == listed


APPENDER = """
import sys
from serving.cli.main import run
for n in range(int(sys.argv[2])):
    code = run(["remember", f"note {sys.argv[1]} {n}", "--project", "paperboat"])
    assert code == 0, code
"""


def _notes(person: Everest) -> Counter[str]:
    sql = "SELECT words, count(*) FROM episodes WHERE kind = 'note' GROUP BY 1"
    return Counter(dict(_rows(person, sql)))


@pytest.mark.slow
def test_two_hundred_notes_said_during_a_night_are_all_kept_once(home: Everest) -> None:
    assert home("night").code == 0
    material.second_week(home.claude, datetime.now(UTC))
    night = home.start("night")
    speakers = [_speak(home, str(number), 100) for number in range(2)]
    _end(night)
    for speaker in speakers:
        _end(speaker)
    assert home("night").code == 0
    assert _notes(home) == Counter(f"note {who} {n}" for who in range(2) for n in range(100))


def _speak(person: Everest, who: str, many: int) -> Started:

    return subprocess.Popen(
        [sys.executable, "-c", APPENDER, who, str(many)],
        env=person.env(PYTHONPATH=str(Path(__file__).parents[2])),
        cwd=person.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_a_reader_meets_one_publication_whole_while_others_are_made(home: Everest) -> None:
    """Whatever it opens belongs to the manifest that it began with."""
    assert home("night").code == 0
    places = Places(home.home)
    material.second_week(home.claude, datetime.now(UTC))
    seen: set[str] = set()
    night = home.start("night")
    readings = 0
    while night.poll() is None:
        memory = Memory(places)
        assert memory.view is not None
        rows = {
            (row["unit"], row["id"])
            for entry in memory.view.manifest.scopes
            if (scope := memory.view.scope(entry.scope)) is not None
            for row in scope.rows
        }
        listed = {row["lesson_id"] for row in memory.view.listed("lessons")}
        assert {unit for kind, unit in rows if kind == "lesson"} <= listed
        seen.add(memory.view.manifest.digest)
        readings += 1
    _end(night)
    assert readings > 5
    seen.add(home.digest())
    assert len(seen) == 2, "the publication before the night, and the one after"
