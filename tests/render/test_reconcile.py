import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tasks.domain.units import Lifecycle, Trust
from tasks.render.reconcile import (
    Deleted,
    Edited,
    FileChange,
    LineAdded,
    LineDeleted,
    LineEdited,
    Reverted,
    Unsure,
    read_back,
)
from tests.render.build import SHOP, Desk, lesson

MANY = tuple(lesson(f"n{n}") for n in range(20))
FIRST, SECOND, *_ = MANY


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path, MANY)
    made.render()
    return made


def changes(desk: Desk) -> list[FileChange]:
    return list(read_back(desk.places.written, desk.lessons))


def test_what_nobody_touched_is_no_change(desk: Desk) -> None:
    assert changes(desk) == []


def test_before_the_first_render_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert read_back(tmp_path / "written.json", MANY) == ()


def test_a_reworded_rule_is_a_correction(desk: Desk) -> None:
    path = desk.host_file(FIRST)
    path.write_text(path.read_text().replace("\nUse n0.\n", "\nUse n0,\nbut not in docs/.\n"))
    (change,) = changes(desk)
    assert isinstance(change, Edited)
    assert (change.lesson_id, change.path, change.project_id) == (FIRST.id, path, SHOP)
    assert change.new_text == "Use n0, but not in docs/."


def test_a_correction_is_the_same_event_each_time_and_ends_when_the_lesson_has_it(
    desk: Desk,
) -> None:
    path = desk.host_file(FIRST)
    path.write_text(path.read_text().replace("\nUse n0.\n", "\nUse n0, please.\n"))
    first = changes(desk)
    desk.render()
    assert changes(desk) == first
    desk.lessons = (replace(FIRST, text="Use n0, please."), *MANY[1:])
    assert changes(desk) == []


def test_a_paragraph_added_before_the_reason_belongs_to_the_rule(desk: Desk) -> None:
    path = desk.host_file(FIRST)
    path.write_text(path.read_text().replace("## Why", "In docs/ npm is fine.\n\n## Why"))
    (change,) = changes(desk)
    assert isinstance(change, Edited)
    assert change.new_text == "Use n0. In docs/ npm is fine."


def test_words_added_elsewhere_change_no_rule(desk: Desk) -> None:
    path = desk.host_file(FIRST)
    path.write_text(path.read_text() + "\nSee also the wiki.\n")
    assert changes(desk) == []
    assert path in desk.render().kept_edited


def test_an_edit_to_our_frontmatter_is_reverted_and_never_read_as_a_correction(desk: Desk) -> None:
    path = desk.host_file(FIRST)
    path.write_text(path.read_text().replace("trust: corroborated", "trust: verified"))
    assert changes(desk) == [Reverted(FIRST.id, SHOP, path)]
    desk.render()
    assert "trust: corroborated" in path.read_text()
    assert changes(desk) == []


def test_what_the_host_adds_to_the_frontmatter_is_no_change(desk: Desk) -> None:
    path = desk.host_file(FIRST)
    path.write_text(
        path.read_text().replace("sessions: 1\n", "sessions: 1\nmodified: 2026-11-29\n")
    )
    assert changes(desk) == []


def test_an_emptied_file_is_a_question(desk: Desk) -> None:
    desk.host_file(FIRST).write_text("")
    (change,) = changes(desk)
    assert isinstance(change, Unsure)
    assert change.lesson_ids == (FIRST.id,)


@pytest.mark.parametrize("gone", [1, 3, 4])
def test_a_few_deleted_files_are_vetoes(desk: Desk, gone: int) -> None:
    for one in MANY[:gone]:
        desk.host_file(one).unlink()
    found = changes(desk)
    assert all(isinstance(change, Deleted) for change in found)
    assert {x.lesson_id for x in found if isinstance(x, Deleted)} == {x.id for x in MANY[:gone]}


def test_many_deleted_files_are_a_question(desk: Desk) -> None:
    for one in MANY[:5]:
        desk.host_file(one).unlink()
    (change,) = changes(desk)
    assert isinstance(change, Unsure)
    assert "5 of 20" in change.reason
    assert set(change.lesson_ids) == {one.id for one in MANY[:5]}


def test_a_folder_that_is_gone_vetoes_nothing(desk: Desk) -> None:
    shutil.rmtree(desk.host_memory())
    found = changes(desk)
    assert found
    for change in found:
        assert isinstance(change, Unsure)
        assert "as when a folder moves" in change.reason


def test_an_emptied_folder_vetoes_nothing(tmp_path: Path) -> None:
    """Two files would pass the count, but no other file of ours is left to vouch for the folder."""
    desk = Desk(tmp_path, MANY[:2])
    desk.render()
    for one in MANY[:2]:
        desk.host_file(one).unlink()
    (change,) = changes(desk)
    assert isinstance(change, Unsure)
    desk.render()
    desk.host_file(FIRST).unlink()
    assert changes(desk) == [Deleted(FIRST.id, SHOP, desk.host_file(FIRST))]


def test_a_file_that_never_reached_the_disk_is_not_missed(desk: Desk) -> None:
    new = lesson("new")
    blocked = desk.home_file(new)
    blocked.mkdir()
    desk.lessons = (*MANY, new)
    assert desk.render().failed
    blocked.rmdir()
    assert changes(desk) == []


@pytest.mark.parametrize("change", [{"trust": Trust.REJECTED}, {"lifecycle": Lifecycle.ARCHIVED}])
def test_files_of_lessons_out_of_use_are_not_asked_about(
    desk: Desk, change: dict[str, object]
) -> None:
    desk.host_file(FIRST).unlink()
    assert changes(desk) != []
    desk.lessons = (replace(FIRST, **change), *MANY[1:])  # type: ignore[arg-type]
    assert changes(desk) == []


def test_an_unreadable_file_is_a_question_and_no_veto(desk: Desk) -> None:
    path = desk.host_file(FIRST)
    path.unlink()
    path.mkdir()
    (change,) = changes(desk)
    assert isinstance(change, Unsure)
    assert change.path == path


def test_a_reworded_line_is_a_correction(desk: Desk) -> None:
    index = desk.host_index()
    index.write_text(index.read_text().replace("- Use n0. (", "- Use n0 and n1. ("))
    (change,) = changes(desk)
    assert isinstance(change, LineEdited)
    assert (change.lesson_id, change.new_text) == (FIRST.id, "Use n0 and n1.")
    desk.render()
    assert changes(desk) == [change]
    desk.lessons = (replace(FIRST, text="Use n0 and n1."), *MANY[1:])
    assert changes(desk) == []


def test_a_deleted_line_is_a_veto(desk: Desk) -> None:
    index = desk.host_index()
    lines = index.read_text().splitlines(keepends=True)
    index.write_text("".join(line for line in lines if "Use n0." not in line))
    assert changes(desk) == [LineDeleted(FIRST.id, SHOP, index)]


def test_a_section_that_is_gone_or_emptied_is_a_question(desk: Desk) -> None:
    index = desk.host_index()
    whole = index.read_text()
    for text in ("# mine\n", "", "\n".join(x for x in whole.splitlines() if "- Use" not in x)):
        index.write_text(text)
        (change,) = changes(desk)
        assert isinstance(change, Unsure)
    index.unlink()
    (change,) = changes(desk)
    assert isinstance(change, Unsure)


def test_a_line_held_out_is_not_missed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, MANY, holdout=0.5)
    desk.render()
    assert desk.render().held_out
    assert changes(desk) == []


def test_a_new_line_between_our_markers_is_a_note(desk: Desk) -> None:
    index = desk.host_index()
    index.write_text(
        index.read_text().replace("<!-- everest:end", "deploy on Tuesdays\n<!-- everest:end")
    )
    assert changes(desk) == [LineAdded(SHOP, index, "deploy on Tuesdays")]
    desk.render()
    assert changes(desk) == []
    assert "deploy on Tuesdays" in index.read_text()


def test_text_outside_the_markers_is_never_read(desk: Desk) -> None:
    index = desk.host_index()
    index.write_text("- Use n0 never. (mine)\n\n" + index.read_text() + "remember the milk\n")
    assert changes(desk) == []
