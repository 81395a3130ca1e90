"""What was said since a publication that bears on its lessons, as a hook reads it by itself.

Invariant: what a person, or an agent, took out a second ago is known, as the overlay knows it.
"""

from __future__ import annotations

import posix

from tasks.hooks import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasks.hooks.plain import Row

_HIDING = ("reject", "forget", "veto")
_DECIDERS = ("person", "file")
_MOST = 32 * 1024 * 1024


class TooMuch(Exception):
    """More was said than can be read in time."""


def said(journal: str, offsets: dict[str, int]) -> tuple[set[str], dict[str, str]]:
    """Return the ids that are hidden, and the texts of lessons that were edited.

    Args:
        journal: the journal's folder.
        offsets: segment -> bytes that the publication includes.

    Raises:
        TooMuch: when the tail is too long.
    """
    hidden: set[str] = set()
    edited: list[tuple[str, str, str]] = []
    for line in _lines(journal, offsets):
        match line:
            case {"op": "decide", "verb": verb, "unit_id": str(unit)} if verb in _HIDING:
                hidden.add(unit)
                if verb == "forget" and line.get("actor") in _DECIDERS:
                    hidden.update(line.get("sources") or ())
            case {"op": "edit_file", "lesson_id": str(lesson), "text": str(text), "at": str(at)}:
                edited.append((at, lesson, text))
    return hidden, {lesson: text for _, lesson, text in sorted(edited)}


def _lines(journal: str, offsets: dict[str, int]) -> Iterator[Row]:
    for name in _segments(journal):
        tail = _tail(f"{journal}/{name}", offsets.get(name, 0))
        if b"decide" in tail or b"edit_file" in tail:
            for line in tail.split(b"\n")[:-1]:
                if b"decide" in line or b"edit_file" in line:
                    yield plain.parsed(line)


def _segments(journal: str) -> list[str]:
    try:
        return sorted(name for name in posix.listdir(journal) if name.endswith(".jsonl"))
    except FileNotFoundError:
        return []


def _tail(path: str, offset: int) -> bytes:
    try:
        file = plain.opened(path)
    except FileNotFoundError:  # put away: the publication is looked at once more
        return b""
    try:
        if posix.fstat(file).st_size - offset > _MOST:
            raise TooMuch
        return plain.read_from(file, offset)
    finally:
        posix.close(file)
