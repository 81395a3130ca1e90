"""What a night has to tell the person, as plain data: the flow fills it, `tasks.render` writes it.

Invariant: it holds counts, ids, dates and texts only; nothing of the store or a pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from tasks.domain.units import EpisodeKind


@dataclass(frozen=True, slots=True)
class Ingested:
    """What was read. `read == used + set_aside + duplicates + failed`.

    Attributes:
        files: transcript files looked at in the last run; `changed`: those that were new or had
            grown in any run that is told of.
        failed: lines that are no JSON object.
        episodes: new episodes by kind, in the order in which they are to be named.
    """

    files: int = 0
    changed: int = 0
    read: int = 0
    used: int = 0
    set_aside: int = 0
    duplicates: int = 0
    failed: int = 0
    sessions: int = 0
    episodes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Learned:
    """A lesson that is new since the last report.

    Attributes:
        quote: the person's words, or the error's text, that it rests on.
        said: the local day of those words.
        confirmed: it may already be rendered and primed; else it waits for a second session.
    """

    id: str
    text: str
    quote: str
    said: date
    project: str
    kind: EpisodeKind = EpisodeKind.CORRECTION
    sessions: int = 1
    confirmed: bool = True


@dataclass(frozen=True, slots=True)
class Strengthened:
    """A lesson that another session bore out; `sessions` counts all that now stand behind it."""

    id: str
    text: str
    project: str
    sessions: int


@dataclass(frozen=True, slots=True)
class Merged:
    """Several lessons that now live on as one."""

    id: str
    text: str
    project: str
    absorbed: tuple[str, ...]


class RetiredBy(StrEnum):
    """Why a lesson is no longer used."""

    FADED = "faded"
    REJECTED = "rejected"
    DELETED = "its file was deleted"
    DISPUTED = "disputed"
    REPLACED = "replaced by a later rule"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Retired:
    """A lesson that is no longer used, and why. `text` is "" when it was forgotten."""

    id: str
    text: str
    project: str
    why: RetiredBy


@dataclass(frozen=True, slots=True)
class Question:
    """Something only the person can settle: what, why it waits, and the commands that answer it."""

    text: str
    why: str
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bets:
    """Predictions made and resolved this night, and how many are open."""

    made: int = 0
    confirmed: int = 0
    failed: int = 0
    unexercised: int = 0
    void: int = 0
    open: int = 0


@dataclass(frozen=True, slots=True)
class DayShare:
    """One local day of a rate: `part` of `whole`."""

    day: date
    part: int
    whole: int


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its numerator and denominator, over all days listed (ascending)."""

    days: tuple[DayShare, ...] = ()

    @property
    def part(self) -> int:
        """Return the numerator over all days."""
        return sum(day.part for day in self.days)

    @property
    def whole(self) -> int:
        """Return the denominator over all days."""
        return sum(day.whole for day in self.days)


@dataclass(frozen=True, slots=True)
class Reach:
    """In how many sessions a lesson was in which channel; with no lesson, any of them.

    Attributes:
        sessions: all that were of its project and went on when it was known already.
        hook, proxy, file: told by that channel; `told`: by any, each session once.
        held_out: told by none, and held out by at least one.
    """

    lesson: str = ""
    text: str = ""
    project: str = ""
    sessions: int = 0
    hook: int = 0
    proxy: int = 0
    file: int = 0
    told: int = 0
    held_out: int = 0

    @property
    def nowhere(self) -> int:
        """Return in how many it was neither told nor held out."""
        return self.sessions - self.told - self.held_out


@dataclass(frozen=True, slots=True)
class Reached:
    """Sessions by what they were told: in sum, and for each lesson in use.

    Attributes:
        since: the local day from which on they are counted, None for all there are.
    """

    since: date | None = None
    whole: Reach = field(default_factory=Reach)
    lessons: tuple[Reach, ...] = ()


@dataclass(frozen=True, slots=True)
class Measures:
    """How often the person repeated a correction, and how often an error came back.

    Both rates list the same days, those of the window, also where one of them has nothing.

    Attributes:
        person_turns: turns of the person's in the sessions that went on in the window, for the
            figure per 100.
        reached: which sessions were told something, and which may be compared with them.
        history: the same over all that is stored; None in a history, and where it is not asked for.
    """

    repeat_yourself: Rate = field(default_factory=Rate)
    repeated_error: Rate = field(default_factory=Rate)
    person_turns: int = 0
    reached: Reached = field(default_factory=Reached)
    history: Measures | None = None


@dataclass(frozen=True, slots=True)
class Delegated:
    """One kind of action.

    Attributes:
        asked: replies that asked or offered to; `told`: those that the person corrected.
        stopped: calls that the person refused.
    """

    kind: str
    asked: int
    told: int
    stopped: int


@dataclass(frozen=True, slots=True)
class Delegation:
    """Where agents ask and where they are stopped, over the last sessions and days."""

    kinds: tuple[Delegated, ...] = ()
    sessions: int = 0
    days: int = 0


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where the lessons stand now.

    Attributes:
        live: lessons in use; `candidates`: recalled only, labelled unconfirmed.
        written, removed: lesson files changed this night.
        shown, held_out: lines in hosts' `MEMORY.md` this week.
        folders: where the files lie, for the person to open.
    """

    live: int = 0
    candidates: int = 0
    written: int = 0
    removed: int = 0
    shown: int = 0
    held_out: int = 0
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StageTime:
    """How long one stage of the night took, in seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class NightReport:
    """Everything the morning report says.

    Attributes:
        day: the local date of the morning.
        first: no night was completed before this one.
        again: an earlier night of the same day left a report, which this one goes on with.
        refused: writes the gateway refused, counted by reason.
        held: texts a person has to look at before they may become lessons.
        unsure: file changes that could mean two things.
        problems: what went wrong and what was done instead, one sentence each.
        models: what models were asked for, a sentence each.
        waiting: corrections, errors and surprises that teach nothing until they come up again.
        alone: the same of this run alone, where the report tells of earlier ones too.
    """

    day: date
    first: bool = False
    again: bool = False
    ingested: Ingested = field(default_factory=Ingested)
    learned: tuple[Learned, ...] = ()
    strengthened: tuple[Strengthened, ...] = ()
    merged: tuple[Merged, ...] = ()
    retired: tuple[Retired, ...] = ()
    refused: tuple[tuple[str, int], ...] = ()
    held: tuple[Question, ...] = ()
    bets: Bets = field(default_factory=Bets)
    measures: Measures = field(default_factory=Measures)
    delegation: Delegation = field(default_factory=Delegation)
    shelf: Shelf = field(default_factory=Shelf)
    unsure: tuple[Question, ...] = ()
    problems: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    waiting: int = 0
    stages: tuple[StageTime, ...] = ()
    alone: NightReport | None = None

    @property
    def questions(self) -> tuple[Question, ...]:
        """Return all that waits for an answer."""
        return self.held + self.unsure
