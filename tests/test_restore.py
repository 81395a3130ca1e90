"""Restoring: the memory of a backup, and what was decided on either side of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tasks.backup import backup
from tasks.compose import Setting
from tasks.domain.canon import digests
from tasks.domain.proposals import Actor
from tasks.domain.ran import RunKey
from tasks.domain.units import Lesson, TombstoneKind, Trust
from tasks.errors import BackupUnusable, EverestError, Refused, StoreLocked
from tasks.rebuild import discard_store
from tasks.restore import Restored, restore
from tasks.store import gateway, journal, reads, replacing
from tasks.store.lock import writer_lock
from tests.store.build import (
    DAY,
    NOW,
    OTHER_RULE,
    RULE,
    SCOPE,
    Home,
    bury,
    episode,
    home_in,
    lesson,
    put,
    session,
    stone,
)

A, B = episode("a"), episode("b", OTHER_RULE)
OF_A, OF_B = lesson(A), lesson(B, text=OTHER_RULE)
LATER = NOW + DAY


def setting(house: Home) -> Setting:
    return Setting(house.settings, house.places, (), None)


def kept(house: Home, folder: Path) -> Path:
    """Return a backup of a home with two lessons."""
    house.commit(put(session("a")), put(session("b")), put(A), put(B), put(OF_A), put(OF_B))
    return backup(setting(house), RunKey("backup", "1"), folder / "kept.tar.gz", at=NOW).path


def back(house: Home, file: Path, **given: bool) -> Restored:
    return restore(setting(house), file, at=LATER, **given)


def decides(house: Home, verb: str, of: Lesson, actor: Actor = Actor.PERSON) -> None:
    """Say in the journal that a lesson goes, as the command does."""
    with house.opened() as store:
        key = store.key
    body = {
        "verb": verb,
        "unit": "lesson",
        "unit_id": of.id,
        "sources": list(of.sources),
        "digests": [list(pair) for pair in digests(key, of.text)],
        "reason": "no",
    }
    journal.append(house.places.journal, "decide", body, scope=SCOPE, actor=actor, at=NOW)


def usable(house: Home) -> set[str]:
    """Return the texts of lessons that are live and not rejected, read from the store."""
    with house.opened(LATER) as store:
        found = reads.lessons(store.database, SCOPE)
    return {x.text for x in found if x.trust is not Trust.REJECTED}


def test_a_backup_restores_elsewhere_to_the_same_memory(house: Home, tmp_path: Path) -> None:
    file = kept(house, tmp_path)
    elsewhere = home_in(tmp_path / "other" / "place")
    done = back(elsewhere, file)
    assert done.digest == done.contents.digest == house.digest() == elsewhere.digest()
    assert (done.carried, done.aside, done.left) == (0, None, 0)
    assert usable(elsewhere) == {RULE, OTHER_RULE}
    assert {path.name for path in elsewhere.places.home.iterdir()}.isdisjoint({"restoring"})


@pytest.mark.parametrize("verb", ["reject", "veto", "forget"])
def test_what_was_decided_since_holds_on(house: Home, tmp_path: Path, verb: str) -> None:
    file = kept(house, tmp_path)
    decides(house, verb, OF_A, Actor.FILE if verb == "veto" else Actor.PERSON)
    with house.run() as run:
        from tasks.fold import fold  # noqa: PLC0415

        fold(run.store, at=NOW)
    done = back(house, file)
    assert done.carried == 1
    assert usable(house) == {OTHER_RULE}
    discard_store(setting(house))
    assert usable(house) == {OTHER_RULE}


@pytest.mark.parametrize("verb", ["reject", "veto", "forget"])
def test_a_decision_that_no_night_has_folded_holds_on(
    house: Home, tmp_path: Path, verb: str
) -> None:
    file = kept(house, tmp_path)
    decides(house, verb, OF_A, Actor.FILE if verb == "veto" else Actor.PERSON)
    done = back(house, file)
    assert done.carried == 1
    assert usable(house) == {OTHER_RULE}
    discard_store(setting(house))
    assert usable(house) == {OTHER_RULE}


def test_a_decision_of_the_backup_stays(house: Home, tmp_path: Path) -> None:
    house.commit(put(A), put(OF_A))
    decides(house, "reject", OF_A)
    file = backup(setting(house), RunKey("backup", "1"), tmp_path / "b.tar.gz", at=NOW).path
    back(house, file)
    assert usable(house) == set()


def test_a_forgotten_episode_is_gone_from_the_restored_store(house: Home, tmp_path: Path) -> None:
    file = kept(house, tmp_path)
    with house.opened() as store:
        gateway.commit(store, [bury(stone(A, store.key, TombstoneKind.FORGOTTEN))], at=NOW)
    back(house, file)
    with house.opened(LATER) as store:
        assert {one.id for one in reads.episodes(store.database, SCOPE)} == {B.id}
        assert {one.id for one in reads.lessons(store.database, SCOPE)} == {OF_B.id}


def test_the_same_words_under_another_id_are_rejected_too(house: Home, tmp_path: Path) -> None:
    """What was merged or learned anew since had another id when it was decided on."""
    file = kept(house, tmp_path)
    other = replace(OF_A, id="f" * 64)
    with house.opened() as store:
        gateway.commit(store, [bury(stone(other, store.key))], at=NOW)
    back(house, file)
    assert usable(house) == {OTHER_RULE}


def test_an_edit_since_is_undone(house: Home, tmp_path: Path) -> None:
    """Going back means that: only what was taken out for good stays out."""
    file = kept(house, tmp_path)
    body = {"lesson_id": OF_A.id, "text": "Never annotate types in tests."}
    journal.append(house.places.journal, "edit_file", body, scope=SCOPE, actor=Actor.FILE, at=NOW)
    done = back(house, file)
    assert (done.carried, done.left) == (0, 1)
    assert usable(house) == {RULE, OTHER_RULE}


def test_what_was_said_since_lies_aside_and_is_counted(house: Home, tmp_path: Path) -> None:
    file = kept(house, tmp_path)
    house.commit(put(episode("c", "Prefer small commits.")))
    journal.append(
        house.places.journal, "remember", {"text": "x"}, scope=SCOPE, actor=Actor.PERSON, at=NOW
    )
    done = back(house, file)
    assert done.left == 1
    assert done.aside is not None
    aside = home_in(done.aside)
    assert b'"text":"x"' in b"".join(p.read_bytes() for p in (done.aside / "journal").iterdir())
    shutil.copytree(house.places.keys, aside.places.keys)
    with aside.opened() as store:
        assert len(reads.episodes(store.database, SCOPE)) == 3
    assert not list(house.places.journal.glob("*-cli.jsonl"))


def test_another_homes_backup_does_not_lose_what_was_decided(house: Home, tmp_path: Path) -> None:
    other = home_in(tmp_path / "other")
    file = kept(other, tmp_path)
    house.commit(put(A), put(OF_A))
    before = house.digest()
    done = back(home_in(tmp_path / "third"), file)
    assert done.carried == 0
    decides(house, "reject", OF_A)
    with pytest.raises(Refused, match=r"another memory, with another key.*EVEREST_HOME"):
        back(house, file)
    assert house.digest() == before
    assert not (house.places.home / "restoring").exists()
    assert back(house, file, lose_decisions=True).carried == 1  # by its id, which needs no key
    assert usable(house) == {OTHER_RULE}


def test_a_home_without_decisions_takes_another_homes_backup(house: Home, tmp_path: Path) -> None:
    other = home_in(tmp_path / "other")
    file = kept(other, tmp_path)
    house.commit(put(A))
    assert back(house, file).digest == other.digest() == house.digest()


def _flip(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace(b"Always", b"Olways", 1))


def _no_store(house: Home) -> None:
    house.places.store.unlink()


def _no_ledger(house: Home) -> None:
    shutil.rmtree(house.places.ledger)


def _bad_ledger(house: Home) -> None:
    _flip(house.places.ledger / "000001.jsonl")


def _bad_store(house: Home) -> None:
    house.places.store.write_bytes(b"x" * 5_000)


def _no_view(house: Home) -> None:
    shutil.rmtree(house.places.view, ignore_errors=True)


def _no_key(house: Home) -> None:
    (house.places.keys / "digest.key").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        (_no_store,),
        (_bad_store, _no_view),
        (_no_ledger,),
        (_bad_ledger, _no_store, _no_view),
        (_no_key,),
        (_bad_ledger, _bad_store),
    ],
    ids=lambda each: "+".join(one.__name__ for one in each),
)
def test_decisions_are_read_from_what_is_left_of_a_broken_home(
    house: Home, tmp_path: Path, damage: Sequence[Callable[[Home], None]]
) -> None:
    file = kept(house, tmp_path)
    with house.opened() as store:
        gateway.commit(store, [bury(stone(OF_A, store.key))], at=NOW)
        from tasks.store.publish import publish  # noqa: PLC0415

        publish(store, "hashed", at=NOW)
    for break_it in damage:
        break_it(house)
    if _bad_ledger in damage and _no_store in damage:
        with pytest.raises(Refused, match="cannot be read"):
            back(house, file)
        assert back(house, file, lose_decisions=True).carried == 1  # what is left of it does count
    else:
        assert back(house, file).carried == 1
    assert usable(house) == {OTHER_RULE}


def test_where_nothing_can_be_read_it_refuses_unless_told(house: Home, tmp_path: Path) -> None:
    file = kept(house, tmp_path)
    _no_ledger(house)
    _bad_store(house)
    with pytest.raises(Refused, match=r"what was decided here cannot be read.*--lose-decisions"):
        back(house, file)
    assert house.places.store.read_bytes() == b"x" * 5_000
    done = back(house, file, lose_decisions=True)
    assert done.lost
    assert usable(house) == {RULE, OTHER_RULE}


def test_a_digest_that_does_not_come_out_changes_nothing(house: Home, tmp_path: Path) -> None:
    from tasks.store.archive import contents_of, pack, uncounted  # noqa: PLC0415
    from tasks.store.backups import frozen  # noqa: PLC0415

    contents = replace(contents_of(kept(house, tmp_path)), digest="0" * 64)
    file = tmp_path / "other.tar.gz"
    with frozen(house.places) as portions, file.open("wb") as out:
        pack(contents, portions, out, uncounted)
    before = house.digest()
    with pytest.raises(BackupUnusable, match="comes to the digest"):
        back(house, file)
    assert house.digest() == before
    assert not (house.places.home / "restoring").exists()


def test_a_home_in_use_is_left_alone(house: Home, tmp_path: Path) -> None:
    file = kept(house, tmp_path)
    with writer_lock(house.places.lock, wait=0, started="now"), pytest.raises(StoreLocked):
        back(house, file)


def test_a_decision_said_while_it_is_put_in_place_reaches_the_new_memory(
    house: Home, tmp_path: Path
) -> None:
    file = kept(house, tmp_path)
    places = house.places
    with writer_lock(places.lock, wait=0, started="now"), replacing.staged(places) as stage:
        from tasks.store.archive import unpack  # noqa: PLC0415

        unpack(file, stage.home)
        with home_in(stage.home).opened():
            pass
        body = {"verb": "reject", "unit": "lesson", "unit_id": OF_A.id, "reason": "late"}
        journal.append(places.journal, "decide", body, scope=SCOPE, actor=Actor.PERSON, at=NOW)
        journal.append(
            places.journal, "remember", {"text": "late"}, scope=SCOPE, actor=Actor.PERSON, at=NOW
        )
        replacing.put_in_place(places, aside="replaced-x", late="l.jsonl", folded={}, carried=())
    lines = [line for read in journal.unfolded(places.journal, {}) for line in read.lines]
    assert [line.body.get("reason") for line in lines] == ["late"]


def test_the_second_restore_keeps_what_the_first_moved_aside(house: Home, tmp_path: Path) -> None:
    file = kept(house, tmp_path)
    first = restore(setting(house), file, at=LATER)
    second = restore(setting(house), file, at=LATER + timedelta(seconds=5))
    assert first.aside != second.aside
    assert first.aside is not None
    assert (first.aside / "ledger").is_dir()


def test_an_error_is_one_of_ours(house: Home, tmp_path: Path) -> None:
    with pytest.raises(EverestError, match="it is not there"):
        back(house, tmp_path / "none.tar.gz")
