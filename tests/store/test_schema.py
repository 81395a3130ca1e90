"""The tables and the file they lie in: scoped, private, refused when newer, kept when corrupt."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.compose import Setting
from tasks.errors import StoreCorrupt, StoreError, StoreNewer, WriteFailed
from tasks.rebuild import discard_store
from tasks.store import gateway, reads
from tasks.store.database import open_database, schema_version
from tasks.store.schema import KEYS, MIGRATIONS, SCHEMA_VERSION, TABLES, UNSCOPED
from tests.store.build import NOW, SCOPE, Home, bury, episode, lesson, put, session, stone


def test_every_table_has_the_four_keys_or_a_reason_to_lack_them(tmp_path: Path) -> None:
    database = open_database(tmp_path / "memory.duckdb")
    found = database.rows("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal")
    tables = {table for table, _ in found}
    unscoped = {table for table in tables if not {(table, key) for key in KEYS} <= set(found)}
    assert unscoped == UNSCOPED.keys()
    assert all(len(reason) > 10 for reason in UNSCOPED.values())
    assert tables == {table.name for table in TABLES}
    database.close()


def test_keys_and_scopes_are_never_null(tmp_path: Path) -> None:
    database = open_database(tmp_path / "memory.duckdb")
    for table in TABLES:
        nullable = {
            name
            for (name,) in database.rows(
                "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND is_nullable",
                [table.name],
            )
        }
        assert nullable.isdisjoint({*KEYS, *table.key})
    database.close()


def test_a_new_file_is_brought_to_the_present_schema(tmp_path: Path) -> None:
    path = tmp_path / "memory.duckdb"
    database = open_database(path)
    assert schema_version(database) == SCHEMA_VERSION == len(MIGRATIONS)
    database.close()
    again = open_database(path)
    assert schema_version(again) == SCHEMA_VERSION
    again.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_store_of_a_newer_schema_is_refused_untouched(house: Home) -> None:
    house.commit(put(episode("a")))
    with house.opened() as store:
        store.database.run("UPDATE meta SET value = '99' WHERE name = 'schema'")
    before = house.places.store.read_bytes()
    with pytest.raises(StoreNewer, match="schema 99, this Everest knows 1") as told, house.opened():
        pass
    assert "upgrade" in str(told.value)
    assert house.places.store.read_bytes() == before
    assert [p.name for p in house.places.home.glob("memory.duckdb*")] == ["memory.duckdb"]


def filled(house: Home) -> str:
    a, b = episode("a"), episode("b")
    house.commit(put(session("a")), put(a), put(b), put(lesson(a)))
    with house.opened() as store:
        gateway.commit(store, [bury(stone(lesson(a), store.key))], at=NOW)
    return house.digest()


def garbage(whole: bytes) -> bytes:
    return b"no store at all" * 1_000


def zeroed(whole: bytes) -> bytes:
    return whole[:12_288] + bytes(len(whole) - 12_288)


def flipped(whole: bytes) -> bytes:
    return whole[:12_288] + bytes(byte ^ 0xFF for byte in whole[12_288:])


def read_all(house: Home) -> None:
    with house.opened() as store:
        reads.episodes(store.database, SCOPE)
        gateway.commit(store, [put(episode("later"))], at=NOW)


@pytest.mark.parametrize(
    "damage",
    [garbage, zeroed, flipped, lambda _: b"", lambda b: b[:4_096], lambda b: b[: len(b) // 2]],
    ids=["garbage", "zeroed", "flipped", "empty", "cut after a header", "cut in the middle"],
)
def test_a_corrupt_store_is_kept_and_rebuilt_to_the_same_digest(
    house: Home, damage: Callable[[bytes], bytes]
) -> None:
    digest = filled(house)
    damaged = damage(house.places.store.read_bytes())
    house.places.store.write_bytes(damaged)
    with pytest.raises(StoreCorrupt, match="everest rebuild") as told:
        read_all(house)
    kept = house.places.home / "memory.duckdb.corrupt-1"
    assert kept.read_bytes() == damaged
    assert str(kept) in str(told.value)
    where = Setting(house.settings, house.places, (), None)
    assert discard_store(where) == 2
    assert house.digest() == digest


def test_kept_stores_do_not_overwrite_each_other(house: Home) -> None:
    filled(house)
    for number in (1, 2):
        house.places.store.write_bytes(b"garbage %d" % number * 1_000)
        with pytest.raises(StoreCorrupt), house.opened():
            pass
    names = sorted(path.name for path in house.places.home.glob("*corrupt*"))
    assert names == ["memory.duckdb.corrupt-1", "memory.duckdb.corrupt-2"]


def test_a_place_where_no_file_can_be_is_no_corrupt_store(house: Home) -> None:
    house.places.store.mkdir(parents=True)
    with pytest.raises(WriteFailed, match=r"memory\.duckdb"), house.opened():
        pass
    assert house.places.store.is_dir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read what is forbidden")
def test_a_store_that_may_not_be_read_is_left_where_it_is(house: Home) -> None:
    filled(house)
    house.places.store.chmod(0)
    with pytest.raises(WriteFailed, match="permissions"), house.opened():
        pass
    assert not list(house.places.home.glob("*corrupt*"))


def test_the_limits_are_set_and_nothing_is_fetched(tmp_path: Path) -> None:
    database = open_database(tmp_path / "memory.duckdb")
    set_to = {
        name: database.rows(f"SELECT current_setting('{name}')")[0][0]
        for name in ("autoinstall_known_extensions", "autoload_known_extensions", "threads")
    }
    assert set_to == {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "threads": 2,
    }
    for limit in ("memory_limit", "max_temp_directory_size"):
        assert database.rows(f"SELECT current_setting('{limit}')")[0][0].endswith("GiB")
    with pytest.raises(Exception, match=r"[Ee]xtension"):
        database.rows("SELECT * FROM read_csv('https://localhost:9/x.csv')")
    database.close()


def test_a_write_that_the_disk_refuses_is_named(tmp_path: Path) -> None:
    database = open_database(tmp_path / "memory.duckdb")
    with pytest.raises(StoreError) as told:
        database.rows("SELECT list(range) FROM range(400000000)")
    assert str(tmp_path) in str(told.value)
    database.close()
