"""A segment of the journal that one long-lived process owns, and holds a lock on while it lives.

Invariant: as with the shared segment, a line is durable when it is acknowledged, and lies in a
segment of the journal as it is then: after a restore, or another day, a new one is begun.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from tasks.domain.proposals import Actor
from tasks.domain.scope import Scope
from tasks.durable import FILE_MODE, after_a_cut, append_line, locked, make_folder, sync_folder
from tasks.errors import WriteFailed
from tasks.store.journal import Line, encoded, new_line
from tasks.waypoints import passing


class OwnSegment:
    """The appender of one process; made without touching the disk, and safe between threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._alone = Lock()
        self._path: Path | None = None
        self._descriptor = -1

    def __call__(
        self, op: str, body: Mapping[str, Any], *, scope: Scope, actor: Actor, at: datetime
    ) -> Line:
        """Append one line; return it once durable.

        Raises:
            WriteFailed: when the disk refuses; nothing is acknowledged then.
        """
        line = new_line(op, body, scope=scope, actor=actor, at=at)
        make_folder(self._folder)
        with self._alone, locked(self._folder / ".lock", fcntl.LOCK_SH):
            passing("journal.locked")
            segment = self._segment(at)
            append_line(segment, after_a_cut(segment) + encoded(line))
            passing("journal.appended")
        passing("journal.acknowledged", op)
        return line

    def close(self) -> None:
        """Let go of the segment: from then on nobody writes to it."""
        with self._alone:
            self._let_go()

    def _segment(self, at: datetime) -> Path:
        """Return the segment to write to; the caller holds back whoever would move it."""
        day = f"{at.astimezone(UTC):%Y-%m-%d}"
        if (
            self._path is not None
            and self._path.name.startswith(day)
            and self._is_still(self._path)
        ):
            return self._path
        self._let_go()
        stamp = f"{at.astimezone(UTC):%Y-%m-%dT%H%M%SZ}"
        self._path = self._opened(self._folder / f"{stamp}-{secrets.token_hex(4)}.jsonl")
        return self._path

    def _is_still(self, path: Path) -> bool:
        """Tell whether the journal still has the file that we hold under its name."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), path.stat())
        except FileNotFoundError:
            return False

    def _opened(self, path: Path) -> Path:
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(path, flags, FILE_MODE)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            sync_folder(path.parent)
        except OSError as error:
            self._let_go()
            raise WriteFailed(path, error.strerror or str(error)) from error
        return path

    def _let_go(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._path, self._descriptor = None, -1
