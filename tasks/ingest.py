"""Read the world: transcripts that changed become sessions, turns and episodes, a record a file.

Incremental and idempotent: an append costs its new bytes, a file read twice changes nothing, and
one bad file never stops a night.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson

from tasks.domain.ids import session_episode_id
from tasks.domain.project import Probe, identify
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
from tasks.domain.units import Project
from tasks.evidence.claude_code import AGENT, read_session, session_id_of
from tasks.evidence.copies import drop_copied
from tasks.evidence.detectors import detect
from tasks.evidence.episodes import episodes_of, facts_of
from tasks.evidence.lines import UNREADABLE, open_transcript
from tasks.evidence.reading import Mark, NothingRead, Resume, SessionRead
from tasks.evidence.roots import find_transcripts, in_words
from tasks.evidence.states import FileChange, FileState, how_changed, state_of
from tasks.evidence.words import (
    append_evidence,
    evidence_form,
    evidence_path,
    load_evidence,
    replace_evidence,
    turn_form,
)
from tasks.settings import Settings
from tasks.store import gateway, reads
from tasks.store.handle import Store
from tasks.store.reads import Ids, Query, Subject

_HEAD: Final = 256 * 1024
_TIMESTAMP: Final = re.compile(rb'"timestamp":\s*"(\d{4}-\d\d-\d\dT[^"]{5,30})"')
IGNORE_FILE: Final = ".everest-ignore"


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
    failed: int = 0
    sessions: int = 0
    by_program: int = 0
    ignored: int = 0
    episodes: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Changed:
    """A transcript to read: what is known of it, and what happened to it since."""

    path: Path
    change: FileChange
    known: dict[str, Any] | None


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
    changed = reader.changed(roots)
    for number, one in enumerate(changed, 1):
        reader.take(one)
        progress(number, len(changed))
    reader.take_again()
    report.failed = len(report.counts.failed)
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
    left_out: dict[str, str] | None = None


class _Reader:
    """One ingest in progress."""

    def __init__(
        self, store: Store, settings: Settings, probe: Probe, at: datetime, report: Ingested
    ) -> None:
        self._store, self._settings, self._probe = store, settings, probe
        self._at, self._report = at, report
        self._cwds, self._projects = _known_projects(store)
        self._copies: set[str] = set()

    def changed(self, roots: Sequence[Path]) -> list[Changed]:
        """Return the files to read, so that the owner of copied turns comes before its copies."""
        known = self._known()
        found: list[Changed] = []
        for root in roots:
            listed = find_transcripts(root)
            self._report.files += len(listed.transcripts)
            self._report.problems += [one.told() for one in listed.set_aside]
            for path in listed.transcripts:
                change = self._change(path, known.get(str(path)))
                if change is not FileChange.UNCHANGED:
                    found.append(Changed(path, change, known.get(str(path))))
        self._report.changed = len(found)
        return sorted(found, key=lambda one: (_first_timestamp(one.path), one.path.name))

    def _known(self) -> dict[str, dict[str, Any]]:
        rows = self._store.database.rows("SELECT path, state FROM files")
        return {path: orjson.loads(state) for path, state in rows}

    def _change(self, path: Path, known: dict[str, Any] | None) -> FileChange:
        if known is None or self._is_watched_again(known.get("left_out")):
            return FileChange.REWRITTEN
        try:
            return how_changed(path, FileState.from_json(known["state"]))
        except OSError:
            return FileChange.REWRITTEN

    def _is_watched_again(self, left_out: dict[str, str] | None) -> bool:
        """Tell whether a file was left out with its project, and the project is not any more."""
        if left_out is None:
            return False
        known = self._projects.get(left_out["project"])
        return not (known and known.ignored) and not _asks_to_be_ignored(Path(left_out["path"]))

    def take_again(self) -> None:
        """Read the copies once more whose turns turned out to be an earlier session's."""
        while self._copies:
            path = Path(self._copies.pop())
            if path.exists():
                self.take(Changed(path, FileChange.REWRITTEN, self._known().get(str(path))))

    def take(self, one: Changed) -> None:
        """Read one file and commit what it gives; a file that cannot be read is a problem."""
        seen = _stat(one.path)
        reading = read_session(one.path, resume=self._resume(one))
        match reading:
            case NothingRead(reason=reason, counts=counts):
                self._count(counts, one)
                self._report.problems.append(f"{in_words(one.path)}: {reason}")
                if counts.read or reason == "the file is empty":
                    self._commit([], one, counts, _Read(reading.bytes_read, 0, None, seen))
            case SessionRead(session=session, mark=mark, cut=cut):
                self._count(session.counts, one)
                if cut:
                    self._report.problems.append(
                        f"{in_words(one.path)}: {cut}; what came before it was read"
                    )
                elif _size(one.path) < session.bytes_read:
                    self._report.problems.append(
                        f"{in_words(one.path)}: it became shorter while it was read; what was read "
                        "is kept, and the next run reads it again"
                    )
                left_out, proposals = self._proposals(one, reading)
                end = _Read(session.bytes_read, reading.lines_read, mark, seen, left_out)
                self._commit(proposals, one, session.counts, end)

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
    ) -> tuple[dict[str, str] | None, list[Proposal]]:
        """Return what a session gives, and its project if that is why it gives nothing."""
        whole = reading.session
        if not whole.by_person:
            self._report.by_program += 1
            return None, []
        project, scope = self._project(whole)
        if project.ignored or _asks_to_be_ignored(Path(project.path)):
            self._report.ignored += 1
            return {"project": project.project_id, "path": project.path}, []
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
        findings = detect(session)
        facts = facts_of(session, findings, scope, length)
        facts = replace(facts, turn_ids=tuple(turn_id(turn.uuid) for turn in session.turns))
        episodes = episodes_of(session, findings, scope, self._at)
        if session is not heard:  # what was said first after a fork answers a turn before it
            own = _anchors(session)
            found = episodes_of(heard, detect(heard), scope, self._at)
            episodes = [episodes[0], *(one for one in found[1:] if one.anchor in own)]
        self._report.sessions += 1
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

    def _project(self, session: Session) -> tuple[Project, Scope]:
        found = identify(session.cwd, self._cwds, self._probe)
        known = self._projects.get(found.project_id)
        project = Project(
            found.project_id,
            known.name if known else found.name,
            known.path if known else found.path,
            (session.cwd,) if session.cwd else (),
            known.first_seen if known else session.started,
            ignored=known.ignored if known else False,
        )
        self._projects.setdefault(found.project_id, project)
        if session.cwd:
            self._cwds.setdefault(session.cwd, found.project_id)
        return project, self._settings.scope(found.project_id)

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
        }
        receipt = gateway.commit(self._store, proposals, at=self._at, ingest={str(one.path): kept})
        for proposal, decision in zip(proposals, receipt.decisions, strict=True):
            match decision:
                case Stored() if isinstance(proposal.change, PutEpisode):
                    self._report.episodes[proposal.change.episode.kind] += 1
                case Refusal(reason, _):
                    self._report.refused[reason] += 1
                case _:
                    pass

    def _count(self, counts: ReadCounts, one: Changed) -> None:
        """Count the lines that this reading was the first to see."""
        before = (one.known or {}).get("counts") or _plain(ReadCounts())
        if one.change is not FileChange.APPENDED:
            before = _plain(ReadCounts())
        total = self._report.counts
        total.read += counts.read - before["read"]
        total.used += counts.used - before["used"]
        total.duplicates += counts.duplicates - before["duplicates"]
        total.set_aside.update(counts.set_aside)
        total.set_aside.subtract(before["set_aside"])
        total.failed += counts.failed[len(before["failed"]) :]


def survey(roots: Sequence[Path]) -> Iterator[tuple[Path, int, int, int]]:
    """Yield, for each root, its transcripts, the folders they are in, and their bytes.

    Raises:
        NoTranscripts: when a root cannot be read.
    """
    for root in roots:
        found = find_transcripts(root).transcripts
        yield root, len(found), len({path.parent for path in found}), sum(map(_size, found))


def turn_id(uuid: str) -> str:
    """Return the digest under which a turn is known: the first 16 hex of SHA-256 of its uuid."""
    return hashlib.sha256(uuid.encode()).hexdigest()[:16]


def _anchors(session: Session) -> set[str]:
    calls = (turn.calls for turn in session.turns if isinstance(turn, AgentTurn))
    return {turn.uuid for turn in session.turns} | {call.id for made in calls for call in made}


def _known_projects(store: Store) -> tuple[dict[str, str], dict[str, Project]]:
    cwds: dict[str, str] = {}
    projects: dict[str, Project] = {}
    for scope in reads.scopes(store.database):
        for row in reads.rows(store.database, Query(Subject.CWDS, scope)):
            cwds[row["cwd"]] = row["project_id"]
        for row in reads.rows(store.database, Query(Subject.PROJECTS, scope)):
            projects[row["project_id"]] = Project(
                row["project_id"],
                row["name"],
                row["path"],
                (),
                row["first_seen"],
                row["ignored"],
            )
    return cwds, projects


def _asks_to_be_ignored(folder: Path) -> bool:
    try:
        return (folder / IGNORE_FILE).exists()
    except OSError:
        return False


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _first_timestamp(path: Path) -> bytes:
    """Return a file's first timestamp as it is written, for the order of reading alone."""
    try:
        with open_transcript(path) as stream:
            found = _TIMESTAMP.search(stream.read(_HEAD))
    except UNREADABLE:
        return b""
    return found[1] if found else b""


def _plain(counts: ReadCounts) -> dict[str, Any]:
    return {
        "read": counts.read,
        "used": counts.used,
        "duplicates": counts.duplicates,
        "set_aside": dict(counts.set_aside),
        "failed": list(counts.failed),
    }


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
