"""Whose hand changed a file of ours: an agent's, if a transcript shows it writing there.

Lesson files lie where agents can write, so a change to one is the person's only while no transcript
says otherwise. A mention in a read or an answer is no writing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tasks.evidence.lines import UNREADABLE, TooLong, lines_of, open_transcript
from tasks.evidence.roots import find_transcripts

_CALL: Final = b'"tool_use"'
_WRITING: Final = tuple(
    b'"name":%s"%s"' % (space, tool)
    for tool in (b"Write", b"Edit", b"MultiEdit", b"NotebookEdit", b"Bash")
    for space in (b"", b" ")
)


def written_by_agents(
    paths: Iterable[Path], roots: Iterable[Path], *, since: float
) -> frozenset[Path]:
    """Return those of `paths` that an agent's call named while it could write.

    Args:
        paths: files of ours that changed.
        roots: folders of transcripts.
        since: seconds since 1970; transcripts not touched after it cannot tell of a later change.
    """
    wanted = {path: str(path).encode() for path in paths}
    found: set[Path] = set()
    for root in roots if wanted else ():
        for transcript in find_transcripts(root).transcripts:
            if wanted.keys() <= found:
                return frozenset(found)
            if _touched(transcript) >= since:
                found |= {
                    path for path in wanted.keys() - found if _writes(transcript, wanted[path])
                }
    return frozenset(found)


def _writes(transcript: Path, named: bytes) -> bool:
    try:
        with open_transcript(transcript) as stream:
            return any(
                named in line and _CALL in line and any(tool in line for tool in _WRITING)
                for line in lines_of(stream)
                if not isinstance(line, TooLong)
            )
    except UNREADABLE:
        return False


def _touched(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
