"""What changed in the store since a record, sorted into what a morning report tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from datetime import datetime

from tasks.domain.clock import local_day
from tasks.domain.ids import shown
from tasks.domain.proposals import Action
from tasks.domain.report import (
    Bets,
    Learned,
    Merged,
    Question,
    Retired,
    RetiredBy,
    Shelf,
    Strengthened,
)
from tasks.domain.units import USABLE, EpisodeKind, Lesson, Lifecycle, Outcome, Trust
from tasks.night import Run
from tasks.render.plan import Rendered
from tasks.store import reads
from tasks.store.reads import AllVersions, Query, Subject
from tasks.store.shelves import asked_of


class Gathered:
    """The store's changes since a record, sorted into what a report tells."""

    def __init__(self, run: Run, names: dict[str, str], since: int) -> None:
        self._run, self._names = run, names
        database = run.store.database
        self._scopes = reads.scopes(database)
        self._lessons = {
            lesson.id: lesson for scope in self._scopes for lesson in reads.lessons(database, scope)
        }
        self._versions = [
            row
            for scope in self._scopes
            for row in reads.rows(database, Query(Subject.LESSONS, scope, (AllVersions(),)))
            if row["tx"] > since
        ]
        self._made = {row["lesson_id"] for row in self._versions if row["version"] == 1}

    def learned(self) -> Iterator[Learned]:
        """Yield the lessons made since that still stand, confirmed ones first."""
        lessons = (self._lessons[unit] for unit in self._made if unit in self._lessons)
        for lesson in sorted(lessons, key=_best_first):
            if lesson.lifecycle is Lifecycle.LIVE and lesson.trust in (Trust.CANDIDATE, *USABLE):
                yield Learned(
                    lesson.id,
                    lesson.text,
                    lesson.quote,
                    local_day(lesson.valid_from, self._run.settings.zone),
                    self._project(lesson),
                    kind=lesson.kind,
                    sessions=lesson.seen,
                    confirmed=lesson.trust in USABLE,
                )

    def strengthened(self) -> Iterator[Strengthened]:
        """Yield older lessons that another session bore out."""
        for lesson in self._changed(Action.CORROBORATE):
            yield Strengthened(lesson.id, lesson.text, self._project(lesson), lesson.seen)

    def merged(self) -> Iterator[Merged]:
        """Yield the themes that absorbed older lessons."""
        absorbed: dict[str, list[str]] = {}
        for scope in self._scopes:
            for row in reads.rows(self._run.store.database, Query(Subject.ALIASES, scope)):
                absorbed.setdefault(row["new_id"], []).append(row["old_id"])
        for lesson in self._changed(Action.MERGE):
            old = tuple(sorted(absorbed.get(lesson.id, ())))
            yield Merged(lesson.id, lesson.text, self._project(lesson), old)

    def retired(self) -> Iterator[Retired]:
        """Yield the lessons that went out of use."""
        last = {row["lesson_id"]: row for row in self._versions}
        for unit, row in sorted(last.items()):
            lesson = self._lessons.get(unit)
            why = _retired_by(lesson, row["action"]) if lesson else None
            if lesson and why:
                yield Retired(unit, lesson.text, self._project(lesson), why)

    def asked(self) -> Iterator[Question]:
        """Yield a question for each unit that is withheld: only a person can settle it."""
        for scope in self._scopes:
            for episode in asked_of(self._run.store, scope):
                unit = shown(episode.id)
                yield Question(
                    episode.title,
                    "an agent asked to take it out; it is withheld until you decide",
                    (f"everest reject {unit} --reason '…'", f"everest forget {unit}"),
                )
        for lesson in sorted(self._lessons.values(), key=lambda one: one.id):
            if lesson.trust is Trust.DISPUTED and lesson.lifecycle is Lifecycle.LIVE:
                yield Question(
                    lesson.text,
                    "it is in dispute and withheld until you decide",
                    (f"everest reject {shown(lesson.id)} --reason '…'",),
                )

    def bets(self, instants: Collection[datetime]) -> Bets:
        """Return the predictions made and resolved by the runs of some instants, and those open."""
        made = resolved = 0
        outcomes: Counter[Outcome] = Counter()
        for scope in self._scopes:
            for prediction in reads.predictions(self._run.store.database, scope):
                outcomes[Outcome.OPEN] += prediction.outcome is Outcome.OPEN
                made += prediction.made in instants
                if prediction.resolved in instants:
                    outcomes[prediction.outcome] += 1
                    resolved += 1
        return Bets(
            made,
            outcomes[Outcome.CONFIRMED],
            outcomes[Outcome.FAILED],
            outcomes[Outcome.UNEXERCISED],
            outcomes[Outcome.VOID],
            outcomes[Outcome.OPEN],
        )

    def shelf(self, rendered: Rendered) -> Shelf:
        """Return where the lessons stand."""
        live = [one for one in self._lessons.values() if one.lifecycle is Lifecycle.LIVE]
        return Shelf(
            live=sum(one.trust in USABLE for one in live),
            candidates=sum(one.trust is Trust.CANDIDATE for one in live),
            written=rendered.written,
            removed=rendered.removed,
            shown=sum(len(host.shown) for host in rendered.hosts),
            held_out=rendered.held_out,
            folders=tuple(str(folder) for folder in rendered.folders),
        )

    def _changed(self, action: Action) -> Iterator[Lesson]:
        ids = {row["lesson_id"] for row in self._versions if row["action"] == action.value}
        for unit in sorted(ids - self._made):
            lesson = self._lessons.get(unit)
            if lesson and lesson.lifecycle is Lifecycle.LIVE:
                yield lesson

    def _project(self, lesson: Lesson) -> str:
        return self._names.get(lesson.scope.project_id, lesson.scope.project_id)


def _best_first(lesson: Lesson) -> tuple[int, bool, int, float, str]:
    """Order confirmed lessons first, then what the person said before what only failed."""
    rank = (Trust.VERIFIED, Trust.CORROBORATED, Trust.CANDIDATE)
    place = rank.index(lesson.trust) if lesson.trust in rank else len(rank)
    failed = lesson.kind is not EpisodeKind.CORRECTION
    return place, failed, -lesson.seen, -lesson.valid_from.timestamp(), lesson.id


def _retired_by(lesson: Lesson, action: str) -> RetiredBy | None:
    match lesson.trust, lesson.lifecycle:
        case Trust.REJECTED, _:
            return RetiredBy.DELETED if action == Action.VETO.value else RetiredBy.REJECTED
        case Trust.DISPUTED, _:
            return RetiredBy.DISPUTED
        case _, Lifecycle.ARCHIVED:
            return RetiredBy.FADED
        case _, Lifecycle.SUPERSEDED if action != Action.MERGE.value:
            return RetiredBy.REPLACED
        case _:
            return None
