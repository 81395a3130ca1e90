"""A memory that is backed up and restored, as a person does it: elsewhere, later, after a loss."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from tasks.domain.proposals import Actor
from tasks.domain.scope import Scope
from tasks.settings import Places
from tasks.store import journal
from tasks.store.archive import unpack
from tasks.store.lock import writer_lock
from tests.serving.shipped import Everest
from tests.store.build import NOW

SCOPE = Scope("me", "user", "default", "paperboat")


def backed_up(person: Everest, name: str = "kept.tar.gz") -> Path:
    file = person.base / name
    told = person("backup", str(file))
    assert told.code == 0, told.err
    return file


def restored(person: Everest, file: Path, *words: str) -> dict[str, Any]:
    told = person("restore", str(file), "--yes", "--json", *words)
    assert told.code == 0, told.err
    data: dict[str, Any] = told.data
    return data


def read_back(person: Everest) -> tuple[int, int, list[str]]:
    """Return what the next render takes for edits, for deletions and for questions."""
    told = person("render", "--json")
    assert told.code == 0, told.err
    return told.data["edits"], told.data["vetoes"], told.data["questions"]


def rules(person: Everest) -> dict[str, str]:
    """Return what each lesson that has a file says, by its id, in one order."""
    found = {one["lesson_id"]: one["text"] for one in person.lessons()}
    return {lesson: found[lesson] for lesson in sorted(found) if person.files_of(lesson)}


def host_file(person: Everest, lesson: str) -> Path:
    return next(path for path in person.files_of(lesson) if path.is_relative_to(person.claude))


def test_it_is_the_same_memory_on_another_machine(person: Everest, tmp_path: Path) -> None:
    file = backed_up(person)
    other = Everest(tmp_path / "machine")
    told = restored(other, file)
    assert told["digest"] == person.digest() == other.digest()
    assert told["replaced"] is None
    for query in ("npm or pnpm", "how do we run the tests"):
        assert other.recalled(query) == person.recalled(query) != []
    assert other.lessons() == person.lessons()
    for path in (file, *other.home.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    assert read_back(other) == (0, 0, [])
    assert other("night").code == 0
    assert other.digest() == told["digest"]
    assert "was deleted" not in other("morning").out


def test_a_person_is_asked_before_a_memory_is_replaced(person: Everest) -> None:
    file = backed_up(person)
    before = person.digest()
    told = person("restore", str(file))
    assert told.code == 2
    assert "--yes" in told.err
    told = person.at_terminal("restore", str(file), typed="n\n")
    assert told.code == 130
    assert "records, taken of" in told.out
    assert not list(person.home.glob("replaced-*"))
    told = person.at_terminal("restore", str(file), typed="y\n")
    assert told.code == 0, told.out
    (aside,) = person.home.glob("replaced-*")
    assert str(aside) in told.out.replace("\n", "")
    assert (aside / "ledger").is_dir()
    assert (aside / "memory.duckdb").is_file()
    assert person.digest() == before


def test_a_store_in_use_is_named_with_its_holder(person: Everest) -> None:
    file = backed_up(person)
    with writer_lock(Places(person.home).lock, wait=0, started="2026-06-01T03:00:00Z"):
        for words in (("restore", str(file), "--yes"), ("backup", str(person.base / "b.tar.gz"))):
            told = person(*words, EVEREST_LOCK_WAIT="0")
            assert told.code == 4
            assert "is being written by process" in told.err
            assert "2026-06-01T03:00:00Z" in told.err
    assert not (person.base / "b.tar.gz").exists()
    assert person("backup", str(person.base / "b.tar.gz")).code == 0


def test_a_damaged_backup_changes_nothing(person: Everest) -> None:
    file = backed_up(person)
    good, before = file.read_bytes(), person.digest()
    for data in (good[: len(good) // 2], good[:-200] + b"\0" + good[-199:]):
        file.write_bytes(data)
        told = person("restore", str(file), "--yes", "--json")
        assert (told.code, told.data["kind"]) == (2, "BackupUnusable")
        assert str(file) in told.data["error"]
        assert "nothing was changed" in told.data["error"]
        assert person.digest() == before
        assert not list(person.home.glob("re[ps]*"))
    file.write_bytes(good)
    assert restored(person, file)["digest"] == before


def test_what_is_said_during_a_backup_is_kept(person: Everest, tmp_path: Path) -> None:
    folder = Places(person.home).journal
    running = person.start("backup", str(person.base / "kept.tar.gz"))
    said = 0
    while running.poll() is None or said < 50:
        body = {"text": f"note {said}"}
        journal.append(folder, "remember", body, scope=SCOPE, actor=Actor.PERSON, at=NOW)
        said += 1
    running.communicate()
    assert running.returncode == 0
    segment = "2026-06-01-cli.jsonl"
    lines = (folder / segment).read_bytes().splitlines()
    assert [orjson.loads(line)["text"] for line in lines] == [f"note {n}" for n in range(said)]
    unpack(person.base / "kept.tar.gz", tmp_path / "out")
    frozen = tmp_path / "out" / "journal" / segment
    if frozen.exists():
        assert (folder / segment).read_bytes().startswith(frozen.read_bytes())
        assert frozen.read_bytes()[-1:] in (b"\n", b"")


@pytest.mark.parametrize("folded", [True, False], ids=["folded", "unfolded"])
def test_what_is_rejected_forgotten_or_deleted_since_stays_so(
    person: Everest, *, folded: bool
) -> None:
    file = backed_up(person)
    rejected, forgotten, vetoed = list(rules(person))[:3]
    told = person.at_terminal("reject", rejected, "--reason", "we moved on")
    assert told.code == 0, told.out
    assert person.at_terminal("forget", forgotten, "--yes").code == 0
    host_file(person, vetoed).unlink()
    if folded:
        assert person("render").code == 0
    done = restored(person, file)
    assert done["carried"] == (3 if folded else 2)
    if not folded:  # a deletion that nobody has read back is read back afterwards
        assert person("render").code == 0
    gone = {rejected, forgotten, vetoed}
    assert gone.isdisjoint(one["lesson_id"] for one in person.lessons())
    assert person("night").code == 0
    assert gone.isdisjoint(one["lesson_id"] for one in person.lessons())
    (aside,) = person.home.glob("replaced-*")
    left = [path for lesson in gone for path in person.files_of(lesson)]
    assert [path for path in left if not path.is_relative_to(aside)] == []


@pytest.mark.parametrize("folded", [True, False], ids=["folded", "unfolded"])
def test_what_an_agent_had_withheld_since_waits_for_the_person_again(
    person: Everest, *, folded: bool
) -> None:
    file = backed_up(person)
    asked, settled, other = list(rules(person))[:3]
    for lesson in (asked, settled):
        assert "withheld" in person("reject", lesson, "--reason", "we moved on").out
    assert person.at_terminal("reject", settled, "--reason", "we did").code == 0
    if folded:
        assert person("render").code == 0
    done = restored(person, file)
    assert (done["carried"], done["withheld"], done["left"]) == (1, 1, 0)
    given = {one["lesson_id"] for one in person.lessons() if one["trust"] != "disputed"}
    assert other in given
    assert asked not in given
    assert person("night").code == 0
    assert "withheld until you decide" in person("morning").out
    again = person("restore", str(file), "--yes").out
    assert "1 lesson or episode withheld here since then wait for your decision again" in again


def test_files_written_since_are_no_edits_and_no_deletions(person: Everest) -> None:
    file = backed_up(person)
    (reworded, text), (rejected, _) = list(rules(person).items())[:2]
    path = host_file(person, reworded)
    path.write_text(path.read_text().replace(f"\n{text}\n", "\nAlways pin the new registry.\n"))
    assert person.at_terminal("reject", rejected, "--reason", "no").code == 0
    assert read_back(person)[0] == 1
    assert person.files_of(rejected) == []
    restored(person, file)
    assert read_back(person) == (0, 0, [])
    assert rules(person)[reworded] == text
    assert text in path.read_text()


def test_files_of_a_memory_that_is_lost_are_known_again(person: Everest) -> None:
    """The home is gone; the host's folders hold what was written after the backup."""
    file = backed_up(person)
    lessons = rules(person)
    changed, edited = list(lessons)[:2]
    path = host_file(person, changed)
    path.write_text(path.read_text().replace(f"\n{lessons[changed]}\n", "\nAlways pin it.\n"))
    assert read_back(person)[0] == 1
    other = host_file(person, edited)
    other.write_text(other.read_text().replace(f"\n{lessons[edited]}\n", "\nAlways ask me.\n"))
    shutil.rmtree(person.home)
    restored(person, file)
    assert read_back(person) == (1, 0, [])  # the one that nobody had read back yet
    now = rules(person)
    assert now[changed] == lessons[changed]
    assert now[edited] == "Always ask me."
    assert lessons[changed] in path.read_text()
