"""Lesson files on disk: what each should be, what to do about what is there, and doing it.

Invariant: a file is overwritten or removed only when its bytes, or its body, are ones we wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

from tasks.domain.units import Lesson
from tasks.durable import swap_file
from tasks.errors import WriteFailed
from tasks.render.lesson_file import (
    fields_of,
    front_digest,
    lesson_body,
    lesson_file,
    parse,
    rule_of,
    text_digest,
)
from tasks.render.written import Mark, Record


@dataclass(frozen=True, slots=True)
class Write:
    """Write the file; `on_disk` is the digest of what it replaces, None when nothing is there."""

    path: Path
    project_id: str
    text: str
    mark: Mark
    on_disk: str | None


@dataclass(frozen=True, slots=True)
class Same:
    """The file says already what it should."""

    path: Path
    project_id: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Keep:
    """Somebody else edited the file: leave it."""

    path: Path


@dataclass(frozen=True, slots=True)
class Remove:
    """The lesson is no longer rendered and the file is ours: remove it."""

    path: Path


@dataclass(frozen=True, slots=True)
class Drop:
    """The lesson is no longer rendered and its file is gone: strike it from the book."""

    path: Path


Step = Write | Same | Keep | Remove | Drop


def step_for(
    path: Path, lesson: Lesson, project_id: str, *, zone: tzinfo, record: Record | None
) -> Step:
    """Return what to do about a lesson's file.

    Raises:
        WriteFailed: when what stands at `path` cannot be read.
    """
    found = read(path)
    if found is None:
        text = lesson_file(lesson, zone)
        return Write(path, project_id, text, _mark(text, lesson, zone), None)
    if not is_ours(found, record) and not _has_body(found, lesson_body(lesson, zone)):
        return Keep(path)
    text = lesson_file(lesson, zone, extras=parse(found).extras)
    mark, on_disk = _mark(text, lesson, zone), text_digest(found)
    if mark.digest == on_disk:
        return Same(path, project_id, mark)
    return Write(path, project_id, text, mark, on_disk)


def step_without(path: Path, record: Record) -> Step:
    """Return what to do about the file of a lesson that is no longer rendered.

    Raises:
        WriteFailed: when what stands at `path` cannot be read.
    """
    found = read(path)
    if found is None:
        return Drop(path)
    return Remove(path) if is_ours(found, record) else Keep(path)


def is_ours(text: str, record: Record | None) -> bool:
    """Tell whether a file, or at least its body, is as we wrote it one of the last two times."""
    if record is None:
        return False
    return record.knows(text_digest(text)) or record.knows_body(text_digest(parse(text).body))


def read(path: Path) -> str | None:
    """Return a file's text, None when there is no file; bytes that are no UTF-8 stay recognisable.

    Raises:
        WriteFailed: when it cannot be read: what cannot be compared is not overwritten.
    """
    try:
        return path.read_bytes().decode(errors="backslashreplace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error


def carry_out(step: Write | Remove) -> None:
    """Do a step on the disk.

    Raises:
        WriteFailed: when the disk refuses; what was there before is untouched.
    """
    match step:
        case Write(path=path, text=text):
            swap_file(path, text.encode())
        case Remove(path=path):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise WriteFailed(path, error.strerror or str(error)) from error


def _mark(text: str, lesson: Lesson, zone: tzinfo) -> Mark:
    return Mark(
        digest=text_digest(text),
        body=text_digest(lesson_body(lesson, zone)),
        front=front_digest(fields_of(lesson, zone)),
        rules={lesson.id: text_digest(rule_of(lesson))},
    )


def _has_body(text: str, body: str) -> bool:
    return text_digest(parse(text).body) == text_digest(body)
