"""Compacting: the same rows in a new file without the bytes of the deleted, whole at any point."""

from __future__ import annotations

from tasks.domain.proposals import Action
from tasks.domain.units import TombstoneKind
from tasks.store import gateway
from tasks.store.compact import compact
from tasks.store.digest import store_digest
from tasks.store.fingerprint import fingerprint
from tasks.store.handle import Store
from tests.store.build import NOW, Home, bury, episode, lesson, put, stone

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
