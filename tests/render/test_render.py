import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from tasks.domain.holdout import held_out, line_id
from tasks.domain.ids import shown
from tasks.domain.markers import SECTION_BEGIN
from tasks.domain.scope import GLOBAL
from tasks.domain.units import Lifecycle, Trust
from tasks.errors import WriteFailed
from tasks.render import index as index_file
from tasks.render.lesson_file import lesson_file
from tasks.render.places import folders
from tasks.render.plan import RenderPlan
from tasks.render.reconcile import read_back
from tasks.render.written import load
from tests.render.build import NOW, SHOP, TIDE, Desk, lesson, veto

PNPM = lesson("pnpm", "Use pnpm, never npm.")
TESTS = lesson("tests", "Run the tests before every commit.", sessions=2)

REPOSITORY = Path(__file__).parents[2]
KILLED = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from tests.render.build import Desk, lesson

left = int(sys.argv[2])

def before_each(event, args):
    global left
    if event == "os.rename":
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

desk = Desk(Path(sys.argv[1]))
desk.lessons = (
    lesson("pnpm", "Use pnpm 11."),
    lesson("tests", "Run the tests before every commit.", sessions=2),
    lesson("new"),
)
sys.addaudithook(before_each)
desk.render()
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, (PNPM, TESTS))


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let the system refuse to write a file beyond `size` bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_lesson_stands_at_home_and_in_the_hosts_folder(desk: Desk) -> None:
    done = desk.render()
    assert done.written == 6
    for path in (desk.host_file(PNPM), desk.home_file(PNPM)):
        assert path.read_text() == lesson_file(PNPM, UTC)
    assert "Use pnpm, never npm." in desk.host_index().read_text()
    assert "Use pnpm, never npm." in (desk.places.memory / SHOP / "MEMORY.md").read_text()


def test_without_a_host_root_nothing_is_written_outside_home(desk: Desk) -> None:
    desk.with_host = False
    desk.render()
    assert not desk.host.exists()
    assert desk.home_file(PNPM).is_file()
    assert all(path.is_relative_to(desk.places.home) for path in desk.files())


def test_a_second_render_writes_nothing(desk: Desk) -> None:
    desk.render()
    before = desk.files()
    done = desk.render()
    assert (done.written, done.removed, done.unchanged) == (0, 0, 6)
    assert desk.files() == before


@pytest.mark.parametrize(
    "change",
    [
        {"trust": Trust.CANDIDATE},
        {"trust": Trust.DISPUTED},
        {"trust": Trust.REJECTED},
        {"lifecycle": Lifecycle.ARCHIVED},
        {"lifecycle": Lifecycle.SUPERSEDED},
        {"lifecycle": Lifecycle.FORGOTTEN},
    ],
    ids=str,
)
def test_a_lesson_no_longer_in_use_loses_file_and_line(
    desk: Desk, change: dict[str, object]
) -> None:
    desk.render()
    desk.lessons = (replace(PNPM, **change), TESTS)  # type: ignore[arg-type]
    done = desk.render()
    assert done.removed == 2
    assert not desk.host_file(PNPM).exists()
    assert "pnpm" not in desk.host_index().read_text()
    assert desk.host_file(TESTS).is_file()


def test_projects_do_not_see_each_others_lessons_but_global_ones(tmp_path: Path) -> None:
    everywhere = lesson("everywhere", project=GLOBAL)
    desk = Desk(tmp_path, (PNPM, everywhere), names=(SHOP, TIDE), with_host=False)
    desk.render()
    assert desk.home_file(PNPM).is_file()
    assert not desk.home_file(PNPM, TIDE).exists()
    assert desk.home_file(everywhere).is_file()
    assert desk.home_file(everywhere, TIDE).is_file()


def test_the_persons_own_memory_file_stays_to_the_byte(desk: Desk) -> None:
    desk.render()
    index = desk.host_index()
    mine = b"# Notes\r\n\r\n- mine"
    index.write_bytes(mine)
    desk.render()
    assert index.read_bytes().startswith(mine + b"\r\n<!-- everest:begin -->\r\n")
    desk.lessons = ()
    done = desk.render()
    assert done.removed == 4
    assert index.read_bytes() == mine


def test_with_no_lesson_no_memory_file_is_made(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ())
    desk.render()
    assert not list(tmp_path.rglob("MEMORY.md"))


def test_a_linked_memory_file_stays_a_link_and_keeps_its_mode(desk: Desk, tmp_path: Path) -> None:
    desk.render()
    index, target = desk.host_index(), tmp_path / "dotfiles.md"
    index.unlink()
    target.write_text("# mine\n")
    target.chmod(0o640)
    index.symlink_to(target)
    desk.render()
    assert index.is_symlink()
    assert "Use pnpm" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o640


def test_our_own_files_are_for_the_owner_alone(desk: Desk) -> None:
    desk.render()
    assert {path.stat().st_mode & 0o777 for path in desk.files()} == {0o600}


def test_an_edited_file_is_kept_and_reported(desk: Desk) -> None:
    desk.render()
    edited = desk.host_file(PNPM)
    edited.write_text(edited.read_text().replace("Use pnpm, never npm.", "Use yarn."))
    words = edited.read_bytes()
    desk.lessons = (replace(PNPM, text="Use pnpm 11."), TESTS)
    done = desk.render()
    assert done.kept_edited == (edited,)
    assert edited.read_bytes() == words
    assert "Use pnpm 11." in desk.home_file(PNPM).read_text()


def test_an_edited_file_is_not_removed_with_its_lesson(desk: Desk) -> None:
    desk.render()
    edited = desk.host_file(PNPM)
    edited.write_text("my words\n")
    desk.lessons = (TESTS,)
    done = desk.render()
    assert edited.read_text() == "my words\n"
    assert done.kept_edited == (edited,)
    assert not desk.home_file(PNPM).exists()


def test_a_strangers_file_of_that_name_is_never_taken_over(desk: Desk) -> None:
    path = desk.home_file(PNPM)
    path.parent.mkdir(parents=True)
    path.write_text("not yours\n")
    assert desk.render().kept_edited == (path,)
    assert path.read_text() == "not yours\n"


def test_frontmatter_of_ours_is_put_back_and_that_of_others_stays(desk: Desk) -> None:
    desk.render()
    path = desk.host_file(PNPM)
    text = path.read_text()
    path.write_text(
        text.replace("trust: corroborated\n", "trust: verified\nmodified: 2026-11-29T08:00:00Z\n")
    )
    done = desk.render()
    assert done.kept_edited == ()
    assert "trust: corroborated\n" in path.read_text()
    assert "modified: 2026-11-29T08:00:00Z\n" in path.read_text()
    assert desk.render().written == 0


def test_a_file_with_other_line_endings_is_still_ours(desk: Desk) -> None:
    desk.render()
    path = desk.host_file(PNPM)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert desk.render().kept_edited == ()
    desk.lessons = ()
    desk.render()
    assert not path.exists()


def test_an_edited_line_keeps_its_wording_until_the_lesson_has_it(desk: Desk) -> None:
    desk.render()
    index = desk.host_index()
    index.write_text(index.read_text().replace("Use pnpm, never npm.", "Use yarn."))
    for _ in range(3):
        assert index in desk.render().kept_edited
        assert "Use yarn." in index.read_text()
    desk.lessons = (replace(PNPM, text="Use yarn."), TESTS)
    assert index not in desk.render().kept_edited
    desk.lessons = (replace(PNPM, text="Use yarn 4."), TESTS)
    desk.render()
    assert "Use yarn 4." in index.read_text()


@pytest.mark.parametrize("rename", [1, 2, 4, 7, 9])
def test_a_render_killed_anywhere_is_continued_by_the_next(tmp_path: Path, rename: int) -> None:
    """The digest was durable before each file, so what stands there is known as our own."""
    desk = Desk(tmp_path, (PNPM, TESTS))
    desk.render()
    newer = (replace(PNPM, text="Use pnpm 11."), TESTS, lesson("new"))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), str(rename)],
        env={"PYTHONPATH": str(REPOSITORY)},
        check=False,
    )
    assert killed.returncode == -9
    assert read_back(desk.places.written, newer) == ()
    desk.lessons = (replace(PNPM, text="Use pnpm 12."), TESTS, lesson("new"))
    assert desk.render().kept_edited == ()
    assert "Use pnpm 12." in desk.host_file(PNPM).read_text()
    assert "Use pnpm 12." in desk.host_index().read_text()
    assert not list(tmp_path.rglob("*.part"))


def test_a_file_that_was_twice_announced_and_never_written_is_not_taken_for_deleted(
    tmp_path: Path,
) -> None:
    """Each run dies before its first file; a file that never stood there cannot be missing."""
    desk = Desk(tmp_path, (PNPM, TESTS))
    desk.render()
    newer = (replace(PNPM, text="Use pnpm 11."), TESTS, lesson("new"))
    for _ in range(3):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path), "2"],
            env={"PYTHONPATH": str(REPOSITORY)},
            check=False,
        )
        assert killed.returncode == -9
        assert read_back(desk.places.written, newer) == ()


def test_a_full_disk_leaves_every_file_whole_and_touches_none_unannounced(desk: Desk) -> None:
    desk.render()
    before = desk.files()
    desk.lessons = (replace(PNPM, text="Use pnpm 11."), TESTS)
    with largest_file(1000), pytest.raises(WriteFailed, match=r"written\.json"):
        desk.render()
    assert desk.files() == before


def test_a_file_the_disk_has_no_room_for_is_named_and_the_others_written(desk: Desk) -> None:
    desk.render()
    mine = b"- mine\n" * 3000
    desk.host_index().write_bytes(mine)
    desk.lessons = (replace(PNPM, text="Use pnpm 11."), TESTS)
    with largest_file(len(mine)):
        done = desk.render()
    assert ["MEMORY.md" in str(error) for error in done.failed] == [True]
    assert desk.host_index().read_bytes() == mine
    assert "Use pnpm 11." in desk.host_file(PNPM).read_text()
    assert not list(desk.root.rglob("*.part"))
    assert done.hosts[0].shown == ()
    assert desk.render().failed == ()
    assert "Use pnpm 11." in desk.host_index().read_text()


def test_one_file_that_cannot_be_written_does_not_stop_the_others(desk: Desk) -> None:
    blocked = desk.home_file(PNPM)
    blocked.mkdir(parents=True)
    done = desk.render()
    assert [str(blocked) in str(error) for error in done.failed] == [True]
    assert desk.host_file(PNPM).is_file()
    assert desk.home_file(TESTS).is_file()
    assert blocked not in load(desk.places.written)
    blocked.rmdir()
    assert desk.render().failed == ()
    assert blocked.is_file()


def test_a_lost_book_costs_no_file(desk: Desk) -> None:
    desk.render()
    desk.places.written.write_text("{ not json")
    done = desk.render()
    assert (done.written, done.kept_edited) == (0, ())
    desk.lessons = (replace(PNPM, text="Use pnpm 11."), TESTS)
    assert desk.render().kept_edited == ()


def test_held_out_lines_leave_the_hosts_memory_but_not_their_files(tmp_path: Path) -> None:
    lessons = tuple(lesson(f"n{n}") for n in range(20))
    desk = Desk(tmp_path, lessons, holdout=0.5)
    (host,) = desk.render().hosts
    expected = {x.id for x in lessons if held_out(line_id(x.id, NOW, UTC), 0.5)}
    assert set(host.held_out) == expected
    assert set(host.shown) == {x.id for x in lessons} - expected
    assert expected
    assert host.shown
    text = desk.host_index().read_text()
    for one in lessons:
        assert (shown(one.id) in text) == (one.id in host.shown)
        assert desk.host_file(one).is_file()
        assert shown(one.id) in (desk.places.memory / SHOP / "MEMORY.md").read_text()


def test_the_choice_holds_for_the_week_and_changes_with_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, tuple(lesson(f"n{n}") for n in range(20)), holdout=0.5)
    monday = desk.render().hosts[0].held_out
    desk.at = NOW + timedelta(days=6)
    assert desk.render().hosts[0].held_out == monday
    desk.at = NOW + timedelta(days=7)
    assert desk.render().hosts[0].held_out != monday


def test_a_pinned_lesson_is_never_held_out(tmp_path: Path) -> None:
    pinned = tuple(lesson(f"n{n}", pinned=True) for n in range(20))
    desk = Desk(tmp_path, pinned, holdout=1.0)
    (host,) = desk.render().hosts
    assert host.held_out == ()
    desk.lessons = tuple(replace(one, pinned=False) for one in pinned)
    (host,) = desk.render().hosts
    assert host.shown == ()
    assert SECTION_BEGIN not in desk.host_index().read_text()


def test_lines_beyond_what_the_host_loads_are_reported_and_not_counted_as_shown(desk: Desk) -> None:
    desk.render()
    desk.host_index().write_text("- mine\n" * 198)
    done = desk.render()
    ((path, excess),) = done.over_limit
    assert path == desk.host_index()
    assert set(excess.lost) == {shown(PNPM.id), shown(TESTS.id)}
    assert done.hosts[0].shown == ()
    assert set(done.hosts[0].omitted) == {PNPM.id, TESTS.id}


def test_many_lessons_keep_within_our_share_and_the_rest_keep_their_files(tmp_path: Path) -> None:
    lessons = tuple(lesson(f"n{n}", "x" * 150) for n in range(60))
    desk = Desk(tmp_path, lessons)
    (host,) = desk.render().hosts
    text = desk.host_index().read_bytes()
    assert len(text) <= 8_000
    assert len(text.splitlines()) <= 80
    assert len(host.shown) + len(host.omitted) == 60
    assert f"- {len(host.omitted)} more in".encode() in text
    assert all(desk.host_file(one).is_file() for one in lessons)


def test_what_the_host_writes_meanwhile_is_not_lost(desk: Desk) -> None:
    desk.render()
    plan = RenderPlan(
        (replace(PNPM, text="Use pnpm 11."), TESTS),
        desk.projects,
        (),
        desk.places,
        desk.host,
        NOW,
        UTC,
        0.0,
    )
    (folder,) = [
        x
        for x in folders(desk.projects, memory=desk.places.memory, host_root=desk.host)
        if x.of_host
    ]
    record = load(desk.places.written)[folder.index]
    lines = index_file.part(plan.lessons, folder, plan)
    made = index_file.draft(folder, lines, plan, record)
    with folder.index.open("ab") as host:
        host.write(b"- the host's new note\n")
    assert index_file.write(made, folder, lines, plan, record)
    text = folder.index.read_text()
    assert "- the host's new note\n" in text
    assert "Use pnpm 11." in text


def test_a_utf_16_memory_file_is_left_alone_and_named(desk: Desk) -> None:
    desk.render()
    index = desk.host_index()
    wide = "# notes\n".encode("utf-16")
    index.write_bytes(wide)
    done = desk.render()
    assert index.read_bytes() == wide
    assert "UTF-8" in str(done.failed[0])


def test_files_in_a_host_are_out_of_reach_without_its_root(desk: Desk) -> None:
    desk.render()
    desk.with_host = False
    desk.lessons = (TESTS,)
    desk.render()
    assert desk.host_file(PNPM).is_file()
    assert not desk.home_file(PNPM).exists()
    desk.with_host = True
    desk.render()
    assert not desk.host_file(PNPM).exists()


def test_the_files_of_an_ignored_project_go(desk: Desk) -> None:
    desk.render()
    desk.projects = tuple(replace(one, ignored=True) for one in desk.projects)
    done = desk.render()
    assert done.removed == 4
    assert SECTION_BEGIN not in desk.host_index().read_text()


def test_the_wire_format_has_exactly_its_fields(desk: Desk) -> None:
    desk.lessons = (PNPM, lesson("not yet", trust=Trust.CANDIDATE))
    desk.render()
    (line,) = desk.places.lessons.read_text().splitlines()
    assert json.loads(line) == {
        "v": 1,
        "id": PNPM.id,
        "hash": PNPM.hash,
        "text": "Use pnpm, never npm.",
        "kind": "correction",
        "scope": ["me", "user", "default", SHOP],
        "trust": "corroborated",
        "valid_from": "2026-11-24T03:00:00.000000Z",
        "valid_until": None,
        "seen": 1,
        "origin": "",
    }


def test_vetoes_are_listed(desk: Desk) -> None:
    desk.tombstones = (veto(PNPM), replace(veto(TESTS), kind="rejected"))  # type: ignore[arg-type]
    desk.render()
    (listed,) = json.loads(desk.places.vetoed.read_text())["vetoed"]
    assert listed["lesson"] == PNPM.id


def test_nothing_outside_the_two_memory_folders_and_home_is_touched(desk: Desk) -> None:
    desk.render()
    for path in desk.files():
        assert path.is_relative_to(desk.places.home) or path.parent == desk.host_memory()
    assert list(desk.host_memory().parent.iterdir()) == [desk.host_memory()]
