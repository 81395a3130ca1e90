"""The file of a backup: a gzipped tar whose first member lists every other, by size and SHA-256.

Invariant: nothing is unpacked that the list does not name, under another name than it says or
beyond the bytes that it says; a path that leaves its folder is in no list that is read.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

import orjson

from tasks.durable import FILE_MODE, make_folder, sync
from tasks.errors import BackupUnusable, WriteFailed

VERSION: Final = 1
LIST: Final = "everest-backup.json"
TAKEN: Final = (
    "ledger",
    "journal",
    "evidence",
    "keys",
    "relay",
    "inbox",
    "share",
    "memory",
    "written.json",
    "vetoed.json",
    "model.json",
    "lessons.jsonl",
    "morning.md",
)
"""What of a home a backup holds. The store and the view are made again from the ledger."""

_CHUNK: Final = 1024 * 1024
_LIST_BYTES: Final = 256 * 1024 * 1024
_RATIO: Final = 300
"""How many times its own length an archive may claim to unpack to; our logs reach some twenty."""
_SMALL: Final = 16 * 1024 * 1024
_UNREADABLE: Final = (tarfile.TarError, EOFError, zlib.error, OSError, ValueError)

Counted = Callable[[int, int], None]


def uncounted(_done: int, _total: int) -> None:
    """Take no notice of how far an archive is."""


@dataclass(frozen=True, slots=True)
class Item:
    """One file of a backup: its path under the home, its length in bytes and its SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Contents:
    """The list of a backup.

    Attributes:
        made: when it was taken, ISO 8601.
        home: the home it was taken of; files that were written there are named by whole paths.
        digest: the store's; "" when the store was not read, as before a change of its schema.
        last_tx: number of the ledger's last record.
    """

    made: str
    home: str
    digest: str
    last_tx: int
    files: tuple[Item, ...]

    @property
    def size(self) -> int:
        """Return how many bytes the files have together."""
        return sum(item.size for item in self.files)

    def dump(self) -> bytes:
        """Return the list's bytes."""
        return orjson.dumps({"v": VERSION, **asdict(self)}, option=orjson.OPT_INDENT_2)


@dataclass(frozen=True, slots=True)
class Portion:
    """The first `size` bytes of a file, to be kept as `path`."""

    path: str
    source: Path
    size: int


def sealed(portions: Iterable[Portion]) -> tuple[Item, ...]:
    """Return the items of a list: each portion read once for its SHA-256."""
    return tuple(Item(one.path, one.size, _hash_of(one)) for one in portions)


def pack(contents: Contents, portions: Iterable[Portion], out: IO[bytes], counted: Counted) -> None:
    """Write an archive of the portions, in the order of the list.

    Raises:
        OSError: when the disk refuses.
    """
    with (
        gzip.GzipFile("", "wb", compresslevel=5, fileobj=out, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        data = contents.dump()
        tar.addfile(_member(LIST, len(data)), io.BytesIO(data))
        for number, one in enumerate(portions, 1):
            with one.source.open("rb") as file:
                tar.addfile(_member(one.path, one.size), file)
            counted(number, len(contents.files))


def contents_of(archive: Path, counted: Counted = uncounted) -> Contents:
    """Return an archive's list after every byte of it was read and compared.

    Raises:
        BackupUnusable: when it is damaged, cut, foreign, newer or hostile; what is wrong is named.
    """
    with _opened(archive) as (contents, members):
        for number, (item, chunks) in enumerate(members, 1):
            _drain(archive, item, chunks)
            counted(number, len(contents.files))
    return contents


def unpack(archive: Path, into: Path, counted: Counted = uncounted) -> Contents:
    """Write an archive's files under a folder of their own, compared as they are written.

    Raises:
        BackupUnusable: as `contents_of`; what is unpacked so far is the caller's to remove.
        WriteFailed: when the disk refuses.
    """
    make_folder(into)
    with _opened(archive) as (contents, members):
        _require_room(into, contents)
        for number, (item, chunks) in enumerate(members, 1):
            _write(archive, item, chunks, into / item.path)
            counted(number, len(contents.files))
    return contents


@contextmanager
def _opened(archive: Path) -> Iterator[tuple[Contents, Iterator[tuple[Item, Iterator[bytes]]]]]:
    with (
        _as_archive(archive, "it is no backup of Everest's"),
        archive.open("rb") as file,
        gzip.GzipFile(fileobj=file, mode="rb") as zipped,
        tarfile.open(fileobj=zipped, mode="r|") as tar,
    ):
        contents = _list(archive, tar)
        yield contents, _members(archive, tar, contents)
        _require_end(archive, zipped)


def _list(archive: Path, tar: tarfile.TarFile) -> Contents:
    first = tar.next()
    if first is None or first.name != LIST or not _is_plain(first) or first.size > _LIST_BYTES:
        raise BackupUnusable(archive, "it is no backup of Everest's")
    try:
        found = orjson.loads(b"".join(_chunks(tar, first)))
        newer = found["v"] > VERSION
        contents = None if newer else _parsed(found)
    except (KeyError, TypeError, ValueError) as error:
        raise BackupUnusable(archive, "its list cannot be read") from error
    if contents is None:
        why = f"it was made by a newer Everest (format {found['v']}, this one knows {VERSION})"
        raise BackupUnusable(archive, why)
    _require_sane(archive, contents)
    return contents


def _parsed(found: dict[str, Any]) -> Contents:
    items = (Item(str(i["path"]), int(i["size"]), str(i["sha256"])) for i in found["files"])
    return Contents(
        str(found["made"]),
        str(found["home"]),
        str(found["digest"]),
        int(found["last_tx"]),
        tuple(items),
    )


def _require_sane(archive: Path, contents: Contents) -> None:
    """Refuse a list that names places it may not, one place twice, or more than can be in it."""
    taken: set[str] = set()
    for item in contents.files:
        parts = item.path.split("/")
        outside = item.path.startswith("/") or not {"", ".", ".."}.isdisjoint(parts)
        if outside or parts[0] not in TAKEN or item.size < 0:
            raise BackupUnusable(archive, f"it names a place it may not: {item.path!r}")
        if item.path in taken:
            raise BackupUnusable(archive, f"it names {item.path!r} twice")
        taken.add(item.path)
    above = {str(parent) for path in taken for parent in PurePosixPath(path).parents}
    if not above.isdisjoint(taken):
        raise BackupUnusable(archive, "it names a file as a folder too")
    if contents.size > max(_SMALL, _RATIO * archive.stat().st_size):
        why = f"it claims to unpack to {contents.size} bytes, which no backup of its length does"
        raise BackupUnusable(archive, why)


def _members(
    archive: Path, tar: tarfile.TarFile, contents: Contents
) -> Iterator[tuple[Item, Iterator[bytes]]]:
    for item in contents.files:
        with _as_archive(archive, f"it is damaged or cut at {item.path}"):
            member = tar.next()
            if member is None:
                raise BackupUnusable(archive, f"it ends before {item.path}")
            if member.name != item.path or member.size != item.size or not _is_plain(member):
                why = f"it holds {member.name!r} where its list says {item.path!r}"
                raise BackupUnusable(archive, why)
            yield item, _chunks(tar, member)
    with _as_archive(archive, "it is damaged or cut at its end"):
        if tar.next() is not None:
            raise BackupUnusable(archive, "it holds more than its list says")


def _is_plain(member: tarfile.TarInfo) -> bool:
    return member.isreg() and not member.issparse()


def _chunks(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    file = tar.extractfile(member)
    while file is not None and (chunk := file.read(_CHUNK)):
        yield chunk


def _drain(archive: Path, item: Item, chunks: Iterable[bytes]) -> None:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    if digest.hexdigest() != item.sha256:
        raise BackupUnusable(archive, f"{item.path} in it is not what was put there")


def _write(archive: Path, item: Item, chunks: Iterable[bytes], path: Path) -> None:
    make_folder(path.parent)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error
    with os.fdopen(descriptor, "wb") as file:
        _drain(archive, item, _written(path, file, chunks))


def _written(path: Path, file: IO[bytes], chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks as they are written, the file on the disk after the last."""
    for chunk in chunks:
        with _as_write(path):
            file.write(chunk)
        yield chunk
    with _as_write(path):
        file.flush()
        sync(file.fileno())


def _require_room(folder: Path, contents: Contents) -> None:
    """Refuse early what would fill the disk: the files, and as much for the store and the view."""
    needed, free = 2 * contents.size, shutil.disk_usage(folder).free
    if free < needed:
        raise WriteFailed(folder, f"{needed} bytes are needed there and {free} are free")


def _require_end(archive: Path, zipped: gzip.GzipFile) -> None:
    """Read to the very end, where gzip keeps its own sum; only padding may stand there."""
    while rest := zipped.read(_CHUNK):
        if rest.strip(b"\0"):
            raise BackupUnusable(archive, "it holds more than its list says")


@contextmanager
def _as_archive(archive: Path, why: str) -> Iterator[None]:
    """Name what cannot be read of an archive; what the disk refuses has its own name already."""
    try:
        yield
    except FileNotFoundError as error:
        raise BackupUnusable(archive, "it is not there") from error
    except EOFError as error:
        raise BackupUnusable(archive, "it is cut off; copy it again, or use another") from error
    except _UNREADABLE as error:
        raise BackupUnusable(archive, f"{why} ({error})") from error


@contextmanager
def _as_write(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteFailed(path, error.strerror or str(error)) from error


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, FILE_MODE
    return member


def _hash_of(one: Portion) -> str:
    digest, rest = hashlib.sha256(), one.size
    with one.source.open("rb") as file:
        while rest and (chunk := file.read(min(_CHUNK, rest))):
            digest.update(chunk)
            rest -= len(chunk)
    if rest:
        raise WriteFailed(one.source, "it became shorter while it was read")
    return digest.hexdigest()
