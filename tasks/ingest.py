"""Read the world: transcripts that changed become sessions, turns and episodes, a record a file.

Incremental and idempotent: an append costs its new bytes and its session's kept words, a file read
twice changes nothing, and one bad file never stops a night.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import orjson

from tasks.domain.project import Probe
from tasks.domain.proposals import (
    Action,
    Actor,
    Change,
    Proposal,
    PutProject,
)
from tasks.domain.scope import Scope
from tasks.domain.session import ReadCounts
from tasks.evidence.claude_code import read_session
from tasks.evidence.reading import Mark, NothingRead, SessionRead
from tasks.evidence.roots import in_words
from tasks.evidence.states import FileChange, state_of
from tasks.ingested import Ingested, plain
from tasks.projects import LeftOut, Projects, leaves_out
from tasks.sessions import Sessions
from tasks.settings import Settings
from tasks.store import gateway
from tasks.store.handle import Store
from tasks.transcripts import Changed, Known, Listing, listing, size_of
from tasks.waypoints import passing

__all__ = ["Ingested", "ingest"]


def ingest(  # noqa: PLR0913  what to read, into what, and by whose clock
    store: Store,
    roots: Sequence[Path],
    *,
    settings: Settings,
    probe: Probe,
    at: datetime,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Ingested:
    """Read every transcript under `roots` that changed since it was last read.

    Args:
        store: the open store.
        roots: folders of transcripts.
        settings: for the owner's scope.
        probe: what the disk says of a working directory.
        at: now, the record time of what is new.
        progress: told how many of the changed files are done.

    Raises:
        NoTranscripts: when a root cannot be read at all.
        StoreError, WriteFailed: when the store or the disk gives out; what was read stays.
    """
    report = Ingested()
    reader = _Reader(store, settings, probe, at, report)
    changed = reader.listed(roots).changed
    for number, one in enumerate(changed, 1):
        reader.take(one)
        progress(number, len(changed))
    reader.take_again()
    return report


@dataclass(frozen=True, slots=True)
class _Read:
    """How far a file was read, and where a later reading may go on.

    Attributes:
        seen: size, time and inode of the file before it was read.
        left_out: the ignored project of its session.
    """

    bytes_read: int
    lines_read: int
    mark: Mark | None
    seen: tuple[int, int, int] | None
    left_out: LeftOut | None = None


class _Reader:
    """One ingest in progress."""

    def __init__(
        self, store: Store, settings: Settings, probe: Probe, at: datetime, report: Ingested
    ) -> None:
        self._store, self._settings = store, settings
        self._at, self._report = at, report
        self._projects = Projects(store, probe)
        self._sessions = Sessions(store, at)
        self._counted: set[Path] = set()

    def listed(self, roots: Sequence[Path]) -> Listing:
        """Return the files to read."""
        found = listing(
            roots,
            self._known(),
            is_wanted_again=lambda known: self._projects.is_watched_again(known.get("left_out")),
        )
        self._report.files, self._report.changed = found.files, len(found.changed)
        self._report.problems += found.problems
        return found

    def _known(self) -> dict[str, Known]:
        rows = self._store.database.rows("SELECT path, state FROM files")
        return {path: orjson.loads(state) for path, state in rows}

    def take_again(self) -> None:
        """Read the copies once more whose turns turned out to be an earlier session's."""
        copies = self._sessions.copies
        while copies:
            copies.remove(first := min(copies))
            path = Path(first)
            self._counted.add(path)
            if path.exists():
                self.take(Changed(path, FileChange.REWRITTEN, self._known().get(first)))

    def take(self, one: Changed) -> None:
        """Read one file and commit what it gives; a file that cannot be read is a problem."""
        seen = _stat(one.path)
        reading = read_session(one.path, resume=self._sessions.resume(one))
        match reading:
            case NothingRead(reason=reason, counts=counts):
                gained = self._count(counts, one)
                self._report.problems.append(f"{in_words(one.path)}: {reason}")
                if counts.read or reason == "the file is empty":
                    end = _Read(reading.bytes_read, 0, None, seen)
                    self._commit([], one, counts, gained, end)
            case SessionRead(session=session, mark=mark, cut=cut):
                gained = self._count(session.counts, one)
                if cut:
                    self._report.problems.append(
                        f"{in_words(one.path)}: {cut}; what came before it was read"
                    )
                elif size_of(one.path) < session.bytes_read:
                    self._report.problems.append(
                        f"{in_words(one.path)}: it became shorter while it was read; what was read "
                        "is kept, and the next run reads it again"
                    )
                left_out, proposals = self._proposals(one, reading)
                end = _Read(session.bytes_read, reading.lines_read, mark, seen, left_out)
                self._commit(proposals, one, session.counts, gained, end)

    def _proposals(
        self, one: Changed, reading: SessionRead
    ) -> tuple[LeftOut | None, list[Proposal]]:
        """Return what a session gives, and its project if that is why it gives nothing."""
        whole = reading.session
        if not whole.by_person:
            self._report.by_program += 1
            return None, []
        project = self._projects.of(whole)
        scope = self._settings.scope(project.project_id)
        left_out = leaves_out(project)
        if left_out is not None:
            self._report.ignored += 1
            return left_out, []
        changes = self._sessions.changes(one, reading, scope)
        self._report.sessions = len(self._sessions.stored)
        return None, [_proposal(change, scope) for change in (PutProject(project), *changes)]

    def _commit(
        self,
        proposals: list[Proposal],
        one: Changed,
        counts: ReadCounts,
        gained: dict[str, int],
        end: _Read,
    ) -> None:
        try:
            state = state_of(one.path, end.bytes_read, end.lines_read)
        except OSError as error:
            self._report.problems.append(f"{in_words(one.path)}: {error.strerror or error}")
            return
        if end.seen is not None:  # what was written while we read is still to be read
            size, mtime_ns, inode = end.seen
            state = replace(state, size=size, mtime_ns=mtime_ns, inode=inode)
        kept = {
            "state": state.to_json(),
            "left_out": end.left_out,
            "mark": end.mark.to_json() if end.mark else None,
            "counts": plain(counts),
            "gained": gained,
        }
        receipt = gateway.commit(self._store, proposals, at=self._at, ingest={str(one.path): kept})
        passing("ingest.committed")
        self._report.decided(proposals, receipt.decisions)

    def _count(self, counts: ReadCounts, one: Changed) -> dict[str, int]:
        """Count the lines that this reading is the first to see: none of a file read again."""
        if one.path in self._counted:
            return {}
        self._counted.add(one.path)
        before = one.known if one.change is FileChange.APPENDED else None
        return self._report.gain(counts, (before or {}).get("counts"))


def _proposal(change: Change, scope: Scope) -> Proposal:
    return Proposal(change, Action.CREATE, scope, Actor.TRANSCRIPT, "ingest")


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
