import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.serving.shipped import Everest, tree_of


def test_a_night_without_transcripts_says_so_and_offers_the_demo(newcomer: Everest) -> None:
    told = newcomer("night")
    assert told.code == 0, told.err
    assert "No transcripts of Claude Code were found" in told.out
    assert "`everest demo`" in told.out
    assert newcomer("morning").code == 0


def test_an_empty_root_is_no_transcripts_either(newcomer: Everest) -> None:
    newcomer.claude.mkdir()
    told = newcomer("night", "--dry-run")
    assert told.code == 0
    assert "everest demo" in told.out
    assert str(newcomer.claude) in told.out
    assert not newcomer.home.exists()


def test_the_first_night_teaches_and_writes_files(person: Everest) -> None:
    assert len(person.lessons()) >= 6
    for lesson in person.lessons():
        places = person.files_of(lesson["lesson_id"])
        assert {place.is_relative_to(person.claude) for place in places} == {True, False}
        assert lesson["lesson_id"][:16] in person.indexes()
    morning = person("morning").out
    assert "first night" in morning
    assert "problem" not in morning
    for name in ("lessons.jsonl", "morning.md", "written.json", "memory.duckdb"):
        assert (person.home / name).stat().st_mode & 0o077 == 0


def test_a_second_night_changes_nothing(person: Everest) -> None:
    before, ledger = person.digest(), tree_of(person.home / "ledger")
    files = tree_of(person.claude)
    morning = (person.home / "morning.md").read_bytes()
    told = person("night")
    assert told.code == 0, told.err
    assert person.digest() == before
    assert tree_of(person.home / "ledger") == ledger
    assert tree_of(person.claude) == files
    assert (person.home / "morning.md").read_bytes() == morning


def test_a_night_runs_if_one_is_due_and_says_so_otherwise(person: Everest) -> None:
    log = person.home / "runs.jsonl"
    kept = log.read_bytes()
    told = person("night", "--if-due")
    assert (told.code, told.out) == (
        0,
        "No night is due: the last one has completed since 03:30.\n",
    )
    assert log.read_bytes() == kept
    assert person("night", "--if-due", "--json").data is None
    log.unlink()
    assert "Nothing new" in person("night", "--if-due").out
    assert b"completed" in log.read_bytes()


def test_the_status_names_the_last_night_and_the_last_run_that_went_wrong(person: Everest) -> None:
    assert person("status", "--json").data["last_failure"] is None
    log = person.home / "runs.jsonl"
    begun = log.read_bytes().splitlines(keepends=True)[0]
    killed = begun.replace(b'"n": 1', b'"n": 9').replace(b'"run": "', b'"run": "f')
    log.write_bytes(log.read_bytes() + killed)
    told = person("status", "--json").data
    assert (told["last_failure"]["flow"], told["last_failure"]["outcome"]) == ("nightly", "crashed")
    assert "last failure     nightly of" in person("status").out
    assert "last night       20" in person("status").out


def test_a_request_that_could_not_be_done_is_told_again_only_where_nobody_saw_it(
    newcomer: Everest,
) -> None:
    gone = str(newcomer.base / "gone")
    told = newcomer("ingest", "--transcripts", gone)
    assert (told.code, gone in told.err) == (2, True)
    assert newcomer("status", "--json").data["last_failure"] is None
    assert not [one for one in newcomer("night", "--json").data["problems"] if gone in one]

    newcomer("ingest", "--transcripts", gone, PREFECT__FLOW_RUN_ID="of-a-schedule")
    assert newcomer("status", "--json").data["last_failure"]["error"] == "NoTranscripts"
    assert [one for one in newcomer("night", "--json").data["problems"] if gone in one]


def test_projects_of_one_name_are_told_apart_in_the_report(newcomer: Everest) -> None:
    newcomer.works_a_week(datetime.now(UTC))
    assert newcomer("ingest").code == 0
    assert newcomer.at_terminal("project", "rename", "tidewater", "paperboat").code == 0
    assert newcomer("night").code == 0
    morning = newcomer("morning").out
    assert "(paperboat-" in morning
    assert "(tidewater-" in morning
    assert "(paperboat," not in morning


def test_a_named_folder_is_read_and_never_written_to(newcomer: Everest) -> None:
    newcomer.works_a_week(datetime.now(UTC))
    elsewhere = newcomer.base / "elsewhere"
    newcomer.claude.rename(elsewhere)
    before = tree_of(elsewhere)
    told = newcomer("night", "--transcripts", str(elsewhere))
    assert told.code == 0, told.err
    assert tree_of(elsewhere) == before
    assert not newcomer.claude.exists()
    assert len(list((newcomer.home / "memory").rglob("everest-*.md"))) >= 6


def test_the_roots_are_looked_for_in_their_order(newcomer: Everest) -> None:
    named = [newcomer.base / "one", newcomer.base / "two"]
    config = newcomer.base / "config"
    roots = [*named, config / "claude", newcomer.claude]
    env: dict[str, str | None] = {
        "CLAUDE_CONFIG_DIR": ",".join(map(str, named)),
        "XDG_CONFIG_HOME": str(config),
    }
    for root in roots:
        (root / "projects").mkdir(parents=True)
    assert newcomer("paths", "--json", **env).data["transcripts"] == list(map(str, roots))
    told = newcomer("night", "--dry-run", "--json", **env)
    assert [one["root"] for one in told.data] == list(map(str, roots))
    assert newcomer("paths", "--json").data["transcripts"] == [str(newcomer.claude)]


def test_a_dry_run_says_what_would_be_read_and_stops(newcomer: Everest) -> None:
    newcomer.works_a_week(datetime.now(UTC))
    told = newcomer("night", "--dry-run")
    assert "12 transcripts in 2 projects" in told.out
    assert not newcomer.home.exists()


def test_a_rehearsed_sleep_changes_nothing_and_the_real_one_does_it(newcomer: Everest) -> None:
    newcomer.works_a_week(datetime.now(UTC))
    assert newcomer("ingest").code == 0
    before, published = tree_of(newcomer.home), newcomer.digest()
    rehearsed = newcomer("sleep", "--dry-run", "--json")
    assert rehearsed.code == 0, rehearsed.err
    assert tree_of(newcomer.home) == before
    told = {one["unit_id"] for one in rehearsed.data if one["action"] == "create"}
    assert len(told) >= 6
    assert newcomer("sleep").code == 0
    assert {one["lesson_id"][:16] for one in newcomer.lessons()} == told
    assert newcomer.digest() != published
    assert newcomer("sleep", "--dry-run", "--json").data == []


def test_a_rebuild_comes_to_the_same(person: Everest) -> None:
    person("remember", "rebuilds keep notes", "--project", "paperboat")
    assert person("night").code == 0
    before, listed = person.digest(), person.lessons()
    told = person("rebuild", "--json")
    assert told.code == 0, told.err
    assert told.data["digest"] == person.digest() == before
    assert person.lessons() == listed
    assert "rebuilds keep notes" in person("recall", "rebuilds", "--project", "paperboat").out


def test_an_ignored_project_gets_no_files_until_it_is_watched(person: Everest) -> None:
    mine = [one["lesson_id"] for one in person.lessons("--project", "tidewater")]
    assert person.at_terminal("project", "ignore", "tidewater").code == 0
    assert person("night").code == 0
    assert not any(person.files_of(lesson) for lesson in mine)
    assert "(ignored)" in person("project", "list").out
    assert person.at_terminal("project", "watch", "tidewater").code == 0
    assert person("night").code == 0
    assert all(person.files_of(lesson) for lesson in mine)


def test_a_renamed_project_keeps_its_id_and_answers_to_its_new_name(person: Everest) -> None:
    before = {one["name"]: one["id"] for one in person("project", "list", "--json").data}
    assert person.at_terminal("project", "rename", "paperboat", "Paper Boat").code == 0
    assert person("ingest").code == 0
    after = {one["name"]: one["id"] for one in person("project", "list", "--json").data}
    assert after["Paper Boat"] == before["paperboat"]
    assert person.lessons("--project", "Paper Boat")


def test_what_grew_is_read_and_what_did_not_is_not(person: Everest) -> None:
    grown = min(person.claude.rglob("*.jsonl"))
    data = grown.read_bytes()
    whole = [line for line in data.splitlines(keepends=True) if b'"type":"user"' in line]
    more = whole[0].replace(b'"uuid":"', b'"uuid":"ffff')
    grown.write_bytes(data + more)
    told = person("ingest", "--json")
    assert told.data["changed"] == 1
    assert told.data["records"] == 1


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_whatever_is_written_is_the_persons_alone(newcomer: Everest, umask: int) -> None:
    newcomer.works_a_week(datetime.now(UTC))
    before = os.umask(umask)
    try:
        assert newcomer("ingest").code == 0
    finally:
        os.umask(before)
    assert newcomer.home.stat().st_mode & 0o077 == 0
    loose = [
        str(path)
        for path in newcomer.home.rglob("*")
        if path.lstat().st_mode & 0o077 and not Path(path).is_symlink()
    ]
    assert loose == []
