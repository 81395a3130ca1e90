"""What the ledger's records after one came to: a report tells of all nights, killed ones too.

Counted from the records alone, so it is the same however often the work was broken off.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tasks.domain.clock import instant
from tasks.domain.report import Ingested
from tasks.domain.units import CONSOLIDATED, EpisodeKind
from tasks.store.ledger import Ledger, Record

_KINDS: Final = (*CONSOLIDATED, EpisodeKind.ENVIRONMENT, EpisodeKind.NOTE, EpisodeKind.SESSION)


@dataclass(frozen=True, slots=True)
class Since:
    """What happened since a record.

    Attributes:
        instants: the instants of the runs that wrote, as each run's records and rows carry it.
        read: what was read of transcripts.
        refused: writes that were refused for the first time, counted by reason.
    """

    instants: frozenset[datetime]
    read: Ingested
    refused: tuple[tuple[str, int], ...]


def since(ledger: Ledger, tx: int, *, files: int) -> Since:
    """Return what the records after `tx` came to; `files` is how many transcripts there are."""
    instants: set[datetime] = set()
    tally = _Tally()
    for kept in ledger.records(after=tx):
        instants.add(instant(kept.record.at))
        tally.add(kept.record)
    return Since(frozenset(instants), tally.report(files), tuple(sorted(tally.refused.items())))


class _Tally:
    """What was read, in the making; a session or an episode counts once however often it grew."""

    def __init__(self) -> None:
        self.refused: Counter[str] = Counter()
        self._paths: set[str] = set()
        self._lines: Counter[str] = Counter()
        self._sessions: set[tuple[str, str]] = set()
        self._episodes: dict[str, str] = {}

    def add(self, record: Record) -> None:
        self.refused.update(op["reason"] for op in record.ops if op["op"] == "refusal")
        for path, state in record.ingest.items():
            if "gained" in state:  # a transcript; the relay's files are none
                self._paths.add(path)
                self._lines.update(state["gained"])
        for op in record.ops if record.ingest else ():
            self._add_op(op)

    def _add_op(self, op: dict[str, Any]) -> None:
        if op["op"] == "session" and op["turns"]:
            self._sessions.add((op["agent"], op["id"]))
        elif op["op"] == "episode":
            self._episodes[op["id"]] = op["kind"]

    def report(self, files: int) -> Ingested:
        made = Counter(self._episodes.values())
        return Ingested(
            files=files,
            changed=len(self._paths),
            read=self._lines["read"],
            used=self._lines["used"],
            set_aside=self._lines["set_aside"],
            duplicates=self._lines["duplicates"],
            failed=self._lines["failed"],
            sessions=len(self._sessions),
            episodes=tuple((kind.value, made[kind.value]) for kind in _KINDS if made[kind.value]),
        )
