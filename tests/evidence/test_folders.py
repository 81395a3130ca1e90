import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tasks.domain.project import identify
from tasks.evidence.folders import probe

GIT = shutil.which("git")
pytestmark = pytest.mark.skipif(
    GIT is None, reason="git makes the repositories these tests look at"
)


def git(folder: Path, *words: str) -> None:
    identity = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b.test",
        "-c",
        "protocol.file.allow=always",
    ]
    subprocess.run(
        [str(GIT), *identity, *words],
        cwd=folder,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "repo"
    (made / "src").mkdir(parents=True)
    git(made, "init", "-q", "-b", "main")
    git(made, "commit", "-q", "--allow-empty", "-m", "first")
    return made


def path_of(folder: Path | str) -> str:
    return identify(str(folder), {}, probe).path


def test_a_repository_and_every_folder_in_it_are_one_project(repo: Path) -> None:
    assert path_of(repo) == str(repo)
    assert path_of(repo / "src") == str(repo)
    assert path_of(f"{repo}/src/") == str(repo)


def test_a_worktree_beside_the_repository_belongs_to_it(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "../feature")
    worktree = repo.parent / "feature"
    found = probe(str(worktree))
    assert found is not None
    assert found.top == str(worktree)
    assert path_of(worktree) == str(repo)


def test_a_worktree_inside_the_repository_belongs_to_it_while_it_stands_and_after(
    repo: Path,
) -> None:
    git(repo, "worktree", "add", "-q", ".worktrees/me/x")
    worktree = repo / ".worktrees/me/x"
    (worktree / "deep").mkdir()
    assert path_of(worktree / "deep") == str(repo)
    shutil.rmtree(repo / ".worktrees")
    assert path_of(worktree / "deep") == str(repo)


def test_a_worktree_whose_repository_moved_still_names_it(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "../feature")
    repo.rename(repo.with_name("moved"))
    assert path_of(repo.parent / "feature") == str(repo)


def test_a_moved_repository_is_another_path_unless_it_was_met_before(repo: Path) -> None:
    before = identify(str(repo), {}, probe)
    moved = repo.rename(repo.with_name("moved"))
    assert identify(str(moved), {}, probe).project_id != before.project_id
    assert (
        identify(str(repo), {str(repo): before.project_id}, probe).project_id == before.project_id
    )


def test_a_submodule_is_a_project_of_its_own(repo: Path, tmp_path: Path) -> None:
    outer = tmp_path.resolve() / "outer"
    outer.mkdir()
    git(outer, "init", "-q", "-b", "main")
    git(outer, "submodule", "add", "-q", str(repo), "lib")
    assert path_of(outer / "lib") == str(outer / "lib")
    assert path_of(outer) == str(outer)


def test_worktrees_of_a_bare_repository_go_by_their_own_top(repo: Path) -> None:
    git(repo, "clone", "-q", "--bare", str(repo), "../bare.git")
    bare = repo.parent / "bare.git"
    git(bare, "worktree", "add", "-q", "../from-bare", "main")
    assert path_of(repo.parent / "from-bare") == str(repo.parent / "from-bare")


def test_a_link_leads_to_the_folder_it_names(repo: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(repo / "src")
    assert path_of(link) == str(repo)


def test_a_folder_without_git_is_itself(tmp_path: Path) -> None:
    plain = tmp_path.resolve() / "plain"
    plain.mkdir()
    assert path_of(plain) == str(plain)


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"\xff\xfe\x00gitdir: x", b"gitdir:" + b"x" * 9000]
)
def test_a_git_file_that_makes_no_sense_is_no_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert probe(str(tmp_path)) is not None


def test_a_git_folder_without_head_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    found = probe(str(tmp_path))
    assert found is not None
    assert found.common is None


@pytest.mark.parametrize(
    "path",
    ["", ".", "relative/path", r"D:\oh-my-posh", "/nowhere/at/all", "/a\0b", "/" + "x" * 5000],
)
def test_what_cannot_be_reached_is_not_there(path: str) -> None:
    assert probe(path) is None


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert probe(str(tmp_path / "file")) is None


def test_a_folder_that_may_not_be_looked_into_is_no_error(repo: Path) -> None:
    closed = repo.parent / "closed"
    closed.mkdir()
    (closed / "in").mkdir()
    closed.chmod(0)
    try:
        assert path_of(closed / "in") == str(closed / "in")
    finally:
        closed.chmod(0o700)
