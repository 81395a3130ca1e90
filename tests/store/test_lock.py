"""One writer at a time; who holds the lock is named, and a dead holder holds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.errors import StoreLocked, WriteFailed
from tasks.store.lock import holder, writer_at_work, writer_lock
from tests.store.build import Home, episode, put

HOLD = """
import sys, time
from pathlib import Path
from tasks.store.lock import writer_lock
with writer_lock(Path(sys.argv[1]), wait=5, started="2026-06-01T03:00:00Z"):
    print("held", flush=True)
    sys.stdin.read()
"""

Holder = subprocess.Popen[bytes]


@pytest.fixture
def other(house: Home) -> Iterator[Holder]:
    """Give a process that holds the lock until its input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(house.places.lock)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()


def test_a_living_holder_is_named_and_nothing_is_written(house: Home, other: Holder) -> None:
    told: list[str] = []
    with (
        pytest.raises(StoreLocked, match=rf"process {other.pid} .*started 2026-06-01"),
        writer_lock(house.places.lock, wait=0.2, started="now", waiting=told.append),
    ):
        pass
    assert len(told) == 1
    assert str(other.pid) in told[0]
    assert str(other.pid) in writer_at_work(house.places.lock)
    with pytest.raises(StoreLocked):
        house.commit(put(episode("a")))
    assert not house.places.store.exists()


def test_a_killed_holder_does_not_block_the_next(house: Home, other: Holder) -> None:
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert str(other.pid) in holder(house.places.lock)
    assert writer_at_work(house.places.lock) == ""
    assert house.commit(put(episode("a"))).tx == 1


def test_one_that_lets_go_in_time_is_waited_for(house: Home, other: Holder) -> None:
    def let_go(_: str) -> None:
        assert other.stdin is not None
        other.stdin.close()

    with writer_lock(house.places.lock, wait=20, started="now", waiting=let_go):
        assert str(os.getpid()) in holder(house.places.lock)
        assert str(os.getpid()) in writer_at_work(house.places.lock)
    assert writer_at_work(house.places.lock) == ""


def test_nobody_is_at_work_where_there_was_never_a_lock(tmp_path: Path) -> None:
    assert writer_at_work(tmp_path / "store.lock") == ""
    assert "another" in holder(tmp_path / "store.lock") or holder(tmp_path / "store.lock")


def test_a_run_that_fails_lets_go(house: Home) -> None:
    with (
        pytest.raises(RuntimeError),
        writer_lock(house.places.lock, wait=0, started="now"),
    ):
        raise RuntimeError
    with writer_lock(house.places.lock, wait=0, started="now"):
        pass


def test_a_lock_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "store.lock").mkdir()
    with (
        pytest.raises(WriteFailed, match=r"store\.lock"),
        writer_lock(tmp_path / "store.lock", wait=0, started="now"),
    ):
        pass
