"""What a transcript's records say of the session as a whole.

Invariant: a session counts as a person's unless signals say otherwise, since leaving a person's
words out costs more than reading a program's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tasks.domain.clock import instant
from tasks.evidence.blocks import text_of
from tasks.evidence.records import Attachment, Origin, Record

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for a time that no record tells."""


@dataclass(slots=True)
class Facts:
    """The session so far.

    Attributes:
        title_at: offset of the line that gave the title, -1 for none.
        human: a person's origin, an interrupt or a refusal was met; `machine`: an SDK run's sign.
        headless: our own mark of a session that we started.
    """

    session_id: str
    cwd: str = ""
    started: datetime = EPOCH
    ended: datetime = EPOCH
    title: str = ""
    title_at: int = -1
    interrupts: int = 0
    refusals: int = 0
    human: bool = False
    machine: bool = False
    headless: bool = False

    @property
    def by_person(self) -> bool:
        """Tell whether a person drove the session, as far as the signals go."""
        return not self.headless and (self.human or not self.machine)

    def meet(self, record: Record) -> datetime:
        """Note what a record says of the session, and return its time."""
        at = self.time_of(record)
        if self.started == EPOCH:
            self.started = at
        self.ended = max(self.ended, at)
        if not self.cwd:
            self.cwd = text_of(record.cwd)
        if record.origin is not None:
            self.human = self.human or origin_of(record, "") == "human"
        self.machine = self.machine or _says_machine(record)
        return at

    def time_of(self, record: Record) -> datetime:
        """Return a record's time; the newest met so far when it tells none."""
        written = record.timestamp
        try:
            at = instant(written) if isinstance(written, str) else self.ended
        except (ValueError, OverflowError):
            return self.ended
        return max(at, EPOCH)

    def title_from(self, record: Record, offset: int) -> bool:
        """Take the title from a record that gives one; the last one wins."""
        title = text_of(_title(record)).strip()
        if title:
            self.title, self.title_at = first_line(title), offset
        return bool(title)


def first_line(text: str) -> str:
    """Return the first line of a text, which serves as a title."""
    return text.strip().partition("\n")[0].strip()


def origin_of(given: Record | Attachment, default: str = "human") -> str:
    """Return the kind of a record's or attachment's origin; `default` where none is told."""
    kind = given.origin.kind if isinstance(given.origin, Origin) else None
    return kind if isinstance(kind, str) else default


def _says_machine(record: Record) -> bool:
    """Tell whether a program made a record by the SDK; desktop apps use it for people."""
    entry = record.entrypoint
    if isinstance(entry, str) and entry:
        return entry.startswith("sdk")
    return bool(record.prompt_source == "sdk")


def _title(record: Record) -> object:
    match record.type:
        case "custom-title":
            return record.custom_title
        case "ai-title":
            return record.ai_title
        case "summary":
            return record.summary
        case _:
            return None
