"""Fixtures for every test; real data is used where it lies beside the repository, never needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.build import Home, home_in

_SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Give the folder of real transcripts and labels; skip where it is absent."""
    if not _SHARED.is_dir():
        pytest.skip(f"real data is not there: {_SHARED}")
    return _SHARED


@pytest.fixture
def house(tmp_path: Path) -> Home:
    """Give an empty home in a temporary folder, with the hashed space."""
    return home_in(tmp_path / "home")
