"""What was read of transcripts and waits to be committed: many files as one transaction.

A transaction costs a few dozen statements however little it holds, which took most of a first
ingest. Invariant: what depends on what waits asks for it to be committed before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from tasks.domain.proposals import Proposal, PutEpisode, PutSession, Refusal, Stored
from tasks.ingested import Ingested
from tasks.store import gateway
from tasks.store.handle import Store
from tasks.waypoints import passing

_MOST_FILES: Final = 64
_MOST_PROPOSALS: Final = 2000


@dataclass(slots=True)
class Waiting:
    """The readings since the last commit.

    Attributes:
        states: transcript path -> what to keep of how it was read.
        sessions: ids of the sessions among them; `turns`: ids of their turns.
    """

    store: Store
    at: datetime
    report: Ingested
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    proposals: list[Proposal] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    turns: set[str] = field(default_factory=set)

    def add(self, path: Path, state: dict[str, Any], proposals: Sequence[Proposal]) -> None:
        """Add what one file gave; commit when enough waits.

        Raises:
            StoreError, WriteFailed: when the store or the disk gives out.
        """
        self.states[str(path)] = state
        self.proposals += proposals
        for proposal in proposals:
            if isinstance(proposal.change, PutSession):
                self.sessions.add(proposal.change.session.id)
                self.turns.update(proposal.change.session.turn_ids)
        if len(self.states) >= _MOST_FILES or len(self.proposals) >= _MOST_PROPOSALS:
            self.commit()

    def commit_session(self, session_id: str) -> None:
        """Commit what waits if the session is among it."""
        if session_id in self.sessions:
            self.commit()

    def commit_turns(self, turn_ids: Iterable[str]) -> None:
        """Commit what waits if one of the turns is among it."""
        if not self.turns.isdisjoint(turn_ids):
            self.commit()

    def commit(self) -> None:
        """Commit all that waits, and count what became of it.

        Raises:
            StoreError, WriteFailed: when the store or the disk gives out.
        """
        if not self.states:
            return
        states, proposals = self.states, self.proposals
        self.states, self.proposals = {}, []
        self.sessions.clear()
        self.turns.clear()
        receipt = gateway.commit(self.store, proposals, at=self.at, ingest=states)
        passing("ingest.committed")
        for proposal, decision in zip(proposals, receipt.decisions, strict=True):
            match decision:
                case Stored() if isinstance(proposal.change, PutEpisode):
                    self.report.episodes[proposal.change.episode.kind] += 1
                case Refusal(reason, _):
                    self.report.refused[reason] += 1
                case _:
                    pass
