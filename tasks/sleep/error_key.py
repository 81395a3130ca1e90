"""What makes two errors the same lesson: the class, and the program where each has its own remedy.

A class is surer than a vector, except the catch-alls, which say only that something failed. What
worked instead of a failed way of running is surer than the class.
"""

from __future__ import annotations

from typing import Final

from tasks.domain.units import Episode, EpisodeKind
from tasks.domain.ways import replacements
from tasks.wording import lesson_class, stands_apart

ErrorKey = tuple[str, str, str]

CATCH_ALL: Final = frozenset({"", "other", "exception", "exit_nonzero"})


def error_key(episode: Episode) -> ErrorKey | None:
    """Return what an error has in common with those alike, None when its class says nothing.

    It is (class, tool, command), the last two "" where one remedy serves them all, or
    (class, what failed, what worked instead).
    """
    if episode.kind is not EpisodeKind.ERROR:
        return None
    name = lesson_class(episode)
    if swaps := replacements(episode.topic):
        return name, *swaps[0]
    if name in CATCH_ALL:
        return None
    return (name, episode.tool, episode.command) if stands_apart(episode) else (name, "", "")
