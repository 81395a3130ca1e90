"""Compacting: the same rows in a new file without the bytes of the deleted, whole at any point."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks.domain.proposals import Action
from tasks.domain.units import TombstoneKind
from tasks.errors import WriteFailed
from tasks.store import gateway
from tasks.store.compact import Leftover, compact
from tasks.store.database import open_database
from tasks.store.digest import store_digest
from tasks.store.fingerprint import differing, fingerprint
from tasks.store.handle import Store
from tests.store.build import NOW, Home, bury, episode, home_in, lesson, put, stone

SECRET = "the cat is called Xanthippe-7719"


def fill(store: Store, many: int = 300) -> None:
    proposals = []
    for number in range(many):
        said = episode(f"n{number}", words=f"rule number {number} " + "padding " * 40)
        proposals += [put(said), put(lesson(said, text=f"Rule number {number}."))]
    gateway.commit(store, proposals, at=NOW)


def forget_the_secret(house: Home) -> None:
    said = episode("secret", words=SECRET, gist=SECRET)
    house.commit(put(said), put(lesson(said, text=SECRET)))
    with house.opened() as store:
        made = stone(said, store.key, TombstoneKind.FORGOTTEN)
        gateway.commit(store, [bury(made, Action.FORGET)], at=NOW)


def holding(house: Home) -> list[str]:
    """Return the files of the store that hold the secret's bytes."""
    files = house.places.home.glob("*memory.duckdb*")
    return sorted(one.name for one in files if SECRET.encode() in one.read_bytes())


def test_forgotten_bytes_stay_until_the_store_is_compacted(house: Home) -> None:
    with house.opened() as store:
        fill(store)
    forget_the_secret(house)
    assert holding(house) == ["memory.duckdb"]
    with house.opened() as store:
        assert store.database.rows("SELECT 1 FROM episodes WHERE words = ?", [SECRET]) == []
        before, digest = fingerprint(store.database), store_digest(store.database)
        compact(store)
        assert holding(house) == []
        assert fingerprint(store.database) == before
        assert store_digest(store.database) == digest
    assert holding(house) == []
    with house.opened() as store:
        assert fingerprint(store.database) == before
        assert store.caught_up == 0


def test_the_run_goes_on_with_the_new_file(house: Home) -> None:
    with house.opened() as store:
        fill(store, 3)
        compact(store)
        gateway.commit(store, [put(episode("after"))], at=NOW)
        compact(store)
    with house.opened() as store:
        assert store.caught_up == 0
        assert store.database.rows("SELECT count(*) FROM episodes") == [(4,)]


def names(house: Home) -> set[str]:
    return {path.name for path in house.places.home.iterdir() if path.is_file()}


def test_without_room_nothing_is_begun_and_both_figures_are_told(house: Home) -> None:
    with house.opened() as store:
        fill(store, 3)
        store.database.run("CHECKPOINT")
        before = fingerprint(store.database)
        with pytest.raises(WriteFailed, match=r"[1-9][0-9.]* MB and 0\.5 MB are free"):
            compact(store, free=lambda _: 500_000)
        compact(store, free=lambda _: store.database.bytes_in_use())
        assert fingerprint(store.database) == before


def test_a_disk_that_fills_up_leaves_the_store_and_no_litter(house: Home) -> None:
    with house.opened() as store:
        fill(store)
        store.database.run("CHECKPOINT")
        before, files = fingerprint(store.database), names(house)
        with files_of_at_most(1_000_000), pytest.raises(WriteFailed):
            compact(store)
        assert names(house) <= files
        assert fingerprint(store.database) == before
        gateway.commit(store, [put(episode("after"))], at=NOW)
    with house.opened() as store:
        assert store.caught_up == 0
        compact(store)
        assert store.database.rows("SELECT count(*) FROM episodes") == [(301,)]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_copy_that_differs_is_not_swapped_in(house: Home, tmp_path: Path) -> None:
    with house.opened() as store:
        fill(store, 3)
        part = tmp_path / "copy"
        store.database.copy_to(part)
        copy = open_database(part)
        same = fingerprint(copy)
        copy.run("UPDATE episodes SET gist = gist || ' ' WHERE id = (SELECT min(id) FROM episodes)")
        changed = fingerprint(copy)
        copy.run("DELETE FROM lesson_versions")
        fewer = fingerprint(copy)
        copy.close()
        held = fingerprint(store.database)
    assert differing(held, same) == []
    assert differing(held, changed) == ["episodes"]
    assert differing(held, fewer) == ["episodes", "lesson_versions"]


def test_what_a_killed_compacting_left_is_swept(house: Home) -> None:
    house.commit(put(episode("a")))
    left = [".memory.duckdb.0123abcd.part", ".memory.duckdb.0123abcd.part.wal"]
    for name in left:
        (house.places.home / name).write_bytes(SECRET.encode())
    (house.places.home / ".memory.duckdb.notes").write_text("the person's own")
    house.commit(put(episode("b")))
    assert names(house).isdisjoint(left)
    assert ".memory.duckdb.notes" in names(house)


def test_a_damaged_store_kept_aside_is_named_and_left(house: Home) -> None:
    kept = house.places.home / "memory.duckdb.corrupt-1"
    house.commit(put(episode("a")))
    kept.write_bytes(b"x" * 123)
    with house.opened() as store:
        assert compact(store).leftovers == (Leftover(kept, 123),)
    assert kept.exists()


def test_a_home_with_any_name_can_be_compacted(tmp_path: Path) -> None:
    house = home_in(tmp_path / 'o\'neil "home" €')
    house.commit(put(episode("a")))
    with house.opened() as store:
        assert compact(store).rows > 0
        assert store.database.rows("SELECT count(*) FROM episodes") == [(1,)]
