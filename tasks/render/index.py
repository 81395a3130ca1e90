"""The `MEMORY.md` of one folder: which lines it gets this week, and writing it beside its host.

The host writes the same file, so the bytes a change was made from are compared again right before
the rename. Invariant: a line whose text a person changed keeps that text until the lesson has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tasks.domain.holdout import held_out, line_id
from tasks.domain.ids import shown
from tasks.domain.units import Lesson
from tasks.durable import FILE_MODE, swap_file_if_still
from tasks.errors import WriteFailed
from tasks.render.lesson_file import rule_of, text_digest
from tasks.render.memory_md import (
    Entry,
    NotUtf8Error,
    OverLimit,
    best_first,
    entry_of,
    fitting,
    over_limit,
    parse,
    put,
    section_of,
    take_out,
)
from tasks.render.places import Folder
from tasks.render.plan import RenderPlan
from tasks.render.written import Mark, Record

_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Lines:
    """The lessons of one folder, parted: a line each, none this week, no room. Best first."""

    chosen: tuple[Lesson, ...]
    held_out: tuple[Lesson, ...]
    omitted: tuple[Lesson, ...]

    @property
    def all(self) -> tuple[Lesson, ...]:
        """Return every lesson of the folder."""
        return (*self.chosen, *self.held_out, *self.omitted)


@dataclass(frozen=True, slots=True)
class Draft:
    """A `MEMORY.md` as it should be, made from the bytes `seen`.

    Attributes:
        seen: None when there is no file; `data` is then empty if none is needed.
        on_disk: digest of our lines as they stand, None when there are none.
        own_words: short ids of the lessons whose line holds a person's wording, and keeps it.
    """

    path: Path
    seen: bytes | None
    data: bytes
    mark: Mark
    on_disk: str | None
    own_words: tuple[str, ...]

    @property
    def unchanged(self) -> bool:
        """Tell whether there is nothing to write."""
        return self.data == (self.seen or b"")


def part(lessons: Sequence[Lesson], folder: Folder, plan: RenderPlan) -> Lines:
    """Decide which lessons get a line in a folder's `MEMORY.md` in the week of the plan.

    Room is given first and lines are held out of those that have it, so that a held-out line is one
    that would have been shown. Outside a host's folder, and for a pinned lesson, nothing is.
    """
    ranked = best_first(lessons, plan.at)
    room = fitting([entry_of(lesson, plan.zone) for lesson in ranked])
    held = [x for x in ranked[:room] if folder.of_host and _is_held(x, plan)]
    chosen = [lesson for lesson in ranked[:room] if lesson not in held]
    return Lines(tuple(chosen), tuple(held), tuple(ranked[room:]))


def draft(folder: Folder, lines: Lines, plan: RenderPlan, record: Record | None) -> Draft:
    """Return the folder's `MEMORY.md` as it should be, given what stands there now.

    Raises:
        WriteFailed: when it cannot be read or is no text we can write into.
    """
    path = folder.index.resolve()  # a link into somebody's dotfiles stays a link
    seen = _bytes_of(path)
    try:
        index = parse(seen or b"")
    except NotUtf8Error as error:
        raise WriteFailed(path, str(error)) from error
    own = _own_words(index.entries, lines.all, record)
    lessons = best_first(_with_own(lines, own), plan.at)
    entries = [entry_of(x, plan.zone, text=own.get(shown(x.id))) for x in lessons]
    section = section_of(entries, omitted=len(lines.omitted)) if entries else []
    return Draft(
        path=path,
        seen=seen,
        data=put(index, section) if section else take_out(index),
        mark=_mark(entries, lessons, record, own),
        on_disk=_digest(index.entries) if index.found else None,
        own_words=tuple(own),
    )


def write(
    made: Draft, folder: Folder, lines: Lines, plan: RenderPlan, record: Record | None
) -> bool:
    """Write a draft, made again whenever the file changed meanwhile; tell whether it stands now.

    It is given up, until the next render, when the lines themselves would have to change: their
    digest is announced in the book and has to stay true.

    Raises:
        WriteFailed: when the disk refuses.
    """
    current = made
    for _ in range(_TRIES):
        if current.mark != made.mark:
            return False
        if current.unchanged or _swapped(current):
            return True
        current = draft(folder, lines, plan, record)
    return False


def loaded(path: Path) -> tuple[OverLimit | None, frozenset[str]]:
    """Return by how much a `MEMORY.md` is too long for its host, and whose lines it loads.

    Raises:
        WriteFailed: when it cannot be read.
    """
    data = _bytes_of(path) or b""
    excess = over_limit(data)
    entries = frozenset(entry.lesson for entry in parse(data).entries)
    return excess, entries if excess is None else entries - set(excess.lost)


def _swapped(made: Draft) -> bool:
    return swap_file_if_still(made.path, made.data, seen=made.seen, mode=_mode(made.path))


def _is_held(lesson: Lesson, plan: RenderPlan) -> bool:
    if lesson.pinned:
        return False
    return held_out(line_id(lesson.id, plan.at, plan.zone), plan.holdout)


def _own_words(
    entries: Sequence[Entry], lessons: Sequence[Lesson], record: Record | None
) -> dict[str, str]:
    """Return the lines' texts that neither we wrote nor the lesson says now, by short id."""
    marks = record.marks if record is not None else ()
    by_short = {shown(lesson.id): lesson for lesson in lessons}
    own: dict[str, str] = {}
    for entry in entries:
        lesson = by_short.get(entry.lesson)
        if lesson is None or not entry.text or entry.text == rule_of(lesson):
            continue
        if text_digest(entry.text) not in {mark.rules.get(lesson.id) for mark in marks}:
            own[entry.lesson] = entry.text
    return own


def _with_own(lines: Lines, own: dict[str, str]) -> list[Lesson]:
    worded = [x for x in (*lines.held_out, *lines.omitted) if shown(x.id) in own]
    return [*lines.chosen, *worded]


def _mark(
    entries: Sequence[Entry], lessons: Sequence[Lesson], record: Record | None, own: dict[str, str]
) -> Mark:
    before = record.marks[0].rules if record is not None else {}
    rules = {
        lesson.id: before.get(lesson.id, "")
        if shown(lesson.id) in own
        else text_digest(rule_of(lesson))
        for lesson in lessons
    }
    digest = _digest(entries)
    return Mark(digest, digest, "", rules)


def _digest(entries: Sequence[Entry]) -> str:
    return text_digest("\n".join(entry.line for entry in entries))


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return FILE_MODE


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
