"""From what was read of a transcript to what the store is to hold of its session.

Invariant: a session's words are on the disk as evidence before anything of it is proposed, and a
turn that stands in several files belongs to one of them, whichever is read first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from tasks.domain.ids import session_episode_id
from tasks.domain.proposals import Archive, Change, PutEpisode, PutSession
from tasks.domain.redaction import redact
from tasks.domain.scope import Scope
from tasks.domain.session import AgentTurn, PersonTurn, Session
from tasks.evidence.claude_code import AGENT, session_id_of
from tasks.evidence.copies import drop_copied
from tasks.evidence.detectors import detect
from tasks.evidence.episodes import episodes_of, facts_of
from tasks.evidence.reading import Mark, Resume, SessionRead
from tasks.evidence.states import FileChange
from tasks.evidence.words import (
    append_evidence,
    evidence_form,
    evidence_path,
    load_evidence,
    replace_evidence,
)
from tasks.store import reads
from tasks.store.handle import Store
from tasks.store.reads import Ids, Query, Subject
from tasks.transcripts import Changed
from tasks.waypoints import passing


@dataclass(slots=True)
class Sessions:
    """The sessions of one ingest.

    Attributes:
        stored: ids of those that were proposed.
        copies: paths of files that were read before the one whose turns they copy.
    """

    store: Store
    at: datetime
    stored: set[str] = field(default_factory=set)
    copies: set[str] = field(default_factory=set)

    def resume(self, one: Changed) -> Resume | None:
        """Return where the reading of a file that only grew goes on; None to read all of it.

        Raises:
            WriteFailed: when what a crash left behind cannot be cut off.
        """
        mark = _mark(one)
        if mark is None:
            return None
        session_id = session_id_of(one.path)
        path = evidence_path(self.store.places.evidence, AGENT, session_id)
        return Resume(mark, load_evidence(path, self._evidence_bytes(session_id)))

    def changes(self, one: Changed, reading: SessionRead, scope: Scope) -> list[Change]:
        """Return what a session changes in the store, its evidence written before.

        Raises:
            WriteFailed: when the disk refuses.
        """
        whole = reading.session
        heard = evidence_form(whole, redact, fresh=reading.changed)
        session = drop_copied(heard, self._owned_elsewhere(whole))
        if not any(isinstance(turn, PersonTurn) for turn in session.turns):
            return self._emptied(session, scope)
        length = self._keep_evidence(one, reading, session)
        passing("ingest.evidence")
        findings = detect(session)
        facts = facts_of(session, findings, scope, length)
        facts = replace(facts, turn_ids=tuple(turn_id(turn.uuid) for turn in session.turns))
        episodes = episodes_of(session, findings, scope, self.at)
        if session is not heard:  # what was said first after a fork answers a turn before it
            own = _anchors(session)
            found = episodes_of(heard, detect(heard), scope, self.at)
            episodes = [episodes[0], *(one for one in found[1:] if one.anchor in own)]
        self.stored.add(session.id)
        return [PutSession(facts), *(PutEpisode(episode) for episode in episodes)]

    def _evidence_bytes(self, session_id: str) -> int:
        rows = self.store.database.rows(
            "SELECT evidence_bytes FROM sessions WHERE agent = ? AND id = ?", [AGENT, session_id]
        )
        return int(rows[0][0]) if rows else 0

    def _owners(self, turn_ids: list[str]) -> list[tuple[str, datetime, str]]:
        """Return each turn with the start and the path of the session that holds it."""
        return self.store.database.rows(
            "SELECT t.turn, s.started, s.path FROM turns t JOIN sessions s "
            "ON s.agent = t.agent AND s.id = t.session_id "
            "WHERE t.turn IN (SELECT unnest(?::VARCHAR[]))",
            [turn_ids],
        )

    def _emptied(self, session: Session, scope: Scope) -> list[Change]:
        """Return what takes back a session that was stored before its original was met."""
        known = Query(Subject.SESSIONS, scope, (Ids((session.id,)),))
        if not reads.rows(self.store.database, known):
            return []
        bare = replace(session, turns=())
        length = replace_evidence(evidence_path(self.store.places.evidence, AGENT, session.id), ())
        own = session_episode_id(AGENT, session.id)
        return [
            PutSession(facts_of(bare, detect(bare), scope, length)),
            Archive("episode", own, self.at),
        ]

    def _keep_evidence(self, one: Changed, reading: SessionRead, session: Session) -> int:
        path = evidence_path(self.store.places.evidence, AGENT, session.id)
        if _mark(one) is None:
            return replace_evidence(path, session.turns)
        fresh = {turn.uuid for turn in reading.changed}
        return append_evidence(path, [turn for turn in session.turns if turn.uuid in fresh])

    def _owned_elsewhere(self, session: Session) -> Callable[[str], bool]:
        """Return what tells a turn that an earlier file owns: earlier by start, then by name.

        A later one that was read first holds copies of this session's turns; it is read again.
        """
        ids = {turn_id(turn.uuid): turn.uuid for turn in session.turns}
        known = self.store.database.rows(
            "SELECT turn FROM turns "
            "WHERE turn IN (SELECT unnest(?::VARCHAR[])) AND session_id <> ?",
            [list(ids), session.id],
        )
        rows = self._owners([turn for (turn,) in known]) if known else []
        mine = (session.started, Path(session.path).name)
        theirs = {ids[turn] for turn, started, path in rows if (started, Path(path).name) < mine}
        self.copies |= {path for _, started, path in rows if (started, Path(path).name) > mine}
        return theirs.__contains__


def turn_id(uuid: str) -> str:
    """Return the digest under which a turn is known: the first 16 hex of SHA-256 of its uuid."""
    return hashlib.sha256(uuid.encode()).hexdigest()[:16]


def _mark(one: Changed) -> Mark | None:
    """Return where a file that only grew was left; None where it is to be read whole."""
    if one.change is not FileChange.APPENDED or not one.known or not one.known["mark"]:
        return None
    return Mark.from_json(one.known["mark"])


def _anchors(session: Session) -> set[str]:
    calls = (turn.calls for turn in session.turns if isinstance(turn, AgentTurn))
    return {turn.uuid for turn in session.turns} | {call.id for made in calls for call in made}
