"""`written.json`: for each file we wrote, the digests by which we know it again as ours.

A file's new digest is durable here before the file is renamed into place, so after a crash the file
matches one of its last two. Invariant: a file that matches neither was edited by somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tasks.durable import swap_file


@dataclass(frozen=True, slots=True)
class Mark:
    """How a file of ours looked.

    Attributes:
        digest: of the whole lesson file, or of our lines of a `MEMORY.md`.
        body: of a lesson file from its rule on; the same as `digest` for a `MEMORY.md`.
        front: of a lesson file's frontmatter fields of ours; "" for a `MEMORY.md`.
        rules: lesson id -> digest of its rule as it stood there.
    """

    digest: str
    body: str
    front: str
    rules: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Record:
    """One file: its last two marks, newest first, and whether the newest reached the disk."""

    project_id: str
    marks: tuple[Mark, ...]
    landed: bool

    @property
    def last(self) -> Mark | None:
        """Return how the file looked after the last render that is known to have written it."""
        return self.marks[0] if self.landed else next(iter(self.marks[1:]), None)

    def knows(self, digest: str) -> bool:
        """Tell whether a whole file is one of ours."""
        return any(mark.digest == digest for mark in self.marks)

    def knows_body(self, digest: str) -> bool:
        """Tell whether a file's body is one of ours."""
        return any(mark.body == digest for mark in self.marks)


Book = dict[Path, Record]


def announce(record: Record | None, project_id: str, mark: Mark, on_disk: str | None) -> Record:
    """Return the record to make durable before `mark` is written over what is on the disk now.

    `on_disk` is the digest of what stands there, None for nothing: it chooses the second mark that
    is kept. One that was announced and never written is not: its file would pass for deleted.
    """
    marks = record.marks if record is not None else ()
    newest = record.last if record is not None and on_disk is None else next(iter(marks), None)
    kept = next((old for old in marks if old.digest == on_disk), newest)
    return Record(project_id, (mark,) if kept is None else (mark, kept), landed=False)


def landed(record: Record | None, project_id: str, mark: Mark) -> Record:
    """Return the record once `mark` stands on the disk."""
    earlier = record.marks if record is not None else ()
    others = tuple(old for old in earlier if old != mark)
    return Record(project_id, (mark, *others)[:2], landed=True)


def load(path: Path) -> Book:
    """Return the book; a damaged one counts as empty, so every file that differs is kept."""
    try:
        found = json.loads(path.read_bytes())
        return {Path(name): _record(entry) for name, entry in found["files"].items()}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def save(path: Path, book: Book) -> None:
    """Write the book durably, unless it stands so already.

    Raises:
        WriteFailed: when the disk refuses.
    """
    files = {str(name): _plain(book[name]) for name in sorted(book)}
    data = json.dumps({"v": 1, "files": files}, ensure_ascii=False, indent=1).encode() + b"\n"
    if not path.is_file() or path.read_bytes() != data:
        swap_file(path, data)


def _record(entry: Mapping[str, object]) -> Record:
    marks = entry["marks"]
    if not isinstance(marks, list):
        raise TypeError
    found = tuple(Mark(m["digest"], m["body"], m["front"], dict(m["rules"])) for m in marks)
    return Record(str(entry["project"]), found, landed=bool(entry["landed"]))


def _plain(record: Record) -> dict[str, object]:
    return {
        "project": record.project_id,
        "landed": record.landed,
        "marks": [
            {"digest": m.digest, "body": m.body, "front": m.front, "rules": dict(m.rules)}
            for m in record.marks
        ],
    }
