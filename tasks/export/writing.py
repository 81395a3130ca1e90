"""Write an export: a folder, or one zip file, whole under its name or not at all.

Invariant: nothing that is there is written over; what is cut short leaves no part.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, assert_never

import orjson

from tasks.durable import FILE_MODE, make_folder, part_of, sync, sync_folder
from tasks.errors import UsageError, WriteFailed
from tasks.export.form import Format
from tasks.export.gather import Taken
from tasks.export.markdown import pages
from tasks.export.readme import readme
from tasks.settings import Places

_PAGES: Final = {
    "lessons": "{}/",
    "episodes": "{}/",
    "notes": "{}.md",
    "questions": "{}.md",
    "decisions": "{}.md",
}
"""What an export in Markdown holds; the rest is of use to programs alone."""


@dataclass(frozen=True, slots=True)
class Exported:
    """An export that was written: where, and how much of each kind is in it."""

    path: Path
    counts: dict[str, int]


def destination(places: Places, named: Path) -> Path:
    """Return where an export may be written.

    Raises:
        UsageError: when something is there already, its folder is not, or it lies in the home.
    """
    if os.path.lexists(named):
        raise UsageError(f"cannot export to {named}: it is there already; name another")
    if not named.parent.is_dir():
        raise UsageError(f"cannot export to {named}: there is no folder {named.parent}")
    if named.parent.resolve().is_relative_to(places.home.resolve()):
        raise UsageError(f"cannot export to {named}: it lies in the memory itself")
    return named


def write(path: Path, taken: Taken, places: Places, form: Format, at: datetime) -> Exported:
    """Write an export into a new folder, or a file if its name ends with `.zip`.

    Raises:
        UsageError: when something of that name came to be meanwhile.
        WriteFailed: when the disk refuses; no part is left then.
    """
    part = part_of(path)
    try:
        with _as_write(path):
            folder = make_folder(part)
            counts = _fill(folder, taken, places, form, at)
            if path.suffix.lower() == ".zip":
                _zipped(folder, path)
            else:
                _named(folder, path)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Exported(path, counts)


def _fill(folder: Path, taken: Taken, places: Places, form: Format, at: datetime) -> dict[str, int]:
    counts = taken.counts
    for name, source in (("relay", places.relay), ("evidence", places.evidence)):
        counts[name] = _copy(source, folder / name)
    match form:
        case Format.JSONL:
            kinds, told = dict.fromkeys(taken.counts, "{}.jsonl"), "one JSON object a line, UTF-8"
            for kind in kinds:
                _put(folder / f"{kind}.jsonl", _jsonl(getattr(taken, kind)))
        case Format.MARKDOWN:
            kinds, told = _PAGES, "Markdown, UTF-8, and events and conversations as JSON lines"
            for name, text in pages(taken).items():
                _put(folder / name, text.encode())
        case _:
            assert_never(form)
    kinds = {**kinds, "relay": "{}/", "evidence": "{}/"}
    files = {kind: (pattern.format(kind), counts[kind]) for kind, pattern in kinds.items()}
    _put(folder / "README.md", readme(files, form=told, home=str(places.home), at=at).encode())
    return {kind: counts[kind] for kind in files}


def _jsonl(rows: tuple[dict[str, Any], ...]) -> bytes:
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def _copy(source: Path, target: Path) -> int:
    """Copy the JSON lines of a folder, as they stand; return how many files those are."""
    make_folder(target)
    count = 0
    for path in sorted(source.rglob("*.jsonl")) if source.is_dir() else ():
        if path.is_file():
            _put(target / path.relative_to(source), path.read_bytes())
            count += 1
    return count


def _put(path: Path, data: bytes) -> None:
    make_folder(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        sync(file.fileno())


def _named(folder: Path, path: Path) -> None:
    """Give a finished folder its name; an empty folder of that name, made since, counts as well."""
    for inner in (folder, *(one for one in folder.rglob("*") if one.is_dir())):
        sync_folder(inner)
    _require_free(path)
    folder.rename(path)
    sync_folder(path.parent)


def _zipped(folder: Path, path: Path) -> None:
    part = part_of(path)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for one in sorted(folder.rglob("*")):
                    if one.is_file():
                        archive.write(one, Path(path.stem) / one.relative_to(folder))
            file.flush()
            sync(file.fileno())
        _require_free(path)
        part.replace(path)
        sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _require_free(path: Path) -> None:
    if os.path.lexists(path):
        raise UsageError(f"cannot export to {path}: it is there already; name another")


@contextmanager
def _as_write(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
