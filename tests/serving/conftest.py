"""People with the shipped command: one new to it, and one who has slept on the demo week."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.serving.shipped import Everest, restore


@pytest.fixture
def newcomer(tmp_path: Path) -> Everest:
    """Give a person whose machine holds nothing yet."""
    return Everest(tmp_path)


@pytest.fixture(scope="session")
def slept_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Run one night on the demo week; return the base it lies in and a copy to put back.

    Lesson files and states hold absolute paths, so the same base is put back and never moved.
    """
    base = tmp_path_factory.mktemp("slept") / "base"
    person = Everest(base)
    person.works_a_week(datetime.now(UTC))
    told = person("night")
    assert told.code == 0, told.err
    kept = base.with_name("kept")
    shutil.copytree(base, kept)
    return base, kept


@pytest.fixture
def person(slept_once: tuple[Path, Path]) -> Iterator[Everest]:
    """Give a person after the first night on the demo week, to do anything with."""
    base, kept = slept_once
    restore(kept, base)
    yield Everest(base)
    restore(kept, base)


@pytest.fixture
def reader(slept_once: tuple[Path, Path]) -> Everest:
    """Give the same person to commands that change nothing but the journal; quicker."""
    return Everest(slept_once[0])
