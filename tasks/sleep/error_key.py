"""What makes two errors the same error: its class, the tool, and the command's first word.

A class is surer than a vector, except the catch-alls, which say only that something failed.
"""

from __future__ import annotations

from typing import Final

from tasks.domain.units import Episode, EpisodeKind

ErrorKey = tuple[str, str, str]

CATCH_ALL: Final = frozenset({"", "other", "exception", "exit_nonzero"})


def error_key(episode: Episode) -> ErrorKey | None:
    """Return (class, tool, command) of an error whose class says what went wrong, else None."""
    if episode.kind is not EpisodeKind.ERROR or episode.error_class in CATCH_ALL:
        return None
    return episode.error_class, episode.tool, episode.command
