"""Rebuilding: the store again from the ledger alone, the same memory to the last digit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tasks import fold as folding
from tasks.compose import Setting
from tasks.demo import write_week
from tasks.domain.proposals import Actor
from tasks.embedding.hashed import Hashed
from tasks.errors import LedgerBroken, StoreLocked, UsageError
from tasks.rebuild import discard_store
from tasks.recall import recall
from tasks.steps import PLAIN
from tasks.store import journal, reads
from tasks.store.digest import store_digest
from tasks.store.lock import writer_lock
from tests.store.build import NOW, SCOPE, Home, episode, put


def setting(house: Home) -> Setting:
    return Setting(house.settings, house.places, (), None)


def test_a_home_without_a_ledger_is_left_alone(house: Home) -> None:
    with pytest.raises(UsageError, match="no ledger"):
        discard_store(setting(house))
    with house.opened():
        pass
    with pytest.raises(UsageError):
        discard_store(setting(house))
    assert house.places.store.exists()


def test_a_broken_ledger_keeps_the_store(house: Home) -> None:
    house.commit(put(episode("a")))
    house.commit(put(episode("b")))
    segment = house.places.ledger / "000001.jsonl"
    segment.write_bytes(segment.read_bytes().replace(b"Always", b"Olways", 1))
    with pytest.raises(LedgerBroken):
        discard_store(setting(house))
    assert house.places.store.exists()


def test_a_store_in_use_is_not_taken_away(house: Home) -> None:
    house.commit(put(episode("a")))
    with writer_lock(house.places.lock, wait=0, started="now"), pytest.raises(StoreLocked):
        discard_store(setting(house))
    assert house.places.store.exists()


def test_a_whole_night_and_a_note_are_rebuilt_equal(house: Home, tmp_path: Path) -> None:
    week = write_week(tmp_path / "claude", now=NOW)
    with house.run(week.root) as run:
        for step in (PLAIN.ingest, PLAIN.embed, PLAIN.lessons, PLAIN.merge, PLAIN.predict):
            step(run)
        digest, records = store_digest(run.store.database), run.store.ledger.last_tx
        scopes = reads.scopes(run.store.database)
        before = [reads.lessons(run.store.database, scope) for scope in scopes]
        episodes = [reads.episodes(run.store.database, scope) for scope in scopes]
        vectors = reads.vectors(run.store.database, scopes[0], Hashed().name)
        audit = run.store.audit_head
        PLAIN.publish(run)
    body = {"text": "zebra notes are kept in the attic"}
    journal.append(house.places.journal, "remember", body, scope=SCOPE, actor=Actor.PERSON, at=NOW)
    assert discard_store(setting(house)) == records
    assert not house.places.store.exists()
    with house.run(week.root) as run:
        assert run.store.caught_up == records
        assert store_digest(run.store.database) == digest
        assert [reads.lessons(run.store.database, scope) for scope in scopes] == before
        assert [reads.episodes(run.store.database, scope) for scope in scopes] == episodes
        assert run.store.audit_head == audit
        assert folding.fold(run.store, at=NOW).stored == 1
        PLAIN.embed(run)
        again = reads.vectors(run.store.database, scopes[0], Hashed().name)
        for unit, packed in vectors.items():
            assert np.array_equal(
                np.frombuffer(again[unit], np.float32), np.frombuffer(packed, np.float32)
            )
        PLAIN.publish(run)
    memory = house.memory()
    assert memory.overlay.lines == 0
    assert recall(memory, "zebra attic", scope=SCOPE, space=Hashed(), k=3, now=NOW)
