"""The formats of an export; apart from the rest, so that naming them loads nothing."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How an export is written: for programs, or for people."""

    JSONL = "jsonl"
    MARKDOWN = "markdown"
