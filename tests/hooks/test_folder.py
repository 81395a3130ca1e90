"""A folder's project, told without git and without what reads it at leisure, is the same one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tasks.domain.project import identify
from tasks.evidence.folders import probe
from tasks.hooks.folder import project_of
from tasks.hooks.published import View
from tests.hooks.homes import hooked, learn
from tests.store.build import SCOPE, home_in


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Give repositories as git leaves them, and folders that are in none."""
    for repository in ("shop", "shop/vendored", "Ünï côde", "Big  Shop!", "a" * 60):
        (tmp_path / repository / ".git").mkdir(parents=True)
        (tmp_path / repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (tmp_path / repository / "src" / "deep").mkdir(parents=True)
    worktree(tmp_path / "shop", tmp_path / "beside")
    worktree(tmp_path / "shop", tmp_path / "shop" / ".claude" / "worktrees" / "one")
    pruned = worktree(tmp_path / "shop", tmp_path / "pruned")
    (pruned / "commondir").unlink()
    module = tmp_path / "shop" / ".git" / "modules" / "part"
    module.mkdir(parents=True)
    (tmp_path / "shop" / "part").mkdir()
    (tmp_path / "shop" / "part" / ".git").write_text("gitdir: ../.git/modules/part\n")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".git").write_bytes(b"\xff\xfe no pointer")
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "shop" / "src")
    return tmp_path


def worktree(of: Path, at: Path) -> Path:
    git = of / ".git" / "worktrees" / at.name
    git.mkdir(parents=True)
    (git / "commondir").write_text("../..\n")
    at.mkdir(parents=True)
    (at / ".git").write_text(f"gitdir: {git}\n")
    (at / "inner").mkdir()
    return git


FOLDERS = [
    *("shop", "shop/src/deep", "shop/vendored/src", "shop/part", "beside", "beside/inner"),
    *("shop/.claude/worktrees/one/inner", "pruned", "odd", "empty", "link/deep", "link/../link"),
    *("Ünï côde/src", "Big  Shop!/src", "a" * 60, ".", "gone", "gone/.worktrees/x/y"),
    *("gone/.claude/worktrees/x", "gone/../gone//z/", "shop/.git", "shop/.git/modules"),
]


@pytest.fixture
def view(tmp_path: Path) -> View:
    """Give what a home published that met one folder."""
    return View(str(hooked(tmp_path / "learned", []).place))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_new_folder_is_told_as_ingest_tells_it(disk: Path, view: View, folder: str) -> None:
    cwd = os.fspath(disk) + "/" + folder
    found = identify(cwd, {}, probe)

    assert project_of(cwd, view) == (found.project_id, found.path)


@pytest.mark.parametrize(
    "cwd", ["/", "//", "C:\\Users\\me\\shop", "relative/x", "\\\\srv\\x", "/x\n", "~"]
)
def test_whatever_is_called_a_folder_is_told_as_ingest_tells_it(view: View, cwd: str) -> None:
    found = identify(cwd, {}, probe)

    assert project_of(cwd, view) == (found.project_id, found.path)


def test_a_folder_that_was_met_keeps_its_project_when_it_is_gone(tmp_path: Path) -> None:
    home = home_in(tmp_path / "home")
    cwd = tmp_path / 'a "quoted" \\ ünï\t'
    learn(home, cwd, [])
    view = View(str(home.places.home))

    assert project_of(str(cwd), view) == (SCOPE.project_id, str(cwd))
    assert project_of(str(cwd.parent), view)[0] != SCOPE.project_id
