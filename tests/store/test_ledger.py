"""The redo log: what a crash can leave, what a disk can damage, and what each means."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tasks.errors import (
    LedgerBroken,
    StoreBehind,
    StoreCorrupt,
    StoreError,
    StoreNewer,
    WriteFailed,
)
from tasks.store import gateway, ledger
from tasks.store.ledger import Ledger, Record
from tests.store.build import NOW, SCOPE, Home, episode, home_in, put


def record(tx: int, text: str = "words") -> Record:
    op = {"op": "episode", "words": text}
    return Record(
        tx, "2026-06-01T03:00:00Z", [op], {"a.jsonl": tx}, {"/t/x": {"n": tx}}, [{"s": 1}]
    )


def filled(folder: Path, count: int = 3) -> Path:
    book = Ledger(folder)
    for tx in range(1, count + 1):
        book.append(record(tx))
    return folder / "000001.jsonl"


def txs(folder: Path) -> list[int]:
    return [kept.record.tx for kept in Ledger(folder).records()]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the system refuse to write a file beyond `size` bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_records_come_back_as_they_were_appended(tmp_path: Path) -> None:
    filled(tmp_path)
    book = Ledger(tmp_path)
    assert [kept.record for kept in book.records()] == [record(1), record(2), record(3)]
    assert [kept.record.tx for kept in book.records(after=2)] == [3]
    assert book.last_tx == 3
    assert book.last_digest == [kept.digest for kept in book.records()][-1]


@pytest.mark.parametrize("after", range(7))
def test_records_after_one_are_the_later_ones_of_every_segment(tmp_path: Path, after: int) -> None:
    for number in range(3):
        lines = [record(tx).line() for tx in (2 * number + 1, 2 * number + 2)]
        (tmp_path / f"{number + 1:06}.jsonl").write_bytes(b"".join(lines))
    found = [kept.record.tx for kept in Ledger(tmp_path).records(after=after)]
    assert found == list(range(after + 1, 7))


def test_segments_that_end_before_the_records_asked_for_are_not_read_again(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    (tmp_path / "000002.jsonl").write_bytes(record(4).line())
    book = Ledger(tmp_path)
    first = tmp_path / "000001.jsonl"
    first.write_bytes(first.read_bytes()[:-5] + b"xxxx\n")
    assert [kept.record.tx for kept in book.records(after=4)] == []
    with pytest.raises(LedgerBroken):
        list(book.records(after=2))


def test_an_empty_ledger_has_no_last_record(tmp_path: Path) -> None:
    assert (Ledger(tmp_path).last_tx, Ledger(tmp_path).last_digest) == (0, "")


@pytest.mark.parametrize("lost", [1, 2, 40, 90])
def test_a_last_record_that_is_cut_off_is_truncated(tmp_path: Path, lost: int) -> None:
    segment = filled(tmp_path)
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-lost])
    assert txs(tmp_path) == [1, 2]
    assert whole.startswith(segment.read_bytes())
    assert segment.read_bytes().endswith(b"\n")
    assert Ledger(tmp_path).append(record(3))
    assert txs(tmp_path) == [1, 2, 3]


def test_a_last_record_with_a_wrong_checksum_is_truncated(tmp_path: Path) -> None:
    segment = filled(tmp_path)
    segment.write_bytes(segment.read_bytes()[::-1].replace(b"sdrow", b"sdrov", 1)[::-1])
    assert txs(tmp_path) == [1, 2]


@pytest.mark.parametrize("way", ["changed", "cut", "emptied"])
def test_a_damaged_record_in_the_middle_stops_writes_and_is_named(tmp_path: Path, way: str) -> None:
    segment = filled(tmp_path)
    lines = segment.read_bytes().splitlines(keepends=True)
    lines[1] = {
        "changed": lines[1].replace(b"words", b"wards"),
        "cut": lines[1][:-20] + b"\n",
        "emptied": b"\n",
    }[way]
    damaged = b"".join(lines)
    segment.write_bytes(damaged)
    with pytest.raises(LedgerBroken, match=r"000001\.jsonl, record 2") as told:
        Ledger(tmp_path)
    assert "backup" in str(told.value)
    assert segment.read_bytes() == damaged


def test_a_cut_record_at_the_end_of_an_older_segment_is_not_truncated(tmp_path: Path) -> None:
    segment = filled(tmp_path)
    (tmp_path / "000002.jsonl").write_bytes(record(4).line())
    assert txs(tmp_path) == [1, 2, 3, 4]
    cut = segment.read_bytes()[:-3]
    segment.write_bytes(cut)
    with pytest.raises(LedgerBroken, match=r"000001\.jsonl, record 3"):
        Ledger(tmp_path)
    assert segment.read_bytes() == cut


def test_a_full_segment_is_followed_by_another(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    full = record(2, "x" * (ledger.SEGMENT_BYTES - 2_000))
    book = Ledger(tmp_path)
    for one in (full, record(3, "y" * 4_000), record(4)):
        book.append(one)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001.jsonl", "000002.jsonl"]
    assert txs(tmp_path) == [1, 2, 3, 4]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())


def test_a_record_that_the_disk_refused_leaves_no_part(tmp_path: Path) -> None:
    segment = filled(tmp_path)
    before = segment.read_bytes()
    book = Ledger(tmp_path)
    with largest_file(len(before) + 30), pytest.raises(WriteFailed, match=r"000001\.jsonl"):
        book.append(record(4))
    assert segment.read_bytes() == before
    book.append(record(4))
    assert txs(tmp_path) == [1, 2, 3, 4]


def test_a_ledger_of_a_newer_everest_is_refused_untouched(tmp_path: Path) -> None:
    import zlib  # noqa: PLC0415  a line as a newer release would write it

    segment = filled(tmp_path)
    body = record(4).line()[: -ledger._CRC_LENGTH].replace(b'"v":1', b'"v":2')
    line = body + ledger._CRC % zlib.crc32(body)
    segment.write_bytes(segment.read_bytes() + line)
    before = segment.read_bytes()
    with pytest.raises(StoreNewer, match=r"schema 2, this Everest knows 1"):
        Ledger(tmp_path)
    assert segment.read_bytes() == before


def test_a_store_that_differs_from_the_ledger_is_set_aside(house: Home) -> None:
    house.commit(put(episode("a")))
    house.commit(put(episode("b")))
    before = house.digest()
    with house.opened() as store:
        store.database.run("UPDATE meta SET value = 'another' WHERE name = 'last'")
    with pytest.raises(StoreCorrupt, match="everest rebuild") as told, house.opened():
        pass
    kept = house.places.home / "memory.duckdb.corrupt-1"
    assert kept.is_file()
    assert str(kept) in str(told.value)
    assert house.digest() == before


def test_a_store_that_is_ahead_of_the_ledger_is_set_aside(house: Home) -> None:
    house.commit(put(episode("a")))
    house.commit(put(episode("b")))
    segment = house.places.ledger / "000001.jsonl"
    segment.write_bytes(segment.read_bytes().splitlines(keepends=True)[0])
    with (
        pytest.raises(StoreCorrupt, match="it holds record 2, the ledger ends at 1"),
        house.opened(),
    ):
        pass


def test_a_ledger_that_is_gone_stops_every_write_and_the_store_stays(house: Home) -> None:
    house.commit(put(episode("a")))
    segment = house.places.ledger / "000001.jsonl"
    kept = segment.read_bytes()
    segment.unlink()
    for _ in range(2):  # a second try must not begin anew: what was rejected would come back
        with pytest.raises(LedgerBroken, match="the store holds 1 records"), house.opened():
            pass
    assert list(house.places.home.glob("memory.duckdb*")) == [house.places.store]
    segment.write_bytes(kept)
    with house.opened() as store:
        assert store.database.rows("SELECT count(*) FROM episodes") == [(1,)]


def test_a_commit_that_fails_is_told_and_the_next_opening_applies_it(
    house: Home, tmp_path: Path
) -> None:
    """The log file of DuckDB may not grow: the ledger takes the record, the store does not."""
    many = np.ones((2_000, 256), np.float32)
    with house.opened() as store:
        gateway.commit(store, [put(episode("a"))], at=NOW)
        gateway.put_vectors(store, SCOPE, "x", [str(n) for n in range(2_000)], many, at=NOW)
        with largest_file(500_000), pytest.raises(StoreBehind, match="record 2"):
            gateway.commit(store, [put(episode("b"))], at=NOW)
    with house.opened() as store:
        assert store.caught_up == 1
        assert store.database.rows("SELECT count(*) FROM episodes") == [(2,)]
    unkilled = home_in(tmp_path / "unkilled")
    unkilled.commit(put(episode("a")))
    unkilled.commit(put(episode("b")))
    assert unkilled.digest() == house.digest()


def test_a_ledger_that_cannot_be_written_leaves_the_store_as_it_was(house: Home) -> None:
    house.commit(put(episode("a")))
    size = (house.places.ledger / "000001.jsonl").stat().st_size
    with house.opened() as store:
        with largest_file(size + 10), pytest.raises(WriteFailed, match="ledger"):
            gateway.commit(store, [put(episode("b"))], at=NOW)
        assert store.database.rows("SELECT count(*) FROM episodes") == [(1,)]
        assert gateway.commit(store, [put(episode("b"))], at=NOW).tx == 2
    with house.opened() as store:
        assert store.database.rows("SELECT count(*) FROM episodes") == [(2,)]


KILLED = """
import os, signal, sys
from pathlib import Path
from tasks.store import gateway
from tasks.store.database import Database
from tests.store.build import NOW, episode, home_in, put

class Mortal(Database):
    def commit(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

with home_in(Path(sys.argv[1])).opened() as store:
    store.database = Mortal(store.database._connection, store.database.path)
    gateway.commit(store, [put(episode("b"))], at=NOW)
"""


def test_a_run_killed_between_ledger_and_commit_loses_nothing(house: Home, tmp_path: Path) -> None:
    house.commit(put(episode("a")))
    died = subprocess.run(
        [sys.executable, "-c", KILLED, str(house.places.home)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    with house.opened() as store:
        assert store.caught_up == 1
    unkilled = home_in(tmp_path / "unkilled")
    unkilled.commit(put(episode("a")), at=NOW)
    unkilled.commit(put(episode("b")), at=NOW)
    assert house.digest() == unkilled.digest()


def test_every_error_of_the_ledger_is_one_that_edges_map() -> None:
    assert issubclass(LedgerBroken, StoreError)
    assert issubclass(StoreBehind, StoreError)
