"""Which transcripts there are, and which of them changed since they were last read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tasks.evidence.lines import UNREADABLE, open_transcript
from tasks.evidence.roots import find_transcripts
from tasks.evidence.states import FileChange, FileState, how_changed

_HEAD: Final = 256 * 1024
_TIMESTAMP: Final = re.compile(rb'"timestamp":\s*"(\d{4}-\d\d-\d\dT[^"]{5,30})"')

Known = dict[str, Any]
"""What was kept of a transcript when it was last read: its state, mark, counts and project."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A transcript to read: what is known of it, and what happened to it since."""

    path: Path
    change: FileChange
    known: Known | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The transcripts of some roots.

    Attributes:
        files: how many there are.
        changed: those to read, the owner of copied turns before its copies.
        problems: one sentence for each that could not be used.
    """

    files: int
    changed: tuple[Changed, ...]
    problems: tuple[str, ...]


def listing(
    roots: Sequence[Path], known: Mapping[str, Known], *, is_wanted_again: Callable[[Known], bool]
) -> Listing:
    """Return the transcripts under `roots`, and which of them to read.

    Args:
        roots: folders of transcripts.
        known: what was kept of each, by path.
        is_wanted_again: tells of a file that was left out whether it is to be read now.

    Raises:
        NoTranscripts: when a root cannot be read at all.
    """
    found = [find_transcripts(root) for root in roots]
    paths = [path for one in found for path in one.transcripts]
    changes = [_change(path, known.get(str(path)), is_wanted_again) for path in paths]
    changed = [one for one in changes if one.change is not FileChange.UNCHANGED]
    changed.sort(key=lambda one: (_first_timestamp(one.path), one.path.name))
    problems = tuple(aside.told() for one in found for aside in one.set_aside)
    return Listing(len(paths), tuple(changed), problems)


def survey(roots: Sequence[Path]) -> Iterator[tuple[Path, int, int, int]]:
    """Yield, for each root, its transcripts, the folders they are in, and their bytes.

    Raises:
        NoTranscripts: when a root cannot be read.
    """
    for root in roots:
        found = find_transcripts(root).transcripts
        yield root, len(found), len({path.parent for path in found}), sum(map(size_of, found))


def _change(path: Path, known: Known | None, is_wanted_again: Callable[[Known], bool]) -> Changed:
    if known is None or is_wanted_again(known):
        return Changed(path, FileChange.REWRITTEN, known)
    try:
        return Changed(path, how_changed(path, FileState.from_json(known["state"])), known)
    except OSError:
        return Changed(path, FileChange.REWRITTEN, known)


def _first_timestamp(path: Path) -> bytes:
    """Return a file's first timestamp as it is written, for the order of reading alone."""
    try:
        with open_transcript(path) as stream:
            found = _TIMESTAMP.search(stream.read(_HEAD))
    except UNREADABLE:
        return b""
    return found[1] if found else b""


def size_of(path: Path) -> int:
    """Return a file's length in bytes; 0 when it cannot be told."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
