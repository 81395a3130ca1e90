from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.domain.project import (
    NO_FOLDER,
    Folder,
    current_id,
    identify,
    normalise,
    project_id,
    resolve_name,
    slug,
)
from tasks.domain.units import Project
from tasks.errors import AmbiguousName, UnknownProject

SEEN = datetime(2026, 1, 1, tzinfo=UTC)


def nowhere(path: str) -> Folder | None:
    return None


def project(path: str, *cwds: str) -> Project:
    return Project(project_id(path), path.rsplit("/", 1)[-1], path, (path, *cwds), SEEN)


@pytest.mark.parametrize(
    ("cwd", "path", "name"),
    [
        (r"D:\oh-my-posh", "d:/oh-my-posh", "oh-my-posh"),
        (
            r"D:\oh-my-posh\.claude\worktrees\heuristic-robinson-e44709",
            "d:/oh-my-posh",
            "oh-my-posh",
        ),
        (
            r"D:\oh-my-posh\.claude\worktrees\agent-a407974e3874000da\src",
            "d:/oh-my-posh",
            "oh-my-posh",
        ),
        (
            "/Users/dev6/workspace/cli/.worktrees/dev6/ent-108-add-ai-summaries",
            "/Users/dev6/workspace/cli",
            "cli",
        ),
        ("/Users/dev6/workspace/cli/.worktrees/1", "/Users/dev6/workspace/cli", "cli"),
        ("/Users/dev1/Code/cipher-box/", "/Users/dev1/Code/cipher-box", "cipher-box"),
        ("/a/b//c/./d/../e/", "/a/b/c/e", "e"),
        (r"\\server\share\proj", "//server/share/proj", "proj"),
        (r"\\?\C:\Users\me\proj", "c:/Users/me/proj", "proj"),
        ("C:\\", "c:/", "c:"),
        ("/", "/", "/"),
        ("/a/.worktrees", "/a/.worktrees", ".worktrees"),
        ("/.worktrees/x", "/.worktrees/x", "x"),
        ("/home/me/Übung", "/home/me/Übung", "Übung"),
        ("/home/me/U\u0308bung", "/home/me/Übung", "Übung"),
        ("", "", NO_FOLDER),
        ("  ", "", NO_FOLDER),
    ],
)
def test_a_folder_that_is_gone_is_read_by_its_path(cwd: str, path: str, name: str) -> None:
    found = identify(cwd, {}, nowhere)
    assert (found.path, found.name) == (path, name)
    assert found.project_id == project_id(path)


def test_the_id_is_the_slug_and_eight_hex_of_the_path() -> None:
    assert project_id("/Users/dev6/workspace/cli") == "cli-1ae84de7"
    assert identify(r"D:\oh-my-posh", {}, nowhere).project_id == "oh-my-posh-05721852"


def test_a_folder_met_before_keeps_its_project_and_the_disk_is_not_asked() -> None:
    def never(path: str) -> Folder | None:
        raise AssertionError(path)

    known = {"/new/place/cli": "cli-00000000", "": "no-folder-11111111"}
    assert identify("/new/place/cli", known, never).project_id == "cli-00000000"
    assert identify("", known, never).project_id == "no-folder-11111111"


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        (Folder("/r/src", top="/r", common="/r/.git"), "/r"),
        (Folder("/w/feature", top="/w/feature", common="/r/.git"), "/r"),
        (Folder("/r/sub", top="/r/sub", common="/r/.git/modules/sub"), "/r/sub"),
        (Folder("/w/main", top="/w/main", common="/bare/repo.git"), "/w/main"),
        (Folder("/plain"), "/plain"),
        (Folder("/r/.worktrees/x"), "/r/.worktrees/x"),
    ],
)
def test_a_folder_that_is_there_goes_by_git(folder: Folder, path: str) -> None:
    assert identify("/raw", {}, lambda _: folder).path == path


def test_two_spellings_of_one_folder_are_one_project() -> None:
    ids = {identify(c, {}, nowhere).project_id for c in ("D:\\x\\y", "d:/x/y/", "D:/x//y")}
    assert len(ids) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My Project!", "my-project"),
        ("cli", "cli"),
        ("Übung_2", "ubung-2"),
        ("東京", "project"),
        ("...", "project"),
        ("a" * 60, "a" * 40),
        ("a" * 39 + "-b", "a" * 39),
    ],
)
def test_slug(text: str, expected: str) -> None:
    assert slug(text) == expected


@given(st.text(max_size=60))
def test_any_name_gives_an_id_fit_for_headers_and_urls(name: str) -> None:
    made = identify(name, {}, nowhere).project_id
    assert made.isascii()
    assert made.replace("-", "").isalnum()


@given(st.text(st.sampled_from("ab/\\.: D~é"), max_size=30))
def test_a_normal_path_is_its_own_normal_form(path: str) -> None:
    assert normalise(normalise(path)) == normalise(path)


CLI = project("/w/cli", "/w/cli/.worktrees/1", r"D:\cli")
API = project("/w/api")
OTHER_CLI = project("/v/cli")


def test_an_id_a_name_or_a_path_means_its_project() -> None:
    both = [CLI, API]
    for name in (
        CLI.project_id,
        "cli",
        "CLI",
        "/w/cli",
        "/w/cli/",
        "/w/cli/.worktrees/9",
        "d:/cli",
    ):
        assert resolve_name(name, both, {}) is CLI


def test_a_name_of_two_projects_is_an_error_that_lists_them_and_a_path_is_not() -> None:
    with pytest.raises(AmbiguousName) as error:
        resolve_name("cli", [CLI, API, OTHER_CLI], {})
    assert CLI.project_id in str(error.value)
    assert OTHER_CLI.project_id in str(error.value)
    assert API.project_id not in str(error.value)
    assert resolve_name("/v/cli", [CLI, API, OTHER_CLI], {}) is OTHER_CLI


@pytest.mark.parametrize("name", ["nope", "", "/nowhere", "w/cli"])
def test_an_unknown_name_is_an_error_that_lists_what_there_is(name: str) -> None:
    with pytest.raises(UnknownProject) as error:
        resolve_name(name, [CLI, API], {})
    assert CLI.project_id in str(error.value)


def test_a_merged_project_is_found_by_its_old_id_name_and_path() -> None:
    aliases = {OTHER_CLI.project_id: API.project_id, "old-name": API.project_id}
    everything = [CLI, API, OTHER_CLI]
    for name in (OTHER_CLI.project_id, "/v/cli", "old-name", "api"):
        assert resolve_name(name, everything, aliases) is API


def test_merging_ends_an_ambiguity() -> None:
    aliases = {OTHER_CLI.project_id: CLI.project_id}
    assert resolve_name("cli", [CLI, OTHER_CLI], aliases) is CLI


def test_a_merge_into_a_project_outside_the_grant_is_unknown() -> None:
    with pytest.raises(UnknownProject):
        resolve_name("/v/cli", [OTHER_CLI], {OTHER_CLI.project_id: "secret-1"})


def test_aliases_are_followed_to_their_end_and_a_circle_is_cut() -> None:
    assert current_id("a", {"a": "b", "b": "c"}) == "c"
    assert current_id("a", {"a": "b", "b": "a"}) in {"a", "b"}
    assert current_id("x", {}) == "x"
