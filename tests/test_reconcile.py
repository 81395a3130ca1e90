"""What was done to our files between two nights: taken in once, by whose hand it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tasks.demo import write_week
from tasks.domain.units import Tombstone, TombstoneKind, Trust
from tasks.reconcile import Reconciled, reconcile
from tasks.render.written import load
from tasks.steps import PLAIN
from tasks.store import reads
from tests.store.build import DAY, NOW, Home


@pytest.fixture
def rendered(house: Home, tmp_path: Path) -> tuple[Home, Path]:
    """Give a home that slept on the demo week, and the week's root."""
    week = write_week(tmp_path / "claude", now=NOW)
    with house.run(week.root) as run:
        for step in (PLAIN.ingest, PLAIN.embed, PLAIN.lessons, PLAIN.publish, PLAIN.render):
            step(run)
    return house, week.root


def lesson_files(house: Home) -> list[Path]:
    return sorted(path for path in load(house.places.written) if path.name.startswith("everest-"))


def again(home: Home, root: Path) -> tuple[Reconciled, list[Tombstone]]:
    with home.run(root, at=NOW + DAY) as run:
        taken = reconcile(run)
        return taken, list(run.store.stones)


def trusts(home: Home) -> dict[str, Trust]:
    with home.opened() as store:
        return {
            one.id: one.trust
            for scope in reads.scopes(store.database)
            for one in reads.lessons(store.database, scope)
        }


def test_files_nobody_touched_are_no_change(rendered: tuple[Home, Path]) -> None:
    home, root = rendered
    assert lesson_files(home)
    taken, found = again(home, root)
    assert (taken.edits, taken.vetoes, taken.notes, taken.questions, found) == (0, 0, 0, (), [])


def reword(path: Path) -> str:
    text = path.read_text("utf-8")
    rule = next(line for line in text.split("---")[2].splitlines() if line.strip())
    path.write_text(text.replace(f"\n{rule}\n", "\nKeep the zebra away from the tests.\n"), "utf-8")
    return rule


def test_an_edit_by_the_person_is_the_new_wording_once(rendered: tuple[Home, Path]) -> None:
    home, root = rendered
    reword(lesson_files(home)[0])
    taken, found = again(home, root)
    assert (taken.edits, taken.vetoes) == (1, 0)
    assert [one.kind for one in found] == [TombstoneKind.SUPERSEDED]
    with home.opened() as store:
        texts = [
            one.text
            for scope in reads.scopes(store.database)
            for one in reads.lessons(store.database, scope)
        ]
    assert texts.count("Keep the zebra away from the tests.") == 1
    taken, found = again(home, root)
    assert (taken.edits, len(found)) == (0, 1)


def delete_everywhere(home: Home, name: str) -> None:
    for path in lesson_files(home):
        if path.name == name:
            path.unlink()


def test_a_deletion_by_the_person_is_a_veto(rendered: tuple[Home, Path]) -> None:
    home, root = rendered
    before = trusts(home)
    delete_everywhere(home, lesson_files(home)[0].name)
    taken, found = again(home, root)
    assert taken.vetoes >= 1
    assert {one.kind for one in found} == {TombstoneKind.VETO}
    (vetoed,) = {one.unit_id for one in found}
    after = trusts(home)
    assert after[vetoed] is Trust.REJECTED
    assert {unit: t for unit, t in after.items() if unit != vetoed} == {
        unit: t for unit, t in before.items() if unit != vetoed
    }


def by_an_agent(root: Path, path: Path, tool: str) -> None:
    """Leave a transcript in which an agent's call names the file."""
    call = {"type": "tool_use", "id": "t1", "name": tool, "input": {"file_path": str(path)}}
    record = {
        "type": "assistant",
        "uuid": "u1",
        "sessionId": "s",
        "message": {"id": "m", "role": "assistant", "content": [call]},
    }
    transcript = next((root / "projects").iterdir()) / "0000-agent-run.jsonl"
    transcript.write_text(json.dumps(record, separators=(",", ":")) + "\n", "utf-8")
    late = (NOW + DAY).timestamp() + 10 * 365 * 86_400  # after the render, whatever the clock says
    os.utime(transcript, (late, late))


def test_an_edit_by_an_agent_changes_nothing_and_is_asked_about(
    rendered: tuple[Home, Path],
) -> None:
    home, root = rendered
    before = trusts(home)
    path = lesson_files(home)[0]
    reword(path)
    by_an_agent(root, path, "Edit")
    taken, found = again(home, root)
    assert (taken.edits, found) == (0, [])
    assert any(str(path) in question.text for question in taken.questions)
    assert trusts(home) == before


def test_a_deletion_by_an_agent_only_withholds(rendered: tuple[Home, Path]) -> None:
    home, root = rendered
    path = lesson_files(home)[0]
    delete_everywhere(home, path.name)
    by_an_agent(root, path, "Bash")
    _, found = again(home, root)
    assert TombstoneKind.VETO not in {one.kind for one in found}
    assert Trust.REJECTED not in trusts(home).values()
    assert Trust.DISPUTED in trusts(home).values()


def test_a_reading_by_an_agent_is_no_hand_of_its(rendered: tuple[Home, Path]) -> None:
    home, root = rendered
    path = lesson_files(home)[0]
    reword(path)
    by_an_agent(root, path, "Read")
    taken, _ = again(home, root)
    assert taken.edits == 1
