"""What reading one transcript gives, and what must be remembered so that an append costs little.

Invariant: a mark stands right after a record that ended with the person's words, where nothing is
open, so reading on from it gives the turns that one whole reading gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tasks.domain.clock import instant, iso
from tasks.domain.session import PersonTurn, ReadCounts, Session, Turn


@dataclass(frozen=True, slots=True)
class Mark:
    """Where and in what state a later reading goes on. Holds offsets and counts, no text.

    Attributes:
        offset: bytes before the mark; `line`: newlines among them.
        last: uuid of the person's turn that the mark stands after.
        ended: the newest time met so far.
        title_at: offset of the line whose record gave the title, -1 for none.
        pending: (offset of an enqueue record, 1 if an attachment told its words), oldest first.
        told: digests of queued words that were taken from queue records.
        recent: (uuid, timestamp) of the newest records; `horizon`: the newest before them.
    """

    offset: int
    line: int
    last: str
    session_id: str
    cwd: str
    started: datetime
    ended: datetime
    title_at: int
    interrupts: int
    refusals: int
    human: bool
    machine: bool
    headless: bool
    read: int
    used: int
    duplicates: int
    set_aside: tuple[tuple[str, int], ...]
    failed: tuple[int, ...]
    pending: tuple[tuple[int, int], ...]
    told: tuple[str, ...]
    recent: tuple[tuple[str, str], ...]
    horizon: str

    @property
    def counts(self) -> ReadCounts:
        """Return the counts as they stood at the mark, free to be counted on."""
        return ReadCounts(
            self.read, self.used, self.duplicates, Counter(dict(self.set_aside)), list(self.failed)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the mark as plain JSON data; `from_json` is its inverse."""
        return asdict(self) | {"started": iso(self.started), "ended": iso(self.ended)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mark:
        """Return the mark that `to_json` wrote."""
        paired = {name: tuple((a, b) for a, b in data[name]) for name in _PAIRED}
        listed = {name: tuple(data[name]) for name in ("failed", "told")}
        times = {name: instant(data[name]) for name in ("started", "ended")}
        return cls(**{**data, **paired, **listed, **times})


_PAIRED = ("set_aside", "pending", "recent")


@dataclass(frozen=True, slots=True)
class Resume:
    """What is known of a file already: the mark, and the turns as the evidence file holds them."""

    mark: Mark
    turns: tuple[Turn, ...]

    def settled(self) -> tuple[Turn, ...] | None:
        """Return the turns up to the mark, after which is read again; None if it is not there."""
        for index, turn in enumerate(self.turns):
            if isinstance(turn, PersonTurn) and turn.uuid == self.mark.last:
                return self.turns[: index + 1]
        return None


@dataclass(frozen=True, slots=True)
class SessionRead:
    """A transcript with a conversation in it.

    Attributes:
        changed: turns that are new or were read again since the resume, in order; all without one.
        mark: where the next reading goes on; None where it starts anew (compressed files).
        lines_read: newlines before `session.bytes_read`.
        cut: why reading stopped before the end of the file, "" when it did not.
    """

    session: Session
    changed: tuple[Turn, ...]
    mark: Mark | None
    lines_read: int
    cut: str = ""


@dataclass(frozen=True, slots=True)
class NothingRead:
    """A file in which nobody spoke, or that could not be opened; `reason` is one line."""

    reason: str
    counts: ReadCounts
    bytes_read: int


Reading = SessionRead | NothingRead
