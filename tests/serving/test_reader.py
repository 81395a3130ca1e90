"""The warm reader beside a real store: what was published and said is read at once, and no more."""

from __future__ import annotations

import fcntl
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from serving.reader import Reader
from tasks.domain.project import Identified
from tasks.domain.proposals import Actor
from tasks.embedding.hashed import Hashed
from tasks.errors import ViewDamaged
from tasks.fold import fold
from tasks.prime import Moment, lessons_in
from tasks.recall import recall
from tasks.said import decide, remember
from tasks.sleep import run as sleeping
from tasks.store import gateway, journal
from tasks.store.overlay import overlay
from tasks.store.owned import OwnSegment
from tasks.store.publish import publish
from tasks.store.tail import Tail
from tests.store.build import (
    DAY,
    NOW,
    OTHER_RULE,
    RULE,
    SCOPE,
    Home,
    episode,
    lesson,
    put,
    told,
)

SPACE = Hashed()
NOTE = "the staging database is refreshed on Mondays"
SHOP = Identified(SCOPE.project_id, "/home/me/shop", "shop")


@contextmanager
def reading(house: Home) -> Iterator[Reader]:
    reader = Reader(house.settings, house.places)
    try:
        yield reader
    finally:
        reader.close()


def published(house: Home, *rules: str) -> None:
    with house.opened() as store:
        made = [episode(rule, rule) for rule in rules]
        proposals = [put(one) for one in made]
        proposals += [put(lesson(one, text=one.words)) for one in made]
        gateway.commit(store, proposals, at=NOW)
        fold(store, at=NOW)
        sleeping.embed(store, SPACE, at=NOW)
        publish(store, SPACE.name, at=NOW)


def texts(reader: Reader, query: str) -> list[str]:
    found = recall(reader.memory(), query, scope=SCOPE, space=SPACE, k=9, now=NOW)
    return [one.row["text"] for one in found]


def note(reader: Reader, text: str = NOTE) -> None:
    remember(reader.memory(), text, scope=SCOPE, project=SHOP, actor=Actor.AGENT, at=NOW)


def primed(reader: Reader) -> list[str]:
    every = "types in tests, commit messages, rule number"
    asked = reader.asked(every, every)
    return sorted(one.row["text"] for one in reader.candidates(asked, SCOPE, Moment.PROMPT))


# --- the newest view, and what was said since ---


def test_before_the_first_night_it_is_empty_and_remembers(house: Home) -> None:
    with reading(house) as reader:
        assert reader.memory().view is None
        assert primed(reader) == []
        note(reader)
        assert texts(reader, "staging database") == [NOTE]


def test_what_any_process_says_is_in_the_next_reading(house: Home) -> None:
    published(house, RULE, OTHER_RULE)
    with reading(house) as reader:
        assert primed(reader) == sorted([RULE, OTHER_RULE])
        note(reader)
        remember(house.memory(), "zebra", scope=SCOPE, project=SHOP, actor=Actor.PERSON, at=NOW)
        assert texts(reader, "staging database") == [NOTE]
        assert texts(reader, "zebra") == ["zebra"]
        memory = house.memory()
        found = memory.find(lesson(episode(RULE, RULE)).id, SCOPE)
        decide(memory, "reject", found, reason="no", actor=Actor.PERSON, at=NOW)
        assert primed(reader) == [OTHER_RULE]
        assert reader.memory().is_buried(RULE, SCOPE)
        assert not reader.memory().is_buried(OTHER_RULE, SCOPE)


def test_a_lesson_reworded_in_its_file_is_primed_as_it_is_now(house: Home) -> None:
    published(house, RULE)
    with reading(house) as reader:
        body = {"lesson_id": lesson(episode(RULE, RULE)).id, "text": "Annotate types, always."}
        house.memory().append("edit_file", body, scope=SCOPE, actor=Actor.FILE, at=NOW)
        assert primed(reader) == ["Annotate types, always."]


def test_a_new_view_is_read_at_once_and_the_old_one_let_go(house: Home) -> None:
    published(house, RULE)
    with reading(house) as reader:
        assert primed(reader) == [RULE]
        assert texts(reader, "annotate types") == [RULE]
        first = _maps(house)
        for turn in range(3):
            published(house, RULE, OTHER_RULE, f"Rule number {turn} is new.")
            assert f"Rule number {turn} is new." in primed(reader)
            assert texts(reader, OTHER_RULE)[0] == OTHER_RULE
        gc.collect()
        deleted = [line for line in _maps(house) if "(deleted)" in line]
        assert first, "the view is mapped"
        assert deleted == []


def _maps(house: Home) -> list[str]:
    lines = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in lines if str(house.places.view) in line]


def test_a_view_that_is_damaged_is_told_and_read_again_when_mended(house: Home) -> None:
    published(house, RULE)
    with reading(house) as reader:
        assert primed(reader) == [RULE]
        manifest = house.places.view / (house.places.view / "current").read_text()
        whole = manifest.read_bytes()
        manifest.write_bytes(b"{")
        _touch(house.places.view / "current")
        with pytest.raises(ViewDamaged):
            reader.memory()
        assert "damaged" in reader.damage
        manifest.write_bytes(whole)
        _touch(house.places.view / "current")
        assert primed(reader) == [RULE]
        assert reader.damage == ""


def _touch(path: Path) -> None:
    path.write_bytes(path.read_bytes())
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1_000_000))


def test_threads_see_their_own_writes(house: Home) -> None:
    published(house, RULE)
    lost: list[str] = []
    with reading(house) as reader:

        def speak(name: str) -> None:
            for n in range(8):
                note(reader, f"{name}{n}")
                lost.extend(
                    [f"{name}{n}"] if f"{name}{n}" not in texts(reader, f"{name}{n}") else []
                )

        threads = [threading.Thread(target=speak, args=(name,)) for name in ("ox", "elk", "yak")]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert lost == []
        assert len(reader.memory().overlay.notes) == 24


def test_which_rows_are_lessons_is_published(house: Home) -> None:
    published(house, RULE, OTHER_RULE)
    view = house.memory().view
    assert view is not None
    shelf = view.scope(SCOPE)
    assert shelf is not None
    listed = [int(row) for row in shelf.lessons]
    assert listed == [n for n, row in enumerate(shelf.rows) if row["unit"] == "lesson"]
    assert len(lessons_in(shelf).rows) == 2
    for path in house.places.view.rglob("lessons.npy"):
        path.unlink()
    older = house.memory().view
    assert older is not None
    assert [row["id"] for row in lessons_in(older.scope(SCOPE)).rows] == [
        row["id"] for row in lessons_in(shelf).rows
    ]


# --- the journal's tail ---


def test_the_tail_gives_what_a_whole_reading_gives(house: Home) -> None:
    folder, key = house.places.journal, house.memory().key_for_writing()
    tail = Tail(folder, {})

    def same() -> bool:
        tail.grow()
        return tail.overlay(key) == overlay(folder, {}, key=key)

    assert same()
    for n in range(4):
        for op, body in (
            ("remember", {"text": f"note {n}"}),
            ("event", told()),
            ("touch", {"units": []}),
        ):
            journal.append(folder, op, body, scope=SCOPE, actor=Actor.HOST, at=NOW + n * DAY)
            assert same()
    segment = min(folder.glob("*.jsonl"))
    with segment.open("ab") as file:
        file.write(b'{"v": 9}\n{"cut')
    assert same()
    assert tail.overlay(key).bad == 1
    with segment.open("ab") as file:
        file.write(b" short\n")
    assert same()
    assert tail.overlay(key).bad == 2
    segment.rename(folder / "2020-01-01-cli.jsonl")
    assert same(), "a segment is gone and another there"
    (folder / "2020-01-01-cli.jsonl").write_bytes(b"")
    assert same(), "a segment became shorter"


def test_only_new_bytes_of_the_journal_are_read(house: Home) -> None:
    folder = house.places.journal
    journal.append(folder, "remember", {"text": "a"}, scope=SCOPE, actor=Actor.AGENT, at=NOW)
    tail = Tail(folder, {})
    assert tail.grow()
    assert not tail.grow(), "nothing is new"
    segment = next(folder.glob("*.jsonl"))
    data = segment.read_bytes()
    with segment.open("r+b") as file:  # what was read is not looked at again
        file.write(b"x" * (len(data) - 1))
    journal.append(folder, "remember", {"text": "b"}, scope=SCOPE, actor=Actor.AGENT, at=NOW)
    assert tail.grow()
    notes = tail.overlay(house.memory().key_for_writing()).notes
    assert [one.row["text"] for one in notes] == ["a", "b"]


# --- the segment of a process ---


def say(own: OwnSegment, text: str, at: object = NOW) -> None:
    own("remember", {"text": text}, scope=SCOPE, actor=Actor.AGENT, at=at)  # type: ignore[arg-type]


def test_a_segment_is_held_while_its_process_lives_and_put_away_after(house: Home) -> None:
    folder = house.places.journal
    own = OwnSegment(folder)
    assert not folder.exists()
    say(own, "a")
    say(own, "b")
    [path] = folder.glob("*.jsonl")
    covered = {path.name: path.stat().st_size}
    later = (NOW + DAY).strftime("%Y-%m-%d")
    assert journal.retire(folder, covered, today=later) == []
    own.close()
    assert journal.retire(folder, covered, today=later) == [path.name]


def test_each_day_begins_a_segment_and_lets_the_last_one_go(house: Home) -> None:
    folder = house.places.journal
    own = OwnSegment(folder)
    say(own, "a")
    say(own, "b", NOW + DAY)
    first, second = sorted(folder.glob("*.jsonl"))
    assert (first.name[:10], second.name[:10]) == ("2026-06-01", "2026-06-02")
    with first.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with second.open("rb") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    own.close()


@pytest.mark.parametrize("fate", ["moved", "replaced"])
def test_a_segment_that_was_taken_from_under_it_is_not_written_to(house: Home, fate: str) -> None:
    folder = house.places.journal
    own = OwnSegment(folder)
    say(own, "a")
    [path] = folder.glob("*.jsonl")
    with journal.exclusive(folder):
        aside = path.rename(house.places.home / "aside.jsonl")
        if fate == "replaced":
            path.write_bytes(aside.read_bytes())
    kept = aside.read_bytes()
    say(own, "b")
    own.close()
    assert aside.read_bytes() == kept
    read = [line for one in journal.unfolded(folder, {}) for line in one.lines]
    said = sorted(line.body["text"] for line in read)
    assert said == (["a", "b"] if fate == "replaced" else ["b"])


def test_it_waits_while_the_journal_is_held(house: Home) -> None:
    own = OwnSegment(house.places.journal)
    say(own, "a")
    with journal.exclusive(house.places.journal):
        thread = threading.Thread(target=say, args=(own, "b"))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(10)
    own.close()
    [read] = journal.unfolded(house.places.journal, {})
    assert [line.body["text"] for line in read.lines] == ["a", "b"]
