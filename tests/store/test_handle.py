"""Opening the store: private, caught up with its ledger, and one that closes what it opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.errors import KeyMissing, LedgerBroken
from tasks.store import gateway
from tasks.store.audit import START
from tests.store.build import NOW, Home, bury, episode, home_in, lesson, put, stone


def test_a_new_home_opens_empty(house: Home) -> None:
    with house.opened() as store:
        assert (store.stones, store.audit_head, store.caught_up) == ([], START, 0)
        assert store.ledger.last_tx == 0


def test_opening_again_finds_stones_and_the_chain(house: Home) -> None:
    a = episode("a")
    with house.opened() as store:
        made = stone(lesson(a), store.key)
        gateway.commit(store, [put(a), put(lesson(a)), bury(made)], at=NOW)
        head = store.audit_head
        assert store.stones == [made]
    with house.opened() as store:
        assert (store.stones, store.audit_head, store.caught_up) == ([made], head, 0)


def test_a_store_file_that_is_gone_is_made_again_from_the_ledger(house: Home) -> None:
    for name in "abc":
        house.commit(put(episode(name)))
    before = house.digest()
    house.places.store.unlink()
    with house.opened() as store:
        assert store.caught_up == 3
    assert house.digest() == before


def test_a_copied_older_store_catches_up(house: Home) -> None:
    house.commit(put(episode("a")))
    older = house.places.store.read_bytes()
    house.commit(put(episode("b")))
    before = house.digest()
    house.places.store.write_bytes(older)
    with house.opened() as store:
        assert store.caught_up == 1
    assert house.digest() == before


def test_a_broken_ledger_leaves_the_store_closed_and_whole(house: Home) -> None:
    for name in "ab":
        house.commit(put(episode(name)))
    segment = house.places.ledger / "000001.jsonl"
    sound, store = segment.read_bytes(), house.places.store.read_bytes()
    segment.write_bytes(sound.replace(b"Always", b"Olways", 1))
    with pytest.raises(LedgerBroken), house.opened():
        pass
    assert house.places.store.read_bytes() == store
    segment.write_bytes(sound)
    assert house.commit(put(episode("c"))).tx == 3


def test_a_ledger_without_its_key_stops(house: Home) -> None:
    house.commit(put(episode("a")))
    (house.places.keys / "digest.key").unlink()
    with pytest.raises(KeyMissing), house.opened():
        pass


def test_an_error_inside_leaves_the_store_usable(house: Home) -> None:
    with pytest.raises(RuntimeError), house.opened():
        raise RuntimeError
    assert house.commit(put(episode("a"))).tx == 1


def test_two_homes_have_nothing_in_common(tmp_path: Path) -> None:
    one, two = home_in(tmp_path / "one"), home_in(tmp_path / "two")
    one.commit(put(episode("a")))
    assert one.digest() != two.digest()
