"""The transcript that a test writes and reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evidence.writing import Transcript


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    """Give an empty transcript in a project folder."""
    return Transcript(tmp_path / "projects" / "-home-me-shop" / "s1.jsonl")
