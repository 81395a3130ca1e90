"""Fixtures for every test; real data is used where it lies beside the repository, never needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.store.build import Home, home_in

if TYPE_CHECKING:
    from tests.prefect_server import Server

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


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Give the one Prefect server that this worker's tests share, protected as ours is."""
    from tests.prefect_server import running_server  # noqa: PLC0415  loaded by few tests

    with running_server(tmp_path_factory.mktemp("served") / "everest" / "prefect") as server:
        yield server
