"""The detectors' own tables: what `tasks.cues` reads, from this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks import cues as tables
from tasks.cues import Cue, Cues, compiled, first_in, weight_of

__all__ = ["Cue", "compiled", "cues", "first_in", "table", "weight_of"]


def table(name: str) -> Mapping[str, Any]:
    """Return the table `<name>.toml` of the detectors as it is written."""
    return tables.table(__package__, name)


def cues(name: str, section: str) -> Cues:
    """Return the cues of one section of a table of the detectors, in their order."""
    return tables.cues(__package__, name, section)
