from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks.errors import NoTranscripts
from tasks.evidence.roots import Found, SetAside, claude_roots, find_transcripts

NOBODY = 65534


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "claude" / "projects" / "-home-me-shop"
    project.mkdir(parents=True)
    for name in ("b.jsonl", "a.jsonl.gz", "agent-1a2b3c4d.jsonl", "journal.jsonl", "notes.md"):
        (project / name).touch()
    side = project / "b" / "subagents" / "workflows" / "wf_1"
    side.mkdir(parents=True)
    (side / "agent-x.jsonl").touch()
    (project / "b" / "subagents" / "agent-y.jsonl").touch()
    (tmp_path / "claude" / "history.jsonl").touch()
    return tmp_path / "claude"


def _names(found: Found) -> list[str]:
    return [path.name for path in found.transcripts]


@pytest.mark.parametrize("below", ["", "projects", "projects/-home-me-shop", ".."])
def test_any_kind_of_folder_gives_the_sessions_and_no_side_files(root: Path, below: str) -> None:
    assert _names(find_transcripts(root / below)) == ["a.jsonl.gz", "b.jsonl"]


def test_loose_transcripts_are_found(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").touch()
    assert find_transcripts(tmp_path) == Found((tmp_path / "one.jsonl",))


def test_sessions_of_all_projects_come_sorted(root: Path) -> None:
    other = root / "projects" / "-a"
    other.mkdir()
    (other / "z.jsonl").touch()
    assert _names(find_transcripts(root)) == ["z.jsonl", "a.jsonl.gz", "b.jsonl"]


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert find_transcripts(tmp_path) == Found(())


def test_a_folder_named_like_a_transcript_is_set_aside_and_named(root: Path) -> None:
    odd = root / "projects" / "-home-me-shop" / "c.jsonl"
    odd.mkdir()
    (odd / "inner.jsonl").touch()
    found = find_transcripts(root)
    assert _names(found) == ["a.jsonl.gz", "b.jsonl"]
    assert found.set_aside == (SetAside(odd, "a folder, named like a transcript"),)


def test_a_link_to_nothing_is_set_aside(root: Path) -> None:
    link = root / "projects" / "-home-me-shop" / "gone.jsonl"
    link.symlink_to(root / "nowhere")
    assert find_transcripts(root).set_aside == (SetAside(link, "not a file"),)


def test_links_in_a_circle_end_and_give_each_session_once(root: Path) -> None:
    projects = root / "projects"
    (projects / "-loop").symlink_to(projects)
    (projects / "-again").symlink_to(projects / "-home-me-shop")
    (projects / "-self").symlink_to(projects / "-self")
    (projects / "-home-me-shop" / "up").symlink_to(root)
    assert len(find_transcripts(root).transcripts) == 2


@pytest.mark.parametrize("name", ["none", "a-file"])
def test_a_named_folder_that_cannot_be_read_is_an_error_with_the_way_out(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "a-file").touch()
    with pytest.raises(NoTranscripts, match=r"cannot read transcripts in .*; name a readable"):
        find_transcripts(tmp_path / name)


def test_without_permission_the_named_folder_is_an_error_and_one_below_is_set_aside(
    root: Path,
) -> None:
    closed = root / "projects" / "-closed"
    closed.mkdir(mode=0o000)
    with _as_nobody(root):
        found = find_transcripts(root)
        assert found.set_aside == (SetAside(closed, "Permission denied"),)
        assert len(found.transcripts) == 2
        with pytest.raises(NoTranscripts, match="Permission denied"):
            find_transcripts(closed)
    closed.chmod(0o700)


def test_roots_are_those_that_exist_in_order_and_once(tmp_path: Path) -> None:
    for name in ("one", "two", ".config/claude", ".claude"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    listed = f"{tmp_path / 'one'}, ~/two,{tmp_path / 'missing'},{tmp_path / 'link'},"
    assert claude_roots({"CLAUDE_CONFIG_DIR": listed}, tmp_path) == [
        tmp_path / "one",
        tmp_path / "two",
        tmp_path / ".config" / "claude",
        tmp_path / ".claude",
    ]


def test_the_xdg_folder_moves_with_its_variable(tmp_path: Path) -> None:
    (tmp_path / "xdg" / "claude").mkdir(parents=True)
    (tmp_path / ".config" / "claude").mkdir(parents=True)
    found = claude_roots({"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, tmp_path)
    assert found == [tmp_path / "xdg" / "claude"]
    assert claude_roots({}, tmp_path / "nobody") == []


@contextmanager
def _as_nobody(root: Path) -> Iterator[None]:
    """Give up root's power to read everything, where tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    parents = [path for path in root.parents if str(path).startswith("/tmp/")]
    modes = {path: path.stat().st_mode for path in parents}
    for path in parents:
        path.chmod(0o755)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for path, mode in modes.items():
            path.chmod(mode)


def test_a_name_that_is_no_text_is_set_aside_and_can_be_told(root: Path) -> None:
    project = root / "projects" / "-home-me-shop"
    (project / os.fsdecode(b"bad\xff\n.jsonl")).touch()
    found = find_transcripts(root)
    assert _names(found) == ["a.jsonl.gz", "b.jsonl"]
    (aside,) = found.set_aside
    told = aside.told()
    assert told.isprintable()
    assert r"bad\xff\x0a.jsonl" in told
    assert "UTF-8" in told
