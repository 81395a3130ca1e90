"""Read the world: transcripts that changed become sessions, turns and episodes, a record a file.

Incremental and idempotent: an append costs its new bytes, a file read twice changes nothing, and
one bad file never stops a night.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from tasks.domain.ids import session_episode_id
from tasks.domain.project import Probe
from tasks.domain.proposals import (
    Action,
    Actor,
    Archive,
    Change,
    Proposal,
    PutEpisode,
    PutProject,
    PutSession,
    Refusal,
    Stored,
)
from tasks.domain.redaction import redact
from tasks.domain.scope import Scope
from tasks.domain.session import AgentTurn, PersonTurn, ReadCounts, Session
from tasks.evidence.claude_code import AGENT, read_session, session_id_of
from tasks.evidence.copies import drop_copied
from tasks.evidence.detectors import detect
from tasks.evidence.episodes import episodes_of, facts_of
from tasks.evidence.reading import Mark, NothingRead, Resume, SessionRead
from tasks.evidence.roots import in_words
from tasks.evidence.states import FileChange, state_of
from tasks.evidence.words import (
    append_evidence,
    evidence_form,
    evidence_path,
    load_evidence,
    replace_evidence,
    turn_form,
)
from tasks.projects import LeftOut, Projects
from tasks.settings import Settings
from tasks.store import gateway, reads
from tasks.store.handle import Store
from tasks.store.reads import Ids, Query, Subject
from tasks.transcripts import Changed, Known, Listing, listing, size_of
from tasks.waypoints import passing


@dataclass(slots=True)
class Ingested:
    """What an ingest came to.

    Attributes:
        files: transcripts found; `changed`: those that were new or had changed.
        counts: what became of their lines; `adds_up` holds.
        sessions: sessions stored; `by_program`, `ignored`: sessions left out, and why.
        episodes: new or changed episodes by kind.
        problems: one sentence for each file or folder that could not be read as it should.
    """

    files: int = 0
    changed: int = 0
    counts: ReadCounts = field(default_factory=ReadCounts)
    sessions: int = 0
    by_program: int = 0
    ignored: int = 0
    episodes: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Return how many lines could not be read."""
        return len(self.counts.failed)


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
        self._copies: set[str] = set()
        self._counted: set[Path] = set()
        self._sessions: set[str] = set()

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
        while self._copies:
            path = Path(self._copies.pop())
            self._counted.add(path)
            if path.exists():
                self.take(Changed(path, FileChange.REWRITTEN, self._known().get(str(path))))

    def take(self, one: Changed) -> None:
        """Read one file and commit what it gives; a file that cannot be read is a problem."""
        seen = _stat(one.path)
        reading = read_session(one.path, resume=self._resume(one))
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

    def _resume(self, one: Changed) -> Resume | None:
        if one.change is not FileChange.APPENDED or not one.known or not one.known["mark"]:
            return None
        path = evidence_path(self._store.places.evidence, AGENT, session_id_of(one.path))
        turns = load_evidence(path, self._evidence_bytes(session_id_of(one.path)))
        return Resume(Mark.from_json(one.known["mark"]), turns)

    def _evidence_bytes(self, session_id: str) -> int:
        rows = self._store.database.rows(
            "SELECT evidence_bytes FROM sessions WHERE agent = ? AND id = ?", [AGENT, session_id]
        )
        return int(rows[0][0]) if rows else 0

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
        left_out = self._projects.leaves_out(project)
        if left_out is not None:
            self._report.ignored += 1
            return left_out, []
        return None, [
            self._proposal(PutProject(project), scope),
            *(self._proposal(change, scope) for change in self._changes(one, reading, scope)),
        ]

    def _changes(self, one: Changed, reading: SessionRead, scope: Scope) -> list[Change]:
        whole = reading.session
        heard = evidence_form(whole, redact)
        session = drop_copied(heard, self._owned_elsewhere(whole))
        if not any(isinstance(turn, PersonTurn) for turn in session.turns):
            return self._emptied(session, scope)
        length = self._keep_evidence(one, reading, session)
        passing("ingest.evidence")
        findings = detect(session)
        facts = facts_of(session, findings, scope, length)
        facts = replace(facts, turn_ids=tuple(turn_id(turn.uuid) for turn in session.turns))
        episodes = episodes_of(session, findings, scope, self._at)
        if session is not heard:  # what was said first after a fork answers a turn before it
            own = _anchors(session)
            found = episodes_of(heard, detect(heard), scope, self._at)
            episodes = [episodes[0], *(one for one in found[1:] if one.anchor in own)]
        self._sessions.add(session.id)
        self._report.sessions = len(self._sessions)
        return [PutSession(facts), *(PutEpisode(episode) for episode in episodes)]

    def _emptied(self, session: Session, scope: Scope) -> list[Change]:
        """Return what takes back a session that was stored before its original was met."""
        known = Query(Subject.SESSIONS, scope, (Ids((session.id,)),))
        if not reads.rows(self._store.database, known):
            return []
        bare = replace(session, turns=())
        length = replace_evidence(evidence_path(self._store.places.evidence, AGENT, session.id), ())
        own = session_episode_id(AGENT, session.id)
        return [
            PutSession(facts_of(bare, detect(bare), scope, length)),
            Archive("episode", own, self._at),
        ]

    def _keep_evidence(self, one: Changed, reading: SessionRead, session: Session) -> int:
        path = evidence_path(self._store.places.evidence, AGENT, session.id)
        if one.change is FileChange.APPENDED and one.known and one.known["mark"]:
            kept = {turn.uuid for turn in session.turns}
            fresh = [turn_form(t, redact) for t in reading.changed if t.uuid in kept]
            return append_evidence(path, fresh)
        return replace_evidence(path, session.turns)

    def _owned_elsewhere(self, session: Session) -> Callable[[str], bool]:
        """Return what tells a turn that an earlier file owns: earlier by start, then by name.

        A later one that was read first holds copies of this session's turns; it is read again.
        """
        ids = {turn_id(turn.uuid): turn.uuid for turn in session.turns}
        rows = self._store.database.rows(
            "SELECT t.turn, s.started, s.path FROM turns t JOIN sessions s "
            "ON s.agent = t.agent AND s.id = t.session_id "
            "WHERE t.turn IN (SELECT unnest(?::VARCHAR[])) AND s.id <> ?",
            [list(ids), session.id],
        )
        mine = (session.started, Path(session.path).name)
        theirs = {ids[turn] for turn, started, path in rows if (started, Path(path).name) < mine}
        self._copies |= {path for _, started, path in rows if (started, Path(path).name) > mine}
        return theirs.__contains__

    def _proposal(self, change: Change, scope: Scope) -> Proposal:
        return Proposal(change, Action.CREATE, scope, Actor.TRANSCRIPT, "ingest")

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
            "counts": _plain(counts),
            "gained": gained,
        }
        receipt = gateway.commit(self._store, proposals, at=self._at, ingest={str(one.path): kept})
        passing("ingest.committed")
        for proposal, decision in zip(proposals, receipt.decisions, strict=True):
            match decision:
                case Stored() if isinstance(proposal.change, PutEpisode):
                    self._report.episodes[proposal.change.episode.kind] += 1
                case Refusal(reason, _):
                    self._report.refused[reason] += 1
                case _:
                    pass

    def _count(self, counts: ReadCounts, one: Changed) -> dict[str, int]:
        """Count the lines that this reading is the first to see: none of a file read again."""
        if one.path in self._counted:
            return {}
        self._counted.add(one.path)
        before = (one.known or {}).get("counts") or _plain(ReadCounts())
        if one.change is not FileChange.APPENDED:
            before = _plain(ReadCounts())
        failed = counts.failed[len(before["failed"]) :]
        gained = {
            "read": counts.read - before["read"],
            "used": counts.used - before["used"],
            "duplicates": counts.duplicates - before["duplicates"],
            "set_aside": counts.set_aside.total() - sum(before["set_aside"].values()),
            "failed": len(failed),
        }
        total = self._report.counts
        total.read += gained["read"]
        total.used += gained["used"]
        total.duplicates += gained["duplicates"]
        total.set_aside.update(counts.set_aside)
        total.set_aside.subtract(before["set_aside"])
        total.failed += failed
        return gained


def turn_id(uuid: str) -> str:
    """Return the digest under which a turn is known: the first 16 hex of SHA-256 of its uuid."""
    return hashlib.sha256(uuid.encode()).hexdigest()[:16]


def _anchors(session: Session) -> set[str]:
    calls = (turn.calls for turn in session.turns if isinstance(turn, AgentTurn))
    return {turn.uuid for turn in session.turns} | {call.id for made in calls for call in made}


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _plain(counts: ReadCounts) -> dict[str, Any]:
    return {
        "read": counts.read,
        "used": counts.used,
        "duplicates": counts.duplicates,
        "set_aside": dict(counts.set_aside),
        "failed": list(counts.failed),
    }
