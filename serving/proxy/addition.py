"""What is put into a request: the handoff, and the lessons that bear on what the person just said.

It goes behind the person's last turn and, byte for byte the same, behind that turn whenever it is
sent again. Invariants: nothing new is put behind a turn that was answered already; a conversation
is told each lesson and each event once; what was taken out of memory since is not sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Protocol

from serving.proxy.asking import Asked, Asking, Turn
from serving.proxy.behind import Behind
from serving.proxy.calls import Call
from serving.proxy.kinds import Kind
from serving.proxy.splice import spliced
from serving.questions import Questions, cut
from serving.sessions import Session, Sessions, was_primed
from tasks import handoff as handing
from tasks import prime
from tasks.domain.clock import Clock
from tasks.domain.events import Event
from tasks.domain.scope import Scope
from tasks.prime import Candidate, Moment, Selection
from tasks.ranking import Asked as Question
from tasks.shown import Put, Shown, Told

CHANNEL: Final = "proxy"
_ANEW: Final = timedelta(hours=1)
"""After this long the same opening words begin another conversation."""
_CARRIES: Final = (Kind.MAIN, Kind.SUMMARY, Kind.SUBAGENT)


class Source(Protocol):
    """The memory as an addition needs it."""

    def scope(self, app: str, project_id: str) -> Scope:
        """Return the person's scope of a project."""

    def asked(self, text: str, meaning: str) -> Question:
        """Return a text with the vector of its meaning, which takes a while."""

    def settled(self, text: str, scope: Scope, told: Collection[str]) -> list[Candidate] | None:
        """Return a prompt's candidates if its meaning changes nothing of what is shown, else None.

        Args:
            text: of the prompt.
            scope: of its conversation.
            told: ids of lessons that its conversation was shown already.
        """

    def candidates(self, asked: Question, scope: Scope, moment: Moment) -> list[Candidate]:
        """Return every lesson that the scope reads, with its relevance at a moment."""

    def stand(self, ids: Collection[str], scope: Scope) -> bool:
        """Tell whether all of these lessons may still be shown."""

    def recent(self, scope: Scope, conversation: str, holdout: float) -> Sequence[Event]:
        """Return the last events of a project's relay, oldest first, that it may be told."""

    def expose(self, body: dict[str, Any], scope: Scope, at: datetime) -> None:
        """Append what was shown, and what was not, to the journal."""


@dataclass(frozen=True, slots=True)
class Additions:
    """Puts memory into requests.

    Attributes:
        holdout: share of conversations that get no lesson, to measure the effect.
        patience: seconds to wait for the meaning of a prompt; after them its words must do.
        day: words an instant.
        behind: does what the client need not wait for.
        sessions: the conversations that hooks told of.
    """

    source: Source
    shown: Shown
    asking: Asking
    holdout: float
    patience: float
    day: Callable[[datetime], str]
    clock: Clock
    behind: Behind = field(repr=False)
    sessions: Sessions = field(repr=False, default_factory=Sessions)
    encoder: ThreadPoolExecutor = field(repr=False, default_factory=partial(ThreadPoolExecutor, 1))

    async def __call__(self, call: Call) -> bytes | None:
        """Return the body with what belongs in it, None when nothing does."""
        project = call.grant.project if call.grant is not None else None
        if call.grant is None or project is None or call.body is None:
            return None
        its = self.asking.of(call, project)
        if its.kind not in _CARRIES or not its.turns:
            return None
        scope = self.source.scope(call.grant.app, project)
        told = self._told(its, project)
        last = its.turns[-1]
        puts = [(turn, told.puts[turn.key]) for turn in its.turns if turn.key in told.puts]
        session = self.sessions.known(its.conversation)
        if its.kind is Kind.MAIN and _is_due(its, last, told, session):
            told.begins |= its.first
            put, selection = await self._made(its, last, scope, told, primed=was_primed(session))
            told.begins = False
            told.take(put)
            puts.append((last, put))
            self.behind(partial(self._keep, its.conversation, scope, put, selection))
        return self._with(call.body, puts, scope)

    def _told(self, its: Asked, project: str) -> Told:
        """Return what the conversation was told; one that only begins alike was told nothing."""
        told = self.shown.told(project, its.conversation)
        known = told.puts.get(its.turns[0].key)
        if known is None or its.named or not its.first:
            return told
        if known.model == its.model and self.clock() - known.at < _ANEW:
            return told
        return self.shown.begin_again(project, its.conversation)

    def _with(self, body: bytes, puts: list[tuple[Turn, Put]], scope: Scope) -> bytes | None:
        wanted = [
            (turn.spot, put.text)
            for turn, put in puts
            if put.text and (not put.lessons or self.source.stand(put.lessons, scope))
        ]
        return spliced(body, wanted) if wanted else None

    async def _made(
        self, its: Asked, turn: Turn, scope: Scope, told: Told, *, primed: bool
    ) -> tuple[Put, Selection]:
        """Return what to put behind a turn; where a hook primed it, that is no lesson."""

        def at_once() -> tuple[Put, Selection] | None:
            found = () if primed else self.source.settled(cut(turn.words), scope, told.settled)
            return None if found is None else self._decide(its, turn, scope, told, found)

        def by_meaning(question: Question) -> tuple[Put, Selection]:
            found = self.source.candidates(question, scope, Moment.PROMPT)
            return self._decide(its, turn, scope, told, found)

        made = await asyncio.to_thread(at_once)
        if made is not None:
            return made
        question = await Questions(self.source.asked, self.patience, self.encoder).of(turn.words)
        return await asyncio.to_thread(by_meaning, question)

    def _decide(
        self, its: Asked, turn: Turn, scope: Scope, told: Told, candidates: Sequence[Candidate]
    ) -> tuple[Put, Selection]:
        """Return what to put behind a turn; runs in a thread, and may be too late."""
        now = self.clock()
        selection = prime.select(
            candidates,
            moment=Moment.PROMPT,
            session=its.conversation,
            told=told.settled,
            holdout=self.holdout,
        )
        events = handing.handoff(
            self.source.recent(scope, its.conversation, self.holdout),
            handing.Arrival(
                its.conversation if its.named or not its.first else "",
                its.model,
                told.begins,
                told.events,
                now,
            ),
        )
        return self._fitting(its, turn, selection, events, now), selection

    def _fitting(
        self,
        its: Asked,
        turn: Turn,
        selection: Selection,
        events: Sequence[Event],
        now: datetime,
    ) -> Put:
        """Return what fits the room that the model has: of both blocks the lessons come first."""
        lessons = prime.block(selection.shown, self.day) if selection.shown else ""
        work = handing.block(events, self.day) if events else ""
        if its.room is not None and len(lessons) > its.room:
            lessons = ""
        if its.room is not None and len(lessons) + len(work) > its.room:
            work = ""
        ids = tuple(str(row["id"]) for row in selection.shown) if lessons else ()
        return Put(
            turn.key,
            "\n".join(filter(None, (work, lessons))),
            ids,
            (*ids, *selection.held_out),
            tuple(one.id for one in events) if work else (),
            its.model,
            now,
        )

    def _keep(self, conversation: str, scope: Scope, put: Put, selection: Selection) -> None:
        if put.lessons or selection.held_out or selection.near:
            body = {
                "channel": CHANNEL,
                "session": conversation,
                "shown": list(put.lessons),
                "held_out": list(selection.held_out),
                "near": [list(pair) for pair in selection.near],
            }
            self.source.expose(body, scope, put.at)
        self.shown.write(scope.project_id, conversation, put)


def _is_due(its: Asked, last: Turn, told: Told, session: Session | None) -> bool:
    """Tell whether something may be put behind the last turn that was not put there before.

    Text of ours in a conversation of an unknown hand may have said it all; what hooks put into one
    that they told of is known.
    """
    foreign = its.marked and session is None
    return its.fresh > 0 and not foreign and last.key not in told.puts
