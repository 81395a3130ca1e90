"""Settings and places: what the machine cannot give is told in a sentence of ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tasks.errors import SettingInvalid, UsageError
from tasks.settings import Settings, absolute


def test_a_home_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="EVEREST_HOME"):
        Settings.load(home=tmp_path / os.fsdecode(b"h\xff"))
    assert Settings.load(home=tmp_path / "hé").home == tmp_path / "hé"


def test_a_home_of_nobodys_is_told(tmp_path: Path) -> None:
    assert absolute(tmp_path) == tmp_path
    with pytest.raises(UsageError, match="no such home"):
        absolute(Path("~nobody-of-that-name/x"))


def test_a_relative_path_from_a_folder_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="whole path"):
        absolute(Path("x"))
    assert absolute(tmp_path / "x") == tmp_path / "x"
