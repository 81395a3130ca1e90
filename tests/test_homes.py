from pathlib import Path

import pytest

from tasks.errors import HomeRefused
from tasks.homes import remove, require_home
from tasks.settings import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Give a home with some of everything in it, beside what is not ours."""
    found = Places(tmp_path / "home")
    for folder in (found.ledger, found.journal, found.prefect, found.home / "replaced-20260504"):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    for name in (
        "store.lock",
        "wired.lock",
        "memory.duckdb",
        "memory.duckdb.corrupt-1",
        ".written.json.0123abcd.part",
    ):
        (found.home / name).touch()
    (tmp_path / "beside").touch()
    return found


def test_a_home_goes_whole_and_nothing_beside_it(places: Places, tmp_path: Path) -> None:
    gone = remove(places, tmp_path / "me")
    assert gone.left == ()
    assert [path.name for path in tmp_path.iterdir()] == ["beside"]
    assert remove(places, tmp_path / "me").removed == 0


def test_what_is_not_known_by_name_stays_with_the_folder(places: Places, tmp_path: Path) -> None:
    (places.home / "thesis").mkdir()
    (places.home / "thesis" / "thesis.tex").touch()
    (places.home / "share").mkdir()
    (places.home / "poetry.lock").touch()
    gone = remove(places, tmp_path / "me")
    assert [path.name for path in gone.left] == ["poetry.lock", "share", "thesis"]
    assert {path.name for path in places.home.rglob("*")} == {
        "poetry.lock",
        "share",
        "thesis",
        "thesis.tex",
    }


def test_a_link_goes_and_what_it_leads_to_stays(places: Places, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine").touch()
    places.view.symlink_to(other)
    remove(places, tmp_path / "me")
    assert (other / "mine").exists()
    assert not places.home.exists()


def test_a_linked_home_goes_with_its_link(places: Places, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(places.home)
    remove(Places(link), tmp_path / "me")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside"]


@pytest.mark.parametrize("home", ["/", ".", "..", "mine", "file"])
def test_no_other_folder_is_taken_for_a_home(tmp_path: Path, home: str) -> None:
    person = tmp_path / "me" / "inner"
    (person / "mine").mkdir(parents=True)
    (person / "mine" / "letter").touch()
    (person / "file").touch()
    with pytest.raises(HomeRefused, match="EVEREST_HOME"):
        require_home(Places(person / home), person)
    with pytest.raises(HomeRefused):
        remove(Places(person / home), person)
    assert (person / "mine" / "letter").exists()


@pytest.mark.parametrize("held", ["keys/id_rsa", "spool/mail", "view/index.html", "journal/2026"])
def test_folders_of_common_names_make_no_home(tmp_path: Path, held: str) -> None:
    letter = tmp_path / "project" / held
    letter.parent.mkdir(parents=True)
    letter.touch()
    with pytest.raises(HomeRefused, match="nothing in it shows"):
        remove(Places(tmp_path / "project"), tmp_path / "me")
    assert letter.exists()


def test_a_home_that_is_the_persons_own_folder_is_refused(places: Places) -> None:
    with pytest.raises(HomeRefused, match="your own home folder"):
        remove(places, places.home)
    assert places.ledger.exists()
