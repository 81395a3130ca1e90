"""Taking a backup: where it may lie, what is in it, and the one before a change of schema."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tasks.backup import backup
from tasks.compose import Setting
from tasks.domain.proposals import Actor
from tasks.domain.ran import RunKey
from tasks.errors import UsageError, WriteFailed
from tasks.store import journal
from tasks.store.archive import contents_of, unpack
from tasks.store.backups import Backup, frozen
from tasks.store.database import schema_version
from tasks.store.handle import open_store
from tasks.store.schema import MIGRATIONS
from tests.store.build import NOW, SCOPE, Home, bury, episode, home_in, lesson, put, stone

A = episode("a")
NEXT = (*MIGRATIONS, ("CREATE TABLE newly (x INTEGER)",))
BROKEN = (*MIGRATIONS, ("CREATE TABLE newly (x INTEGER)", "SELECT no_such_column FROM newly"))


def taken(house: Home, named: Path | None = None, *, later: int = 0, keep: int = 7) -> Backup:
    where = Setting(house.settings, house.places, (), None)
    at = NOW + timedelta(seconds=later)
    return backup(where, RunKey("backup", "1"), named, at=at, keep=keep)


def says(house: Home, text: str) -> None:
    journal.append(
        house.places.journal, "remember", {"text": text}, scope=SCOPE, actor=Actor.PERSON, at=NOW
    )


@pytest.fixture
def filled(house: Home) -> Home:
    """Give a home with a lesson, a rejected one and something said since."""
    house.commit(put(A), put(lesson(A)))
    with house.opened() as store:
        rejected = stone(lesson(A), store.key)
    house.commit(bury(rejected))
    says(house, "said since")
    return house


def test_a_backup_is_private_and_holds_all_that_is_needed(filled: Home, tmp_path: Path) -> None:
    made = taken(filled)
    assert made.path.parent == filled.places.backups
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    held = {item.path.split("/")[0] for item in made.contents.files}
    assert held == {"ledger", "journal", "keys"}
    assert made.contents.digest == filled.digest()
    assert made.contents == contents_of(made.path)
    assert [one.name for one in filled.places.backups.iterdir()] == [made.path.name]
    unpack(made.path, tmp_path / "out")
    assert b"said since" in (tmp_path / "out/journal/2026-06-01-cli.jsonl").read_bytes()


def test_what_lets_somebody_in_on_this_machine_stays_out(filled: Home) -> None:
    (filled.places.keys / "door.token").write_text("secret")
    (filled.places.keys / "share.key").write_text("kept")
    names = {item.path for item in taken(filled).contents.files}
    assert "keys/share.key" in names
    assert "keys/door.token" not in names


def test_a_line_in_the_making_is_left_out_whole(filled: Home, tmp_path: Path) -> None:
    segment = next(filled.places.journal.glob("*.jsonl"))
    whole = segment.read_bytes()
    with segment.open("ab") as file:
        file.write(b'{"v":1,"id":"' + b"x" * 200_000)
    unpack(taken(filled).path, tmp_path / "out")
    assert (tmp_path / "out/journal" / segment.name).read_bytes() == whole


def test_what_is_appended_after_the_freezing_is_not_in_it_and_waits_for_nothing(
    filled: Home,
) -> None:
    with frozen(filled.places) as portions:
        says(filled, "said while it is packed")
        sizes = {one.path: one.size for one in portions}
    segment = next(filled.places.journal.glob("*.jsonl"))
    assert b"said while it is packed" in segment.read_bytes()
    assert segment.read_bytes()[: sizes[f"journal/{segment.name}"]].endswith(b'since"}\n')
    assert not list(filled.places.backups.iterdir())


def test_the_last_few_that_it_named_itself_are_kept(filled: Home, tmp_path: Path) -> None:
    own = filled.places.backups / "before-the-move.tar.gz"
    older = filled.places.backups / "before-schema-2-record-1.tar.gz"
    made = [taken(filled, own)] + [taken(filled, later=n, keep=2) for n in range(4)]
    older.write_text("of a change of schema")
    last = taken(filled, later=9, keep=2)
    left = [older, own, made[-1].path, last.path]
    assert sorted(filled.places.backups.iterdir()) == left


def test_an_existing_file_is_not_overwritten(filled: Home, tmp_path: Path) -> None:
    named = tmp_path / "mine.tar.gz"
    named.write_text("mine")
    with pytest.raises(UsageError, match="it is there already"):
        taken(filled, named)
    assert named.read_text() == "mine"


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("home/ledger/x.tar.gz", "lies in the memory itself"),
        ("home/x.tar.gz", "lies in the memory itself"),
        ("home/backups/everest-20260101T000000Z.tar.gz", "choose another name"),
        ("gone/x.tar.gz", "there is no folder"),
        ("", "a folder; name a file in it"),
    ],
)
def test_a_place_that_will_not_do_is_named_and_nothing_left(
    filled: Home, tmp_path: Path, place: str, why: str
) -> None:
    filled.places.backups.mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=why):
        taken(filled, tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_into_the_memory_is_seen_through(filled: Home, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(filled.places.ledger)
    with pytest.raises(UsageError, match="lies in the memory itself"):
        taken(filled, tmp_path / "link" / "x.tar.gz")


def test_a_disk_that_refuses_leaves_nothing(filled: Home) -> None:
    with pytest.raises(WriteFailed, match="/proc"):
        taken(filled, Path("/proc/everest.tar.gz"))
    assert not list(filled.places.backups.iterdir())


def test_a_home_with_nothing_in_it_has_nothing_to_back_up(house: Home) -> None:
    with pytest.raises(UsageError, match="nothing to back up"):
        taken(house)
    assert not house.places.home.exists()


def test_what_a_killed_backup_froze_goes_with_the_next(filled: Home) -> None:
    left = filled.places.backups / ".snapshot-00ff00ff"
    left.mkdir(parents=True)
    (left / "words").write_text("old")
    taken(filled)
    assert not left.exists()


def test_what_another_backup_works_on_stays(filled: Home) -> None:
    part = filled.places.backups / ".everest-backup.00ff00ff.part"
    with frozen(filled.places) as first:
        part.touch()
        with frozen(filled.places):
            pass
        assert all(one.source.exists() for one in first)
        assert part.exists()
    taken(filled)
    assert not part.exists()


def test_an_older_store_is_backed_up_before_its_schema_changes(
    filled: Home, tmp_path: Path
) -> None:
    digest = filled.digest()
    with open_store(filled.places, filled.settings, at=NOW, migrations=NEXT) as store:
        assert schema_version(store.database) == 2
    made = filled.places.backups / "before-schema-2-record-2.tar.gz"
    contents = contents_of(made)
    assert contents.last_tx == 2
    restored = home_in(tmp_path / "older")
    unpack(made, restored.places.home)
    assert restored.digest() == digest  # by the older release, which knows schema 1 alone


def test_a_new_store_and_a_present_one_need_no_backup(filled: Home) -> None:
    filled.places.store.unlink()
    filled.digest()
    filled.digest()
    assert not filled.places.backups.exists()


def test_without_a_backup_the_schema_stays(filled: Home) -> None:
    filled.digest()
    filled.places.backups.write_text("no folder")
    before = filled.places.store.read_bytes()
    with (
        pytest.raises(WriteFailed, match="backups"),
        open_store(filled.places, filled.settings, at=NOW, migrations=NEXT),
    ):
        pass
    assert filled.places.store.read_bytes() == before
    filled.places.backups.unlink()
    with open_store(filled.places, filled.settings, at=NOW, migrations=NEXT) as store:
        assert schema_version(store.database) == 2


def test_a_migration_that_fails_leaves_the_store_and_the_backup(filled: Home) -> None:
    filled.digest()
    with (
        pytest.raises(Exception, match="no_such_column"),
        open_store(filled.places, filled.settings, at=NOW, migrations=BROKEN),
    ):
        pass
    assert (filled.places.backups / "before-schema-2-record-2.tar.gz").exists()


_KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from tasks import waypoints
from tasks.store.handle import open_store
from tests.store.build import home_in
from tests.store.test_backups import NEXT

waypoints.observe(lambda name, _: name == "open.kept" and os.kill(os.getpid(), signal.SIGKILL))
house = home_in(Path(sys.argv[1]))
with open_store(house.places, house.settings, at=datetime.now(UTC), migrations=NEXT):
    pass
"""


def test_a_kill_between_the_backup_and_the_change_costs_nothing(filled: Home) -> None:
    digest = filled.digest()
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(filled.places.home)],
        env={**os.environ, "PYTHONPATH": root},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    made = filled.places.backups / "before-schema-2-record-2.tar.gz"
    kept = made.read_bytes()
    assert filled.digest() == digest  # still of the old schema
    with open_store(filled.places, filled.settings, at=NOW, migrations=NEXT) as store:
        assert schema_version(store.database) == 2
    assert made.read_bytes() == kept
