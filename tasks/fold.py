"""Fold the journal: what was said since the last night becomes proposals, and the gateway decides.

All of it is one transaction with the offsets it covers, so a line is folded exactly once however
often a night is killed.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tasks.domain import canon
from tasks.domain.clock import instant
from tasks.domain.events import WITNESSES, Event, event, of_an_agent, session_name
from tasks.domain.ids import digest_of, lesson_hash, note_id
from tasks.domain.proposals import (
    Action,
    Actor,
    Ask,
    Bury,
    Change,
    Decision,
    Expose,
    Proposal,
    PutEpisode,
    PutLesson,
    PutProject,
    Refusal,
    SetStrength,
    Stored,
)
from tasks.domain.scope import Scope
from tasks.domain.strength import START, touched
from tasks.domain.tombstones import exact
from tasks.domain.units import (
    Episode,
    EpisodeKind,
    Grounding,
    Lesson,
    Project,
    Strength,
    Tombstone,
    TombstoneKind,
    Trust,
)
from tasks.errors import EventInvalid
from tasks.happened import Happened
from tasks.projects import leaves_out
from tasks.store import gateway, reads
from tasks.store.handle import Store
from tasks.store.journal import DECIDERS, Line, unfolded
from tasks.store.reads import AllVersions, Ids, Query, Subject
from tasks.store.standing import projects
from tasks.waypoints import passing
from tasks.wording import unsafe

_TITLE = 120


@dataclass(frozen=True, slots=True)
class Folded:
    """What a fold came to.

    Attributes:
        lines: lines folded; `bad`: those that were no journal line; `cut`: ends without a newline.
        refused: refusals by reason.
        problems: one sentence for each event of the inbox that could not be used.
    """

    lines: int = 0
    bad: int = 0
    cut: int = 0
    stored: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    problems: tuple[str, ...] = ()


def fold(store: Store, *, at: datetime) -> Folded:
    """Fold every journal line that the store does not hold yet.

    Raises:
        StoreError, WriteFailed: from the gateway; the lines stay unfolded then.
    """
    offsets = dict(store.database.rows("SELECT segment, bytes FROM journal_offsets"))
    reads_ = list(unfolded(store.places.journal, offsets))
    lines = sorted((line for one in reads_ for line in one.lines), key=lambda line: line.at)
    ends = {one.segment: one.end for one in reads_ if one.end > offsets.get(one.segment, 0)}
    decisions: tuple[Decision, ...] = ()
    if ends:
        proposals = _Folding(store, at).proposals(lines)
        passing("fold.read")
        decisions = gateway.commit(store, proposals, at=at, journal=ends).decisions
        passing("fold.committed")
    return Folded(
        lines=len(lines),
        bad=sum(one.bad for one in reads_),
        cut=sum(one.cut > 0 for one in reads_),
        stored=sum(isinstance(decision, Stored) for decision in decisions),
        refused=Counter(d.reason for d in decisions if isinstance(d, Refusal)),
    )


def stone_id(line: Line) -> str:
    """Return the id of the tombstone that a line comes to, however often it is folded."""
    return digest_of("tombstone", line.id)


class _Folding:
    """One fold in progress; touches of one unit add up within it."""

    def __init__(self, store: Store, at: datetime) -> None:
        self._store = store
        self._at = at
        self._touched: dict[str, tuple[Strength, int]] = {}
        self._notes: dict[str, Episode] = {}
        self._pinned: set[str] = set()
        self._arranged_now: dict[str, Project] = {}

    def proposals(self, lines: Sequence[Line]) -> list[Proposal]:
        said = [proposal for line in lines for proposal in self._of(line)]
        return [*said, *self._happened([line for line in lines if line.op == "event"])]

    def _of(self, line: Line) -> Iterator[Proposal]:
        match line.op:
            case "remember":
                yield from self._unknown_project(line)
                yield from self._noted(line)
            case "touch":
                yield from self._touches(line)
            case "decide" if line.body["unit"] == "project":
                yield from self._arranged(line)
            case "decide":
                yield from self._decided(line)
            case "edit_file":
                yield from self._edited(line)
            case "expose":
                yield self._exposed(line)
            case _:  # events, which are taken in together
                return

    def _happened(self, lines: Sequence[Line]) -> Iterator[Proposal]:
        """Take in the events of each scope; a project that is to be ignored tells nothing."""
        happened = Happened(self._store, self._at)
        by_scope: dict[Scope, list[Line]] = {}
        for line in lines:
            by_scope.setdefault(line.scope, []).append(line)
        for scope, told in by_scope.items():
            known = self._project(told[0])
            if known is None or not leaves_out(known):
                yield from self._unknown_project(told[0])
                for change in happened.changes(list(_events(told)), scope):
                    yield _proposal(told[0], change, Action.CREATE)

    def _unknown_project(self, line: Line) -> Iterator[Proposal]:
        """Make the project that a note was said in, unless it is known or the note is for all."""
        told = line.body.get("project")
        if told and told["project_id"] == line.scope.project_id and not self._project(line):
            project = Project(told["project_id"], told["name"], told["path"], (), instant(line.at))
            yield _proposal(line, PutProject(project), Action.CREATE)

    def _arranged(self, line: Line) -> Iterator[Proposal]:
        body = line.body
        known = self._project(line) or Project(
            line.scope.project_id, body["old_name"], body["path"], (), instant(line.at)
        )
        match body["verb"]:
            case "rename":
                known = replace(known, name=body["name"])
            case "ignore" | "watch":
                known = replace(known, ignored=body["verb"] == "ignore")
            case _:
                return
        self._arranged_now[known.project_id] = known
        yield _proposal(line, PutProject(known), Action.RESOLVE)

    def _project(self, line: Line) -> Project | None:
        if line.scope.project_id in self._arranged_now:
            return self._arranged_now[line.scope.project_id]
        found = projects(self._store, line.scope)
        return found[0] if found else None

    def _noted(self, line: Line) -> Iterator[Proposal]:
        """Write a note; said again it is no news, unless it had faded or an agent said it first."""
        note = self._note(line)
        known = self._notes.get(note.id) or self._episode(line, note.id)
        if known is None or known.archived_at is not None:
            self._touched[note.id] = note.strength, 0
        elif known.grounding in (note.grounding, Grounding.PERSON):
            return
        self._notes[note.id] = note
        yield _proposal(line, PutEpisode(note), Action.CREATE)

    def _episode(self, line: Line, unit_id: str) -> Episode | None:
        found = reads.episodes(self._store.database, line.scope, Ids((unit_id,)))
        return found[0] if found else None

    def _note(self, line: Line) -> Episode:
        text: str = line.body["text"]
        when = instant(line.at)
        person = line.actor is Actor.PERSON
        return Episode(
            id=note_id(self._store.key, line.scope, canon.canon(text, 1)),
            scope=line.scope,
            agent=line.body.get("agent", ""),
            session_id=line.body.get("session", ""),
            kind=EpisodeKind.NOTE,
            anchor=line.id,
            title=text.split("\n", 1)[0][:_TITLE],
            gist="",
            words=text,
            at=when,
            recorded_at=when,
            grounding=Grounding.PERSON if person else Grounding.INFERRED,
            strength=Strength(START, when),
        )

    def _touches(self, line: Line) -> Iterator[Proposal]:
        for unit, unit_id in line.body["units"]:
            known = self._touched.get(unit_id) or self._strength(line, unit, unit_id)
            if known is None:  # forgotten or faded since it was recalled
                continue
            strength, recalls = known
            pinned = unit_id in self._pinned
            strength = touched(strength, instant(line.at), pinned=pinned)
            self._touched[unit_id] = strength, recalls + 1
            change = SetStrength(unit, unit_id, *self._touched[unit_id])
            yield _proposal(line, change, Action.TOUCH)

    def _strength(self, line: Line, unit: str, unit_id: str) -> tuple[Strength, int] | None:
        subject = Subject.LESSONS if unit == "lesson" else Subject.EPISODES
        query = Query(subject, line.scope, (Ids((unit_id,)),))
        for row in reads.rows(self._store.database, query):
            if row.get("pinned"):
                self._pinned.add(unit_id)
            return Strength(row["strength"], row["as_of"]), row["recalls"]
        return None

    def _exposed(self, line: Line) -> Proposal:
        body = line.body
        change = Expose(
            line.id,
            instant(line.at),
            session_name(body.get("session", "")),
            body["channel"],
            tuple(body.get("shown", ())),
            tuple(body.get("held_out", ())),
        )
        return _proposal(line, change, Action.RENDER)

    def _decided(self, line: Line) -> Iterator[Proposal]:
        verb, unit_id = line.body["verb"], line.body["unit_id"]
        lesson = self._lesson(line, unit_id)
        if verb not in _KINDS:  # a verb that a later release folds
            return
        if line.actor not in DECIDERS:
            yield self._doubted(line, lesson)
            return
        stone = Tombstone(
            id=stone_id(line),
            kind=_KINDS[verb],
            scope=line.scope,
            unit=line.body["unit"],
            unit_id=unit_id,
            digests=self._wordings(line, lesson),
            sources=lesson.sources if lesson else (unit_id,),
            reason=line.body.get("reason", ""),
            actor=line.actor.value,
            at=instant(line.at),
        )
        yield _proposal(line, Bury(stone), _ACTIONS[verb])

    def _doubted(self, line: Line, lesson: Lesson | None) -> Proposal:
        """Withhold what one who may not decide wants gone; the morning report asks the person."""
        if lesson is None:
            change = Ask(line.body["verb"], line.body["unit_id"])
            return _proposal(line, change, Action.DISPUTE)
        doubted = replace(lesson, trust=Trust.DISPUTED, recorded_at=self._at)
        return _proposal(line, PutLesson(doubted), Action.DISPUTE)

    def _edited(self, line: Line) -> Iterator[Proposal]:
        """An edit of a lesson's file is a correction: the old wording must not come back."""
        lesson = self._lesson(line, line.body["lesson_id"])
        text = " ".join(line.body["text"].split())
        if lesson is None or canon.canon(text) in ("", canon.canon(lesson.text)):
            return
        if unsafe(text) is not None:
            return
        reworded = replace(
            lesson,
            text=text,
            grounding=Grounding.PERSON,
            hash=lesson_hash(lesson.kind, canon.canon(text)),
            recorded_at=self._at,
        )
        if exact(canon.digests(self._store.key, text), line.scope, self._store.stones):
            yield _proposal(line, PutLesson(reworded), Action.CORRECT)  # the gateway refuses it
            return
        stone = Tombstone(
            id=stone_id(line),
            kind=TombstoneKind.SUPERSEDED,
            scope=line.scope,
            unit="lesson",
            unit_id=lesson.id,
            digests=canon.digests(self._store.key, lesson.text),
            sources=lesson.sources,
            reason="reworded in its file",
            actor=line.actor.value,
            at=instant(line.at),
        )
        yield _proposal(line, Bury(stone), Action.CORRECT)
        yield _proposal(line, PutLesson(reworded), Action.CORRECT)

    def _lesson(self, line: Line, unit_id: str) -> Lesson | None:
        found = reads.lessons(self._store.database, line.scope, Ids((unit_id,)))
        return found[0] if found else None

    def _wordings(self, line: Line, lesson: Lesson | None) -> tuple[tuple[str, str], ...]:
        """Return the digests of every wording that the unit ever had, merged ones' included."""
        given = {(version, digest) for version, digest in line.body.get("digests", ())}
        if lesson is None:
            return tuple(sorted(given))
        query = Query(Subject.ALIASES, line.scope)
        family = {lesson.id} | {
            row["old_id"]
            for row in reads.rows(self._store.database, query)
            if row["new_id"] == lesson.id
        }
        versions = reads.lessons(
            self._store.database, line.scope, Ids(tuple(family)), AllVersions()
        )
        known = {pair for v in versions for pair in canon.digests(self._store.key, v.text)}
        return tuple(sorted(given | known))


_KINDS = {
    "reject": TombstoneKind.REJECTED,
    "veto": TombstoneKind.VETO,
    "forget": TombstoneKind.FORGOTTEN,
}
_ACTIONS = {"reject": Action.REJECT, "veto": Action.VETO, "forget": Action.FORGET}


def _events(lines: Iterable[Line]) -> Iterator[Event]:
    """Yield what lines tell, each by the authority of who told it."""
    for line in lines:
        with contextlib.suppress(EventInvalid):
            one = event(line.body["event"], now=instant(line.at))
            yield one if line.actor in WITNESSES else of_an_agent(one)


def _proposal(line: Line, change: Change, action: Action) -> Proposal:
    return Proposal(change, action, line.scope, line.actor, "journal")
