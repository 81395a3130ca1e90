"""`everest export` by the shipped command: all of it, whole or not at all, readable without us."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.serving.shipped import Everest, tree_of


@pytest.fixture
def full(person: Everest) -> Everest:
    """Give a person who also noted, rejected and told something."""
    assert person("remember", "the staging port is 9090", "--project", "paperboat").code == 0
    unit = str(person.lessons()[0]["lesson_id"])[:16]
    assert person.at_terminal("reject", unit, "--reason", "we moved").code == 0
    told = '{"kind": "deploy", "text": "fly deploy api", "project": "paperboat"}'
    assert person("ingest", "--events", "-", stdin=told).code == 0
    return person


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _count(person: Everest, query: str) -> int:
    with duckdb.connect(person.home / "memory.duckdb", read_only=True) as store:
        return int(store.execute(query).fetchall()[0][0])


TABLES = {
    "projects": "FROM projects",
    "lessons": "FROM lesson_strengths",
    "episodes": "FROM episodes WHERE kind <> 'note'",
    "notes": "FROM episodes WHERE kind = 'note'",
    "sessions": "FROM sessions",
    "decisions": "FROM (SELECT id FROM decisions UNION ALL SELECT id FROM tombstones)",
    "refused": "FROM refusals",
    "predictions": "FROM predictions",
    "exposures": "FROM exposures",
}


def test_everything_that_the_store_holds_is_in_it(full: Everest) -> None:
    out = full.base / "out"
    told = full("export", "--to", str(out), "--json")
    assert told.code == 0, told.err
    for name, rows in TABLES.items():
        found = _read(out / f"{name}.jsonl")
        assert len(found) == told.data[name] == _count(full, f"SELECT count(*) {rows}"), name
    lessons = _read(out / "lessons.jsonl")
    versions = sum(len(one["history"]) for one in lessons)
    assert versions == _count(full, "SELECT count(*) FROM lesson_versions")
    sources = sum(len(one["sources"]) for one in lessons)
    assert sources == _count(full, "SELECT count(*) FROM lesson_sources")
    assert all(source["words"] for one in lessons for source in one["sources"])
    assert "9090" in (out / "notes.jsonl").read_text()
    assert "we moved" in (out / "decisions.jsonl").read_text()
    assert "fly deploy api" in next((out / "relay").glob("*.jsonl")).read_text()
    sessions = _count(full, "SELECT count(*) FROM sessions WHERE evidence_bytes > 0")
    assert len(list((out / "evidence").rglob("*.jsonl"))) == told.data["evidence"] >= sessions > 0


def test_its_readme_names_every_file_and_how_much_is_in_it(full: Everest) -> None:
    for form in ("jsonl", "markdown"):
        out = full.base / form
        told = full("export", "--to", str(out), "--format", form, "--json").data
        text = (out / "README.md").read_text()
        named = re.findall(r"^\| `([^`]+)` \| (\d+) \|", text, re.MULTILINE)
        there = {path.name + "/" * path.is_dir() for path in out.iterdir()}
        assert {name for name, _ in named} == there - {"README.md"}
        counts = {name.partition(".")[0].strip("/"): int(many) for name, many in named}
        assert counts == {kind: many for kind, many in told.items() if kind != "path"}


def test_markdown_reads_as_a_person_reads(full: Everest) -> None:
    out = full.base / "out"
    assert full("export", "--to", str(out), "--format", "markdown").code == 0
    lessons = "".join(path.read_text() for path in (out / "lessons").iterdir())
    for one in full.lessons():
        assert one["text"] in lessons
    assert "> " in lessons
    assert "9090" in (out / "notes.md").read_text()
    assert "we moved" in (out / "decisions.md").read_text()


def test_a_zip_holds_the_same_files(full: Everest) -> None:
    assert full("export", "--to", str(full.base / "out")).code == 0
    assert full("export", "--to", str(full.base / "out.zip")).code == 0
    with zipfile.ZipFile(full.base / "out.zip") as archive:
        assert archive.testzip() is None
        names = {name.removeprefix("out/") for name in archive.namelist()}
    folder = full.base / "out"
    assert names == {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_it_is_the_persons_alone_and_overwrites_nothing(full: Everest) -> None:
    out = full.base / "out"
    assert full("export", "--to", str(out)).code == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (out, *out.rglob("*")))
    before = tree_of(out)
    told = full("export", "--to", str(out))
    assert told.code == 2
    assert "already" in told.err
    assert tree_of(out) == before
    assert full("export", "--to", str(full.home / "out")).code == 2
    assert full("export", "--to", str(full.base / "nowhere" / "out")).code == 2
    assert [path.name for path in full.base.iterdir() if path.name.startswith(".")] == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a disk this small")
def test_a_full_disk_leaves_no_part(full: Everest) -> None:
    small = full.base / "small"
    small.mkdir()
    mounted = full.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)])
    if mounted.code:
        pytest.skip(f"no small disk can be had: {mounted.err}")
    try:
        for name in ("out", "out.zip"):
            told = full("export", "--to", str(small / name))
            assert told.code == 5, told.err
            assert list(small.iterdir()) == []
    finally:
        full.run(["umount", str(small)])


def test_there_must_be_something_to_take(newcomer: Everest) -> None:
    told = newcomer("export", "--to", str(newcomer.base / "out"))
    assert told.code == 2
    assert "everest night" in told.err
    assert not newcomer.home.exists()
