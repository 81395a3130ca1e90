"""Frames that more than one part of the code reads, by their schemas."""

from __future__ import annotations

from typing import Final

import polars as pl

INSTANT: Final = pl.Datetime("us", "UTC")
EPISODES: Final = pl.Schema(
    {
        "id": pl.String(),
        "agent": pl.String(),
        "session_id": pl.String(),
        "kind": pl.String(),
        "anchor": pl.String(),
        "title": pl.String(),
        "gist": pl.String(),
        "words": pl.String(),
        "rule": pl.String(),
        "at": INSTANT,
        "recorded_at": INSTANT,
        "grounding": pl.String(),
        "lasting": pl.Boolean(),
        "standing": pl.Boolean(),
        "tool": pl.String(),
        "error_class": pl.String(),
        "command": pl.String(),
        "topic": pl.List(pl.String()),
        "strength": pl.Float64(),
        "as_of": INSTANT,
        "recalls": pl.Int64(),
        "archived_at": INSTANT,
    }
)
"""One row an episode of the scope, archived ones too (`archived_at` not null)."""
