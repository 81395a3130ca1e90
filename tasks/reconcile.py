"""Take in what was done to our files since the last render: journal it, and fold it at once.

An edit is a correction and a deletion a veto, if the person made them. What an agent did can only
lower a lesson: it is withheld and the person is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, assert_never

from tasks.domain import canon
from tasks.domain.ids import shown
from tasks.domain.proposals import Actor
from tasks.domain.report import Question
from tasks.domain.scope import Scope
from tasks.domain.units import Lesson
from tasks.evidence.attribution import written_by_agents
from tasks.fold import Folded, fold
from tasks.night import Run
from tasks.render.reconcile import (
    Deleted,
    Edited,
    FileChange,
    LineAdded,
    LineDeleted,
    LineEdited,
    Reverted,
    Unsure,
    read_back,
)
from tasks.render.telling import questions_of, reverted_of
from tasks.store import journal, reads
from tasks.waypoints import passing
from tasks.wording import unsafe


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was taken in.

    Attributes:
        edits, vetoes, notes: changes journaled.
        questions: changes that could mean two things, or that an agent made.
        problems: fields of ours that somebody changed, one sentence each.
    """

    edits: int = 0
    vetoes: int = 0
    notes: int = 0
    folded: Folded = field(default_factory=Folded)
    questions: tuple[Question, ...] = ()
    problems: tuple[str, ...] = ()


def reconcile(run: Run) -> Reconciled:
    """Read our files back before the next render and journal what others changed in them."""
    database = run.store.database
    lessons = [x for scope in reads.scopes(database) for x in reads.lessons(database, scope)]
    changes = read_back(run.store.places.written, lessons)
    passing("reconcile.read")
    if not changes:
        return Reconciled()
    hands = written_by_agents(
        {change.path for change in changes}, run.roots, since=_last_render(run)
    )
    taking = _Taking(run, {lesson.id: lesson for lesson in lessons}, hands)
    for change in changes:
        taking.take(change)
        passing("reconcile.said")
    folded = fold(run.store, at=run.at)
    passing("reconcile.folded")
    return Reconciled(
        taking.edits,
        taking.vetoes,
        taking.notes,
        folded,
        (*taking.questions, *questions_of(changes, lessons)),
        reverted_of(changes),
    )


class _Taking:
    """The changes of one reading, journaled one by one."""

    def __init__(self, run: Run, lessons: Mapping[str, Lesson], hands: frozenset[Path]) -> None:
        self._run, self._lessons, self._hands = run, lessons, hands
        self.edits = self.vetoes = self.notes = 0
        self.questions: list[Question] = []

    def take(self, change: FileChange) -> None:
        match change:
            case Edited() | LineEdited():
                self._edit(change)
            case Deleted() | LineDeleted():
                self._delete(change)
            case LineAdded(project_id=project, text=text):
                self._say("remember", {"text": text}, self._run.settings.scope(project))
                self.notes += 1
            case Reverted() | Unsure():  # told to the person by sentences of their own
                pass
            case _:
                assert_never(change)

    def _edit(self, change: Edited | LineEdited) -> None:
        lesson = self._lessons[change.lesson_id]
        danger = unsafe(change.new_text)
        if change.path in self._hands:
            self._ask(change, "an agent rewrote it; only you can change what a lesson says")
            return
        if danger is not None:
            self._ask(change, f"its new words are not taken in, because {danger}")
            return
        body = {"lesson_id": lesson.id, "text": change.new_text, "path": str(change.path)}
        self._say("edit_file", body, lesson.scope)
        self.edits += 1

    def _ask(self, change: Edited | LineEdited, why: str) -> None:
        command = f'everest reject {shown(change.lesson_id)} --reason "…"'
        self.questions.append(
            Question(f"{change.path} was reworded. Is the lesson wrong?", why, (command,))
        )

    def _delete(self, change: Deleted | LineDeleted) -> None:
        lesson = self._lessons[change.lesson_id]
        by_agent = change.path in self._hands
        body = {
            "verb": "veto",
            "unit": "lesson",
            "unit_id": lesson.id,
            "sources": list(lesson.sources),
            "digests": [list(pair) for pair in canon.digests(self._run.store.key, lesson.text)],
            "reason": f"{change.path.name} was deleted",
        }
        self._say("decide", body, lesson.scope, Actor.AGENT if by_agent else Actor.FILE)
        self.vetoes += 1

    def _say(self, op: str, body: dict[str, Any], scope: Scope, actor: Actor = Actor.FILE) -> None:
        journal.append(
            self._run.store.places.journal, op, body, scope=scope, actor=actor, at=self._run.at
        )


def _last_render(run: Run) -> float:
    try:
        return run.store.places.written.stat().st_mtime
    except OSError:
        return 0.0
