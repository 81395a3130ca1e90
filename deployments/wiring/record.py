"""What was wired, kept in `wired.json`, so that it can be undone byte for byte.

Invariant: a file's note is on disk before the file is changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from deployments.wiring.files import digest
from deployments.wiring.wishes import Kept
from tasks.durable import swap_file
from tasks.errors import WiredDamaged


class Put(BaseModel):
    """What was put at a place, and what stood there; `old` is null when nothing did."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: list[str | int]
    value: Any = None
    old: Any = None


class Note(BaseModel):
    """What was done to one file.

    Attributes:
        before: the name of the copy that an undo puts back; null when there was no file.
        after: the digest of what was written.
        made: containers that we made in it.
        folders: folders that we made for it, the outermost first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str
    path: str
    before: str | None
    after: str
    made: list[list[str | int]]
    put: list[Put]
    folders: list[str] = []

    def kept(self) -> Kept:
        """Return what it takes to take our things out."""
        return Kept(
            tuple(tuple(one) for one in self.made),
            {tuple(one.path): one.value for one in self.put},
            {tuple(one.path): one.old for one in self.put if one.old is not None},
        )


class Record(BaseModel):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = 1
    files: list[Note] = []

    def of(self, path: Path) -> Note | None:
        """Return what was done to a file."""
        return next((note for note in self.files if note.path == str(path)), None)

    def with_note(self, note: Note) -> Record:
        """Return the record with one file's note in the place of what it said of that file."""
        return Record(files=[*(one for one in self.files if one.path != note.path), note])

    def without(self, paths: Iterable[str]) -> Record:
        """Return the record without some files."""
        gone = set(paths)
        return Record(files=[one for one in self.files if one.path not in gone])


_EMPTY: Final = Record()


def read_record(path: Path) -> Record:
    """Return the record of a home, an empty one when there is none.

    Raises:
        WiredDamaged: when it cannot be read.
    """
    try:
        return Record.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return _EMPTY
    except ValidationError as error:
        raise WiredDamaged(path, error.errors()[0]["msg"]) from None
    except OSError as error:
        raise WiredDamaged(path, error.strerror or str(error)) from None


def write_record(path: Path, record: Record) -> None:
    """Keep the record; one that says nothing is removed.

    Raises:
        WriteFailed: when the disk refuses.
    """
    if record.files:
        swap_file(path, record.model_dump_json(indent=1).encode() + b"\n")
    else:
        path.unlink(missing_ok=True)


def note_of(  # noqa: PLR0913  one fact each
    agent: str,
    path: Path,
    *,
    before: str | None,
    after: bytes,
    kept: Kept,
    folders: Iterable[Path] = (),
) -> Note:
    """Return the note of one file."""
    return Note(
        agent=agent,
        path=str(path),
        before=before,
        after=digest(after),
        made=[list(one) for one in kept.made],
        put=[
            Put(path=list(one), value=value, old=kept.old.get(one))
            for one, value in kept.put.items()
        ],
        folders=[str(one) for one in folders],
    )
