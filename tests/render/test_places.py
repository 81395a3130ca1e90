from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.units import Project
from tasks.render.places import encode, folders, host_folder

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def project(path: str, project_id: str = "shop-1", *, ignored: bool = False) -> Project:
    return Project(project_id, "shop", path, (path,), NOW, ignored)


def test_every_character_but_letters_and_digits_becomes_a_dash() -> None:
    assert encode("/Users/mia/my.app_v2 é/x") == "-Users-mia-my-app-v2---x"
    assert encode("C:\\x") == "C--x"


@given(st.text(max_size=400))
def test_a_folder_name_is_safe_and_never_endless(path: str) -> None:
    name = encode(path)
    assert all(c == "-" or (c.isascii() and c.isalnum()) for c in name)
    assert len(name) <= 209


def test_two_long_paths_with_one_beginning_get_two_names() -> None:
    assert encode("/a" * 150 + "x") != encode("/a" * 150 + "y")


def test_our_home_is_always_a_place_and_alone_without_a_host_root(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    made = project(str(tmp_path / "repo"))
    (only,) = folders([made], memory=tmp_path / "memory", host_root=None)
    assert only.path == tmp_path / "memory" / "shop-1"
    assert not only.of_host
    both = folders([made], memory=tmp_path / "memory", host_root=tmp_path / "claude")
    assert [folder.of_host for folder in both] == [True, False]


def test_the_host_folder_is_keyed_by_the_repository(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    (repo / "packages" / "web").mkdir(parents=True)
    made = Project("repo-1", "repo", str(repo), (str(repo / "packages" / "web"),), NOW)
    found = host_folder(tmp_path / "claude", made)
    assert found is not None
    assert found.path == tmp_path / "claude" / "projects" / encode(str(repo)) / "memory"


def test_a_repository_that_is_gone_gets_a_host_folder_only_if_the_host_has_one(
    tmp_path: Path,
) -> None:
    gone = project("/home/mia/gone")
    assert host_folder(tmp_path, gone) is None
    (tmp_path / "projects" / "-home-mia-gone").mkdir(parents=True)
    found = host_folder(tmp_path, gone)
    assert found is not None
    assert found.path == tmp_path / "projects" / "-home-mia-gone" / "memory"


def test_a_drive_letter_is_found_in_either_case(tmp_path: Path) -> None:
    (tmp_path / "projects" / "D--oh-my-posh").mkdir(parents=True)
    found = host_folder(tmp_path, project("d:/oh-my-posh"))
    assert found is not None
    assert found.path.parent.name == "D--oh-my-posh"


def test_a_cut_name_is_looked_for_since_its_hash_is_the_hosts(tmp_path: Path) -> None:
    path = "/home/mia" + "/deeper" * 40
    cut = encode(path)[:200]
    assert host_folder(tmp_path, project(path)) is None
    (tmp_path / "projects" / f"{cut}-k3j9x").mkdir(parents=True)
    found = host_folder(tmp_path, project(path))
    assert found is not None
    assert found.path.parent.name == f"{cut}-k3j9x"
    (tmp_path / "projects" / f"{cut}-other").mkdir()
    assert host_folder(tmp_path, project(path)) is None


def test_sessions_without_a_folder_have_no_host_folder(tmp_path: Path) -> None:
    assert host_folder(tmp_path, project("no-folder")) is None


def test_an_ignored_project_has_no_place(tmp_path: Path) -> None:
    assert folders([project("/x", ignored=True)], memory=tmp_path, host_root=None) == ()
    assert folders([project("/x")], memory=tmp_path, host_root=None) != ()
