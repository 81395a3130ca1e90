import json
import re
import shutil

import duckdb
import pytest

from tasks.store.lock import writer_lock
from tests.serving.shipped import Everest, tree_of

SEED = "pnpm"


def _seen(person: Everest) -> str:
    """Return a lesson of paperboat that recall finds and `MEMORY.md` shows."""
    recalled = person.recalled(SEED)
    shown = person.indexes()
    lessons = [one["lesson_id"] for one in person.lessons("--project", "paperboat")]
    return str(next(one for one in lessons if one in recalled and one[:16] in shown))


def _stands_nowhere(person: Everest, lesson: str) -> None:
    assert lesson not in person.recalled(SEED)
    assert lesson not in [one["lesson_id"] for one in person.lessons()]


def _nights(person: Everest, many: int = 1) -> None:
    for _ in range(many):
        told = person("night")
        assert told.code == 0, told.err


def _rows(person: Everest, table: str, column: str) -> set[str]:
    with duckdb.connect(str(person.home / "memory.duckdb"), read_only=True) as store:
        return {row[0] for row in store.execute(f"SELECT {column} FROM {table}").fetchall()}


def test_a_rejection_at_a_terminal_holds_at_once_and_for_good(person: Everest) -> None:
    lesson = _seen(person)
    assert person.files_of(lesson)
    told = person.at_terminal("reject", lesson[:12], "--reason", "we moved to bun")
    assert told.code == 0, told.out
    assert "hidden from now on" in told.out
    _stands_nowhere(person, lesson)
    _nights(person, 2)
    _stands_nowhere(person, lesson)
    assert person.files_of(lesson) == []
    assert lesson[:16] not in person.indexes()
    rejected = {one["lesson_id"]: one["trust"] for one in person.lessons("--rejected")}
    assert rejected[lesson] == "rejected"


def test_a_rejection_without_a_terminal_only_withholds(person: Everest) -> None:
    lesson = _seen(person)
    told = person("reject", lesson[:12], "--reason", "an agent thinks so")
    assert told.code == 0, told.err
    assert "only a person at a terminal" in told.out
    _stands_nowhere(person, lesson)
    _nights(person)
    _stands_nowhere(person, lesson)
    state = {one["lesson_id"]: one["trust"] for one in person.lessons("--rejected")}
    assert state[lesson] == "disputed"
    morning = person("morning").out
    assert f"everest reject {lesson[:16]}" in morning


def test_what_an_agent_asked_to_take_out_can_be_decided_on_at_once(person: Everest) -> None:
    lesson = _seen(person)
    assert person("reject", lesson[:12], "--reason", "an agent thinks so").code == 0
    told = person.at_terminal("reject", lesson[:12], "--reason", "it is right")
    assert told.code == 0, told.out
    again = person.at_terminal("reject", lesson[:12], "--reason", "once more")
    assert again.code == 2, "what a person decided on is gone"
    _nights(person)
    state = {one["lesson_id"]: one["trust"] for one in person.lessons("--rejected")}
    assert state[lesson] == "rejected"
    assert lesson[:16] in person("morning").out, "told on the day it was learned, too"


def test_a_rejection_needs_its_reason(person: Everest) -> None:
    told = person.at_terminal("reject", _seen(person)[:12])
    assert told.code == 2
    assert "--reason" in told.out


def test_what_is_forgotten_is_hidden_at_once_and_its_rows_are_gone_by_morning(
    person: Everest,
) -> None:
    lesson = _seen(person)
    sources = {s for one in person.lessons() if one["lesson_id"] == lesson for s in one["sources"]}
    assert lesson in _rows(person, "lesson_versions", "lesson_id")
    assert sources <= _rows(person, "episodes", "id")
    with writer_lock(person.home / "store.lock", wait=0, started="now"):
        told = person.at_terminal("forget", lesson[:12], "--yes")
    assert told.code == 0, told.out
    assert "is being written by" in told.out
    assert "everest compact" in told.out
    _stands_nowhere(person, lesson)
    assert sources.isdisjoint(person.recalled(SEED))
    assert lesson in _rows(person, "lesson_versions", "lesson_id")
    _nights(person)
    assert lesson not in _rows(person, "lesson_versions", "lesson_id")
    assert sources.isdisjoint(_rows(person, "episodes", "id"))
    assert person.files_of(lesson) == []
    for transcript in person.claude.rglob("*.jsonl"):
        transcript.write_bytes(b'{"type":"progress"}\n' + transcript.read_bytes())
    assert person("ingest", "--json").data["changed"] == 12
    _nights(person)
    assert sources.isdisjoint(_rows(person, "episodes", "id"))
    assert lesson not in _rows(person, "lesson_versions", "lesson_id")
    _stands_nowhere(person, lesson)


def _going(person: Everest) -> tuple[str, dict[str, str]]:
    """Return a lesson and everything that goes with it: the words of each by its id."""
    lesson = _seen(person)
    found = next(one for one in person.lessons() if one["lesson_id"] == lesson)
    marks = ", ".join("?" for _ in found["sources"])
    with duckdb.connect(str(person.home / "memory.duckdb"), read_only=True) as store:
        sql = f"select id, words from episodes where id in ({marks})"
        rows = dict(store.execute(sql, found["sources"]).fetchall())
    assert rows, "a lesson rests on something"
    return lesson, {lesson: found["text"], **rows}


@pytest.mark.parametrize("typed", ["n\n", "\n", "\x04"], ids=["no", "enter", "end of input"])
def test_a_person_who_does_not_say_yes_forgets_nothing(person: Everest, typed: str) -> None:
    lesson, goes = _going(person)
    before = tree_of(person.home)
    told = person.at_terminal("forget", lesson[:12], typed=typed)
    assert told.code == 130, told.out
    assert f"Forget {len(goes)} records for good?" in told.out
    assert "[y/N]" in told.out
    for unit, words in goes.items():
        (line,) = (one for one in told.out.splitlines() if one.startswith(f"  {unit[:16]}  "))
        assert re.search(r"(lesson|correction), \d{4}-\d\d-\d\d$", line)
        assert " ".join(words.split())[:40] in told.out
    assert max(map(len, told.out.splitlines())) <= 100
    assert tree_of(person.home) == before


def test_a_person_who_says_yes_forgets_what_was_shown(person: Everest) -> None:
    lesson, goes = _going(person)
    told = person.at_terminal("forget", lesson[:12], typed="y\n")
    assert told.code == 0, told.out
    assert goes.keys().isdisjoint(_rows(person, "episodes", "id"))
    assert lesson not in _rows(person, "lesson_versions", "lesson_id")


def test_what_rests_on_an_episode_is_shown_and_goes_with_it(person: Everest) -> None:
    lesson, goes = _going(person)
    episode = next(unit for unit in goes if unit != lesson)
    told = person.at_terminal("forget", episode, typed="y\n")
    assert told.code == 0, told.out
    assert f"  {lesson[:16]}  " in told.out
    assert lesson not in _rows(person, "lesson_versions", "lesson_id")


@pytest.mark.parametrize("yes", [(), ("--yes",)], ids=["plain", "with --yes"])
def test_a_program_that_forgets_is_not_asked_and_only_withholds(
    person: Everest, yes: tuple[str, ...]
) -> None:
    lesson, goes = _going(person)
    told = person("forget", lesson, *yes)
    assert told.code == 0, told.err
    assert "only a person at a terminal" in told.out
    assert not any(words[:40] in told.out + told.err for words in goes.values())
    _nights(person)
    assert lesson in _rows(person, "lesson_versions", "lesson_id")


def _holding(person: Everest, words: str) -> set[str]:
    """Return what under the home holds these bytes: by its first name, or the store's file."""
    files = (path for path in person.home.rglob("*") if path.is_file())
    found = {path for path in files if words.encode() in path.read_bytes()}
    return {path.relative_to(person.home).parts[0] for path in found}


@pytest.mark.parametrize("way", ["at once", "later"])
def test_a_forgotten_secret_leaves_no_byte_in_store_and_view(person: Everest, way: str) -> None:
    secret = "the safe opens with Zanzibar-7719"
    where = ("--project", "paperboat")
    unit = person("remember", secret, *where, "--json").data["id"]
    _nights(person)
    token = "Zanzibar-7719"
    assert {"memory.duckdb", "view", "ledger", "journal"} <= _holding(person, token)
    if way == "at once":
        told = person.at_terminal("forget", unit[:12], "--yes")
        assert told.code == 0, told.out
        assert "bytes in the store's file are gone" in told.out
        assert str(person.home / "ledger") in told.out.replace("\n", "")
    else:
        with writer_lock(person.home / "store.lock", wait=0, started="now"):
            assert person.at_terminal("forget", unit[:12], "--yes").code == 0
        _nights(person)
        assert "memory.duckdb" in _holding(person, token), "deleting a row leaves its bytes"
        compacted = person("compact", "--json")
        assert compacted.code == 0, compacted.err
        assert compacted.data["rows"] > 100
    assert _holding(person, token) == {"ledger", "journal"}, "as the command says"
    assert person("remember", secret, *where).code == 3
    if way == "later":
        digest = person.digest()
        assert person("rebuild").code == 0
        assert person.digest() == digest
        assert _holding(person, token) == {"ledger", "journal"}, "replayed, and deleted again"


def test_an_edited_lesson_file_is_a_correction(person: Everest) -> None:
    lesson = _seen(person)
    old = next(one["text"] for one in person.lessons() if one["lesson_id"] == lesson)
    file = next(path for path in person.files_of(lesson) if path.is_relative_to(person.claude))
    new = "Use bun for installing packages."
    text = file.read_text("utf-8")
    head, front, body = text.split("---\n", 2)
    assert old in body
    file.write_text(f"{head}---\n{front}---\n{body.replace(old, new)}", "utf-8")
    told = person("render", "--json")
    assert told.code == 0, told.err
    assert told.data["edits"] == 1
    now = {one["lesson_id"]: one["text"] for one in person.lessons()}
    assert now[lesson] == new
    _nights(person)
    assert new in person.indexes()
    assert all(new in path.read_text("utf-8") for path in person.files_of(lesson))
    assert old not in person.indexes()


def test_a_deleted_lesson_file_is_a_veto(person: Everest) -> None:
    lesson = _seen(person)
    file = next(path for path in person.files_of(lesson) if path.is_relative_to(person.claude))
    file.unlink()
    _nights(person, 2)
    _stands_nowhere(person, lesson)
    assert person.files_of(lesson) == []
    assert lesson[:16] in (person.home / "vetoed.json").read_text()
    assert person.lessons(), "the others stay"


def test_a_folder_that_is_gone_is_a_question_and_no_veto(person: Everest) -> None:
    before = {one["lesson_id"] for one in person.lessons()}
    lesson = _seen(person)
    file = next(path for path in person.files_of(lesson) if path.is_relative_to(person.claude))
    shutil.rmtree(file.parent)
    told = person("night", "--json")
    assert told.code == 0, told.err
    assert told.data["unsure"]
    assert {one["lesson_id"] for one in person.lessons()} == before
    assert "Needs your answer" in person("morning").out


@pytest.mark.parametrize("how", ["typed", "piped"])
def test_a_note_is_recalled_at_once_and_after_the_night(person: Everest, how: str) -> None:
    note = "the staging database is refreshed on Mondays"
    where = ("--project", "paperboat")
    if how == "typed":
        told = person.at_terminal("remember", *where, typed=f"{note}\n\x04")
    else:
        told = person("remember", *where, stdin=note)
    assert told.code == 0, told.out + told.err
    assert note in person("recall", "staging database", *where).out
    _nights(person)
    assert note in person("recall", "staging database", *where).out
    assert "Mondays" not in person("recall", "staging database", "--project", "tidewater").out


def test_a_note_for_everywhere_is_recalled_everywhere(person: Everest) -> None:
    person("remember", "deploys are frozen in December", "--everywhere")
    for project in ("paperboat", "tidewater"):
        assert "December" in person("recall", "deploys frozen", "--project", project).out


def test_a_rejected_value_is_refused_when_it_is_said_again(person: Everest) -> None:
    note = "the api key header is called X-Paper"
    where = ("--project", "paperboat")
    unit = person("remember", note, *where, "--json").data["id"]
    assert person.at_terminal("reject", unit[:12], "--reason", "wrong").code == 0
    again = person("remember", f" {note.upper()}. ", *where)
    assert again.code == 3
    assert note not in again.err
    assert "rejected or forgotten" in again.err
    _nights(person)
    assert person("remember", note, *where).code == 3
    assert person("remember", f"{note} or X-Boat", *where).code == 0


def test_a_secret_is_redacted_before_it_is_kept(person: Everest) -> None:
    token = "ghp_" + "a1B2" * 9
    person("remember", f"the token is {token}", "--project", "paperboat")
    kept = b"".join(path.read_bytes() for path in person.home.rglob("*") if path.is_file())
    assert token.encode() not in kept
    assert "token is" in person("recall", "token", "--project", "paperboat").out


def test_recalling_touches_and_listing_does_not(person: Everest) -> None:
    def unfolded() -> int:
        return int(json.loads(person("status", "--json").out)["unfolded"])

    person("lessons")
    assert unfolded() == 0
    person.recalled(SEED)
    assert unfolded() == 1
