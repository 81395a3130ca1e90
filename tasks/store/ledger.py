"""The ledger: what the gateway decided, one durable line a transaction, and the store's redo log.

Invariant: a record is on the disk before its transaction commits. Only the very last line may be
cut (a crash mid-append) and is then truncated; a damaged one elsewhere stops writing and is named.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from tasks.durable import FILE_MODE, append_line, make_folder, sync, sync_folder
from tasks.errors import LedgerBroken, StoreNewer, WriteFailed
from tasks.segments import opened, segments
from tasks.waypoints import passing

VERSION: Final = 1
SEGMENT_BYTES: Final = 64 * 1024 * 1024
_CRC: Final = b',"crc":"%08x"}\n'
_CRC_LENGTH: Final = len(_CRC % 0)
_HEAD: Final = re.compile(rb'\{"v":(\d+),"tx":(\d+),')

Op = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One transaction.

    Attributes:
        ops: what to write, each with its `op` name.
        journal: journal segment -> bytes folded up to this record.
        ingest: transcript path -> its reading state.
        audit: one row a mutation, digests only, chained by hash.
    """

    tx: int
    at: str
    ops: list[Op]
    journal: dict[str, int] = field(default_factory=dict)
    ingest: dict[str, Any] = field(default_factory=dict)
    audit: list[dict[str, Any]] = field(default_factory=list)

    def line(self) -> bytes:
        """Return the record as its ledger line, with the CRC-32 of all before it at the end."""
        body = orjson.dumps(
            {
                "v": VERSION,
                "tx": self.tx,
                "at": self.at,
                "ops": self.ops,
                "journal": self.journal,
                "ingest": self.ingest,
                "audit": self.audit,
            }
        )[:-1]
        return body + _CRC % zlib.crc32(body)


@dataclass(frozen=True, slots=True)
class Kept:
    """A record read back, with the SHA-256 of its line, which the store keeps of its last one."""

    record: Record
    digest: str


class Ledger:
    """The ledger's folder of numbered segments, opened for its one writer.

    Raises:
        HomeUnreadable: on opening, when the folder or a segment cannot be read.
        LedgerBroken: on opening, when a record other than the last is damaged.
        StoreNewer: on opening, when a newer Everest wrote it; nothing is changed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = make_folder(folder)
        self.last_tx = 0
        self.last_digest = ""
        last = deque((line for _, line in self._lines(mend_end=True)), maxlen=1)
        if last:
            self.last_tx, self.last_digest = _tx_of(last[0]), digest_of_line(last[0])

    def append(self, record: Record) -> str:
        """Append a record durably; return the digest of its line.

        Raises:
            WriteFailed: when the disk refuses; no part of the record is left.
        """
        line = record.line()
        segment = self._segment(len(line))
        before = segment.stat().st_size if segment.exists() else None
        passing("ledger.appending")
        try:
            append_line(segment, line)
        except WriteFailed:
            _truncate(segment, before or 0)
            raise
        if before is None:
            sync_folder(self.folder)
        passing("ledger.appended")
        self.last_tx, self.last_digest = record.tx, digest_of_line(line)
        return self.last_digest

    def records(self, *, after: int = 0) -> Iterator[Kept]:
        """Yield the records with a greater tx than `after`, oldest first.

        Segments that end before are not read again: opening checked every line of theirs.

        Raises:
            LedgerBroken: at a damaged record.
        """
        for _, line in self._lines(after=after):
            if _tx_of(line) > after:
                yield Kept(_record(line), digest_of_line(line))

    def _lines(self, *, after: int = 0, mend_end: bool = False) -> Iterator[tuple[Path, bytes]]:
        """Yield the lines of the segments that reach past `after`, each checked.

        A cut last one is truncated first if `mend_end`.
        """
        found = segments(self.folder)
        begins = (n for n, segment in enumerate(found) if 0 < _first_tx(segment) <= after)
        for segment in found[max(begins, default=0) :]:
            for line in _read(segment, mend=mend_end and segment == found[-1]):
                yield segment, line

    def _segment(self, more: int) -> Path:
        found = segments(self.folder)
        if not found:
            return self.folder / "000001.jsonl"
        last = found[-1]
        if last.stat().st_size + more <= SEGMENT_BYTES:
            return last
        return self.folder / f"{int(last.stem) + 1:06}.jsonl"


def salvaged(folder: Path) -> Iterator[Record | None]:
    """Yield every record that can be read, oldest first, and None for each line that cannot.

    Nothing is mended: this is for a ledger that may be damaged anywhere.

    Raises:
        HomeUnreadable: at what cannot be read at all.
    """
    for segment in segments(folder):
        with opened(segment) as file:
            for line in file:
                try:
                    yield None if _damage(line) else _record(line)
                except (ValueError, KeyError, TypeError):
                    yield None


def digest_of_line(line: bytes) -> str:
    """Return the digest under which the store remembers a record."""
    return hashlib.sha256(line).hexdigest()


def _read(path: Path, *, mend: bool) -> Iterator[bytes]:
    good = 0
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            reason = _damage(line)
            if reason is None:
                good += len(line)
                _require_known(path, line)
                yield line
            elif mend and not file.readline():
                _truncate(path, good)
                return
            else:
                raise LedgerBroken(path, number, reason)


def _first_tx(path: Path) -> int:
    """Return the number of a segment's first record; 0 when it has none that can be read."""
    with opened(path) as file:
        return _tx_of(file.read(64))


def _damage(line: bytes) -> str | None:
    if not line.endswith(b"\n"):
        return "the record is cut off"
    if _CRC % zlib.crc32(line[:-_CRC_LENGTH]) != line[-_CRC_LENGTH:]:
        return "the record does not match its checksum"
    return None


def _require_known(path: Path, line: bytes) -> None:
    found = _HEAD.match(line)
    if found is None or int(found[1]) > VERSION:
        raise StoreNewer(path, int(found[1]) if found else VERSION + 1, VERSION)


def _tx_of(line: bytes) -> int:
    """Return a record's number without parsing the record: it stands at the head of its line."""
    found = _HEAD.match(line)
    return int(found[2]) if found else 0


def _record(line: bytes) -> Record:
    parsed = orjson.loads(line)
    return Record(
        parsed["tx"],
        parsed["at"],
        parsed["ops"],
        parsed["journal"],
        parsed["ingest"],
        parsed["audit"],
    )


def _truncate(path: Path, length: int) -> None:
    descriptor = os.open(path, os.O_WRONLY, FILE_MODE)
    try:
        os.ftruncate(descriptor, length)
        passing("ledger.truncated")
        sync(descriptor)
    finally:
        os.close(descriptor)
