"""Looking whether what must agree agrees: each fault is found, named, and left as it is."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.errors import StoreUnsound, ViewDamaged
from tasks.store.publish import publish
from tasks.store.soundness import require_sound
from tests.store.build import NOW, Home, episode, lesson, put


@pytest.fixture
def sound(house: Home) -> Home:
    """Give a home of three records, published."""
    for name in "abc":
        made = episode(name)
        house.commit(put(made), put(lesson(made, text=f"Rule {name}.")))
    with house.opened() as store:
        publish(store, "hashed-256-v1", at=NOW)
    return house


def files(home: Path) -> dict[str, str]:
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in home.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }


def test_a_sound_home_is_told_in_figures_and_not_changed(sound: Home) -> None:
    with sound.opened():
        pass
    before = files(sound.places.home)
    with sound.opened() as store:
        found = require_sound(store)
    assert (found.records, found.audit, found.published) == (3, 6, True)
    assert found.rows > 9
    assert files(sound.places.home).keys() == before.keys()


def test_an_empty_home_is_sound(house: Home) -> None:
    with house.opened() as store:
        found = require_sound(store)
    assert (found.records, found.audit, found.published) == (0, 0, False)


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("UPDATE episodes SET words = words || '.' WHERE id = (SELECT min(id) FROM episodes)",
         "episodes"),
        ("DELETE FROM lesson_sources WHERE episode_id = (SELECT min(id) FROM episodes)",
         "lesson_sources"),
        ("UPDATE audit SET actor = 'person' WHERE seq = 2", "audit"),
    ],
)  # fmt: skip
def test_a_row_that_is_not_the_ledgers_is_found(sound: Home, sql: str, table: str) -> None:
    with sound.opened() as store:
        store.database.run(sql)
        with pytest.raises(StoreUnsound, match=rf"in {table}; run `everest rebuild`"):
            require_sound(store)


def rewritten(line: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return a record changed by one who knows how to make its sum right again."""
    body = change(re.sub(rb',"crc":"[0-9a-f]{8}"\}\n$', b"", line))
    return body + b',"crc":"%08x"}\n' % zlib.crc32(body)


def test_a_forged_record_breaks_the_audit_chain(sound: Home) -> None:
    segment = sound.places.ledger / "000001.jsonl"
    lines = segment.read_bytes().splitlines(keepends=True)
    lines[1] = rewritten(
        lines[1], lambda body: body.replace(b'"actor":"sleep"', b'"actor":"human"')
    )
    segment.write_bytes(b"".join(lines))
    with sound.opened() as store, pytest.raises(StoreUnsound, match="breaks at row 3, in record 2"):
        require_sound(store)


def test_a_record_that_is_gone_is_missed(sound: Home) -> None:
    segment = sound.places.ledger / "000001.jsonl"
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(lines[0] + lines[2])
    with sound.opened() as store, pytest.raises(StoreUnsound, match="lacks its record 2"):
        require_sound(store)


def test_a_view_of_another_state_is_found(sound: Home) -> None:
    sound.commit(put(episode("later")))
    with sound.opened() as store:
        with pytest.raises(StoreUnsound, match="everest render"):
            require_sound(store)
        publish(store, "hashed-256-v1", at=NOW)
        assert require_sound(store).published


def test_a_damaged_view_is_found(sound: Home) -> None:
    rows = next(sound.places.view.rglob("rows.jsonl"))
    rows.write_bytes(rows.read_bytes()[:-40])
    with sound.opened() as store, pytest.raises(ViewDamaged):
        require_sound(store)
