"""What a person (or an agent) did to our files since the last render, read before the next one.

Nothing is obeyed here: each change is named, and the flow asks the gateway. A missing file is
a veto only where a deletion is the likeliest reason; otherwise it is a question for the person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tasks.domain.ids import shown
from tasks.domain.units import Lesson
from tasks.errors import WriteFailed
from tasks.render import memory_md
from tasks.render.files import is_ours, read
from tasks.render.lesson_file import front_digest, parse, rule_of, text_digest
from tasks.render.places import INDEX
from tasks.render.plan import renderable
from tasks.render.written import Book, Mark, Record, load

MOST_DELETED: Final = 3
MOST_DELETED_SHARE: Final = 0.2
"""Up to either of these, missing files are single deletions; beyond both, a folder that moved."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A lesson file's rule was reworded: a correction.

    Attributes:
        digest: of the file as it stands; with the path it makes reading it again the same event.
    """

    lesson_id: str
    project_id: str
    path: Path
    new_text: str
    digest: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """A lesson's file was deleted: a veto in that project."""

    lesson_id: str
    project_id: str
    path: Path


@dataclass(frozen=True, slots=True)
class LineEdited:
    """A lesson's line in `MEMORY.md` was reworded: a correction."""

    lesson_id: str
    project_id: str
    path: Path
    new_text: str
    digest: str


@dataclass(frozen=True, slots=True)
class LineDeleted:
    """A lesson's line was taken out of `MEMORY.md`: a veto in that project."""

    lesson_id: str
    project_id: str
    path: Path


@dataclass(frozen=True, slots=True)
class LineAdded:
    """A line that is not ours was written between our markers: a note of the file's."""

    project_id: str
    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Reverted:
    """Only fields of ours in a file's frontmatter were changed; the next render puts them back."""

    lesson_id: str
    project_id: str
    path: Path


@dataclass(frozen=True, slots=True)
class Unsure:
    """A change that could mean two things; nothing is vetoed and the person is asked."""

    project_id: str
    path: Path
    reason: str
    lesson_ids: tuple[str, ...] = ()


FileChange = Edited | Deleted | LineEdited | LineDeleted | LineAdded | Reverted | Unsure


@dataclass(frozen=True, slots=True)
class Seen:
    """What stands in one folder now, as bytes of text; a path is absent when its file is.

    Attributes:
        exists: the folder itself is there.
        unreadable: files that are there and cannot be read.
    """

    exists: bool
    texts: Mapping[Path, str]
    unreadable: tuple[Path, ...] = ()


def read_back(written: Path, lessons: Iterable[Lesson]) -> tuple[FileChange, ...]:
    """Return what was done to the files that the last render wrote, in the order of their paths.

    Args:
        written: the place of `written.json`.
        lessons: current versions; files of lessons that may not be rendered are not looked at.
    """
    book = load(written)
    seen = {folder: _look(folder, paths) for folder, paths in _by_folder(book).items()}
    return decide(book, seen, lessons)


def decide(
    book: Book, seen: Mapping[Path, Seen], lessons: Iterable[Lesson]
) -> tuple[FileChange, ...]:
    """Return the changes between what was written and what stands there; reads nothing itself."""
    current = {lesson.id: lesson for lesson in lessons if renderable(lesson)}
    changes: list[FileChange] = []
    for folder, paths in sorted(_by_folder(book).items()):
        records = {path: book[path] for path in paths}
        changes.extend(_folder_changes(folder, records, seen[folder], current))
    return tuple(changes)


def _folder_changes(
    folder: Path, records: Mapping[Path, Record], seen: Seen, current: Mapping[str, Lesson]
) -> Iterator[FileChange]:
    files = {path: record for path, record in records.items() if path.name != INDEX}
    yield from _missing(folder, files, seen, current)
    for path in sorted(records.keys() - set(seen.unreadable)):
        text = seen.texts.get(path)
        if path.name == INDEX:
            yield from _index_changes(path, records[path], text, current)
        elif text is not None:
            yield from _file_changes(path, records[path], text, current)
    for path in seen.unreadable:
        yield Unsure(records[path].project_id, path, "the file cannot be read")


def _missing(
    folder: Path, files: Mapping[Path, Record], seen: Seen, current: Mapping[str, Lesson]
) -> Iterator[FileChange]:
    """Name the files that are gone: vetoes if the guard of VETO-1 lets them be, else a question."""
    expected = {
        path: lesson_id
        for path, record in files.items()
        if record.last is not None and (lesson_id := _only(record.last)) in current
    }
    there = set(seen.texts) | set(seen.unreadable)
    gone = sorted(path for path in expected if path not in there)
    if not gone:
        return
    ids = tuple(expected[path] for path in gone)
    project = files[gone[0]].project_id
    doubt = _doubt(seen.exists, gone=len(gone), expected=len(expected), what="lesson files")
    if doubt:
        yield Unsure(project, folder, doubt, ids)
        return
    for path in gone:
        yield Deleted(expected[path], files[path].project_id, path)


def _doubt(exists: object, *, gone: int, expected: int, what: str) -> str:
    """Return why a deletion may be none, "" when it is taken for one."""
    if not exists:
        return f"the place of all {expected} {what} is gone, as when a folder moves"
    if gone == expected:
        return f"all {expected} {what} are gone at once, as when a folder is cleaned or restored"
    if gone > MOST_DELETED and gone > MOST_DELETED_SHARE * expected:
        return f"{gone} of {expected} {what} are gone at once, as when a folder is restored"
    return ""


def _file_changes(
    path: Path, record: Record, text: str, current: Mapping[str, Lesson]
) -> Iterator[FileChange]:
    mark = record.marks[0]
    lesson = current.get(_only(mark))
    if lesson is None or record.knows(text_digest(text)):
        return
    parts = parse(text)
    if is_ours(text, record):
        if front_digest(parts.fields) not in {mark.front for mark in record.marks}:
            yield Reverted(lesson.id, record.project_id, path)
    elif not parts.rule:
        yield Unsure(record.project_id, path, "the file holds no rule any more", (lesson.id,))
    elif _reworded(parts.rule, lesson, record):
        yield Edited(lesson.id, record.project_id, path, parts.rule, text_digest(text))


def _index_changes(
    path: Path, record: Record, text: str | None, current: Mapping[str, Lesson]
) -> Iterator[FileChange]:
    index = memory_md.parse((text or "").encode())
    lines = {entry.lesson: entry.text for entry in index.entries}
    expected = [x for x in (record.last.rules if record.last else ()) if x in current]
    gone = tuple(x for x in expected if not lines.get(shown(x)))
    doubt = (
        _doubt(index.found, gone=len(gone), expected=len(expected), what="lines") if gone else ""
    )
    if doubt:
        yield Unsure(record.project_id, path, doubt, gone)
    else:
        yield from (LineDeleted(lesson_id, record.project_id, path) for lesson_id in gone)
    for lesson_id in expected:
        line = lines.get(shown(lesson_id))
        if line and _reworded(line, current[lesson_id], record):
            yield LineEdited(lesson_id, record.project_id, path, line, text_digest(line))
    for stranger in index.strangers:
        yield LineAdded(record.project_id, path, stranger.decode().strip())


def _reworded(text: str, lesson: Lesson, record: Record) -> bool:
    """Tell whether a rule is neither what the lesson says now nor what we wrote of it before."""
    ours = {mark.rules.get(lesson.id) for mark in record.marks}
    return text != rule_of(lesson) and text_digest(text) not in ours


def _only(mark: Mark) -> str:
    return next(iter(mark.rules), "")


def _by_folder(book: Book) -> dict[Path, list[Path]]:
    found: dict[Path, list[Path]] = {}
    for path in sorted(book):
        found.setdefault(path.parent, []).append(path)
    return found


def _look(folder: Path, paths: Iterable[Path]) -> Seen:
    texts: dict[Path, str] = {}
    unreadable: list[Path] = []
    for path in paths:
        try:
            text = read(path)
        except WriteFailed:
            unreadable.append(path)
        else:
            texts.update({} if text is None else {path: text})
    return Seen(folder.is_dir(), texts, tuple(unreadable))
