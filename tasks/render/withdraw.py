"""Take every file of ours out of hosts' memory folders, as one who leaves tidies up.

Invariants: what a person wrote is kept, in the file where it stands or as a copy; what a host wrote
stays to the byte; nothing is taken out that this home did not write. The book forgets a file before
it goes, so that a home that stays never takes its absence for a deletion of the person's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tasks.domain.markers import LESSON_FILE
from tasks.durable import swap_file, swap_file_if_still
from tasks.errors import EverestError, WriteFailed
from tasks.render.files import is_ours, read
from tasks.render.lesson_file import file_name, text_digest
from tasks.render.memory_md import Index, NotUtf8Error, parse, take_out
from tasks.render.places import INDEX
from tasks.render.written import Book, Record, load, save
from tasks.settings import Places

_TRIES: Final = 5
_BARE: Final = (b"", b"\xef\xbb\xbf")


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What was taken out.

    Attributes:
        lessons: lesson files that were removed.
        indexes: `MEMORY.md` files whose section of ours went.
        copies: where what a person had edited of it is kept.
        failed: what could not be done.
    """

    lessons: tuple[Path, ...]
    indexes: tuple[Path, ...]
    copies: tuple[Path, ...]
    failed: tuple[EverestError, ...]


@dataclass(slots=True)
class _Tally:
    lessons: list[Path] = field(default_factory=list)
    indexes: list[Path] = field(default_factory=list)
    copies: list[Path] = field(default_factory=list)
    failed: list[EverestError] = field(default_factory=list)


def withdraw(places: Places, roots: Iterable[Path], kept: Path) -> Withdrawn:
    """Take out what this home wrote into hosts' memory folders.

    Args:
        places: the home; its book says what was written. With a book that cannot be read, its
            copies of lesson files tell which names are its own.
        roots: hosts' roots, looked through in that case alone.
        kept: a folder that is made for copies, when there are any.
    """
    book, tally = load(places.written), _Tally()
    found = _of_book(book, places) if book else _by_name(places, roots)
    if book:
        save(places.written, {path: mark for path, mark in book.items() if path not in found})
    for path in sorted(found):
        with _noting(tally):
            if path.name == INDEX:
                _clear_index(path, found[path], kept, tally)
            else:
                _remove_lesson(path, found[path], places, kept, tally)
    for folder in sorted({path.parent for path in found}):
        for empty in (folder, folder.parent):
            with contextlib.suppress(OSError):  # it holds something, or is gone
                empty.rmdir()
    return Withdrawn(
        tuple(tally.lessons), tuple(tally.indexes), tuple(tally.copies), tuple(tally.failed)
    )


def _of_book(book: Book, places: Places) -> dict[Path, Record | None]:
    """Return what stands in the book and outside the home, by names that can only be ours."""
    return {
        path: record
        for path, record in book.items()
        if not path.is_relative_to(places.home) and (path.name == INDEX or _is_named(path))
    }


def _by_name(places: Places, roots: Iterable[Path]) -> Mapping[Path, Record | None]:
    """Return the files in hosts' folders that are called as those in the home are."""
    known = {path.name for path in places.memory.glob("*/everest-*.md") if _is_named(path)}
    found: dict[Path, Record | None] = {}
    for root in roots if known else ():
        for folder in root.glob("projects/*/memory"):
            ours = [path for path in folder.glob("everest-*.md") if path.name in known]
            found.update(dict.fromkeys(ours))
            if ours or _names(folder / INDEX) & known:
                found[folder / INDEX] = None
    return found


def _names(index: Path) -> set[str]:
    """Return the lesson files that a `MEMORY.md`'s section of ours leads to."""
    try:
        entries = parse(index.read_bytes()).entries
    except (OSError, NotUtf8Error):
        return set()
    return {file_name(entry.lesson) for entry in entries}


def _is_named(path: Path) -> bool:
    return LESSON_FILE.match(path.name) is not None


def _remove_lesson(
    path: Path, record: Record | None, places: Places, kept: Path, tally: _Tally
) -> None:
    """Remove a lesson file; one that was edited is copied first."""
    text = read(path)
    if text is None:
        return
    as_written = is_ours(text, record) or text in _twins(path, places)
    if not as_written:
        _keep(path, path.read_bytes(), kept, tally)
    path.unlink()
    tally.lessons.append(path)


def _twins(path: Path, places: Places) -> Iterator[str | None]:
    """Yield what the home's own copies of a lesson file say."""
    return (read(one) for one in places.memory.glob(f"*/{path.name}"))


def _clear_index(path: Path, record: Record | None, kept: Path, tally: _Tally) -> None:
    """Take our section out of a `MEMORY.md`, beside a host that may write it meanwhile."""
    target = path.resolve()  # a link into somebody's dotfiles stays a link
    for _ in range(_TRIES):
        try:
            seen = target.read_bytes()
        except FileNotFoundError:
            return
        index = _parsed(path, seen)
        if not index.found:
            return
        if _took_out(target, seen, take_out(index), linked=path.is_symlink()):
            if own := _own_lines(index, record):
                _keep(path, own, kept, tally)
            tally.indexes.append(path)
            return
    raise WriteFailed(path, "another program keeps writing it")


def _parsed(path: Path, seen: bytes) -> Index:
    try:
        return parse(seen)
    except NotUtf8Error as error:
        raise WriteFailed(path, str(error)) from error


def _took_out(target: Path, seen: bytes, rest: bytes, *, linked: bool) -> bool:
    """Write what is left of a `MEMORY.md`, unless it was written meanwhile.

    None is left empty, but where a link leads to it.
    """
    if rest not in _BARE or linked:
        mode = target.stat().st_mode & 0o777
        return swap_file_if_still(target, rest, seen=seen, mode=mode)
    if target.read_bytes() != seen:
        return False
    target.unlink()
    return True


def _own_lines(index: Index, record: Record | None) -> bytes:
    """Return the lines of our section that a person worded anew.

    With no record there is nothing to tell them by, so all count.
    """
    written = {
        digest for mark in (record.marks if record else ()) for digest in mark.rules.values()
    }
    own = [one.line for one in index.entries if text_digest(one.text) not in written]
    return "".join(f"{line}\n" for line in own).encode()


def _keep(path: Path, data: bytes, kept: Path, tally: _Tally) -> None:
    """Keep a copy, under the name of the project's folder; another of that name stays."""
    base = kept / path.parent.parent.name / path.name
    copy, number = base, 1
    while copy.exists():
        number += 1
        copy = base.with_name(f"{base.stem}-{number}{base.suffix}")
    swap_file(copy, data)
    tally.copies.append(copy)


@contextlib.contextmanager
def _noting(tally: _Tally) -> Iterator[None]:
    """Note what could not be done and go on with the next."""
    try:
        yield
    except EverestError as error:
        tally.failed.append(error)
    except OSError as error:
        place = Path(str(error.filename or "a file"))
        tally.failed.append(WriteFailed(place, error.strerror or str(error)))
