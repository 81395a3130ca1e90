"""Which files a restored memory takes for its own, so that no night reads them as a person's doing.

The book of a backup tells of files as they were then, perhaps on another machine. Invariant: a file
that is not there is no deletion, a file written since then by us is no edit, and what somebody
changed in a file of ours is still told from both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tasks.domain.ids import shown
from tasks.domain.markers import FILE_PREFIX
from tasks.domain.units import Lesson
from tasks.errors import WriteFailed
from tasks.render import memory_md
from tasks.render.files import is_ours, read
from tasks.render.lesson_file import front_digest, parse, text_digest
from tasks.render.places import INDEX
from tasks.render.written import Book, Mark, Record


@dataclass(frozen=True, slots=True)
class Move:
    """Where our own lesson files lay when the backup was taken, and where they lie now."""

    old: Path
    new: Path


def adopted(then: Book, now: Book, move: Move, lessons: Iterable[Lesson]) -> Book:
    """Return the book of a restored memory.

    Args:
        then: the backup's book.
        now: the book of the memory that is replaced, which knows best what it wrote in hosts'
            folders; empty when there was none.
        move: from the backup's own folder of lesson files, restored with it, to this home's.
        lessons: those of the restored memory.
    """
    known = {shown(lesson.id): lesson.id for lesson in lessons}
    own = {_moved(path, move): then[path] for path in then if path.is_relative_to(move.old)}
    hosts = {
        path: record
        for path, record in {**then, **now}.items()
        if not (path.is_relative_to(move.old) or path.is_relative_to(move.new))
    }
    for path, project in _met(hosts):
        record = now.get(path) or _as_found(path, project, then.get(path), known)
        hosts.pop(path, None)
        if record is not None:
            hosts[path] = record
    return {**own, **hosts}


def _moved(path: Path, move: Move) -> Path:
    return move.new / path.relative_to(move.old)


def _met(hosts: Book) -> list[tuple[Path, str]]:
    """Return the hosts' files in a book and those of ours beside them, with their projects."""
    met = {path: record.project_id for path, record in hosts.items()}
    for path, project in list(met.items()):
        for beside in (*path.parent.glob(f"{FILE_PREFIX}*.md"), path.parent / INDEX):
            met.setdefault(beside, project)
    return sorted(met.items())


def _as_found(
    path: Path, project: str, record: Record | None, known: Mapping[str, str]
) -> Record | None:
    """Return the record of a file as it stands; None when it is not there, or not ours to know."""
    try:
        text = read(path)
    except WriteFailed:
        return record
    if text is None:
        return None
    if path.name == INDEX:
        return _index_found(path, text, project, record, known)
    return record if is_ours(text, record) else _file_found(text, project, record, known)


def _file_found(
    text: str, project: str, record: Record | None, known: Mapping[str, str]
) -> Record | None:
    """Take a file for ours when its rule is the one that we told in its frontmatter."""
    short = _unedited(text)
    if short is None:
        return record
    parts = parse(text)
    mark = Mark(
        digest=text_digest(text),
        body=text_digest(parts.body),
        front=front_digest(parts.fields),
        rules={known.get(short, short): text_digest(parts.rule)},
    )
    return Record(project, (mark,), landed=True)


def _unedited(text: str) -> str | None:
    """Return the short id of the lesson in a file whose rule nobody changed, else None."""
    parts = parse(text)
    try:
        told = json.loads(parts.fields.get("description", ""))
    except ValueError:
        return None
    return parts.fields.get("everest") if told == parts.rule else None


def _index_found(
    path: Path, text: str, project: str, record: Record | None, known: Mapping[str, str]
) -> Record | None:
    """Take those lines for ours that say what the unedited file beside says of the same lesson."""
    index = memory_md.parse(text.encode())
    if not index.found:
        return None
    digest = text_digest("\n".join(entry.line for entry in index.entries))
    if record is not None and record.knows(digest):
        return record
    rules = {
        known[entry.lesson]: text_digest(entry.text)
        for entry in index.entries
        if entry.lesson in known and _says(path.parent, entry.lesson, entry.text)
    }
    return Record(project, (Mark(digest, digest, "", rules),), landed=True)


def _says(folder: Path, short: str, rule: str) -> bool:
    try:
        text = read(folder / f"{FILE_PREFIX}{short}.md")
    except WriteFailed:
        return False
    return text is not None and _unedited(text) == short and parse(text).rule == rule
