"""Decides at a hook what is put before the model: lessons that bear on the moment, or a handoff.

Invariants: a conversation is told each lesson and each event once, whether by a hook or by the
proxy; what could be shown in a conversation that is held out is recorded instead; a decision that
came too late is none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from serving.folders import Folders
from serving.proxy.addition import Source
from serving.questions import cut
from serving.reader import Reader
from serving.sessions import Sessions
from tasks import handoff as handing
from tasks import prime
from tasks.domain.clock import Clock, local_day, utc_now
from tasks.domain.events import Event
from tasks.domain.ids import digest_of
from tasks.domain.markers import HEADLESS
from tasks.domain.scope import Scope
from tasks.embedding.space import WORDS
from tasks.errors import EverestError
from tasks.hooks.contract import Happening, Prompted, fits
from tasks.hooks.moments import Point, Silence
from tasks.prime import Candidate, Moment, Selection
from tasks.ranking import Asked
from tasks.settings import Settings
from tasks.shown import Put, Shown, Told

CHANNEL: Final = "hook"
_KEY: Final = 32


@dataclass(frozen=True, slots=True)
class Decision:
    """What a hook is answered.

    Attributes:
        text: for the model, "" for nothing.
        moment: at which lessons were chosen; None for a handoff.
    """

    text: str
    put: Put
    selection: Selection
    moment: Moment | None

    @property
    def outcome(self) -> str:
        """Return in a word what came of it."""
        if self.text:
            return "told"
        return "held out" if self.selection.held_out else "nothing"


@dataclass(frozen=True, slots=True)
class Priming:
    """The deciding half of hooks; whoever calls it sees to the time that it may take.

    Attributes:
        app: the app_id of the person's own conversations.
        holdout: share of conversations that get no lesson, to measure the effect.
        day: words an instant.
    """

    source: Source
    shown: Shown
    sessions: Sessions
    folders: Folders
    app: str
    holdout: float
    day: Callable[[datetime], str]
    clock: Clock

    def place(self, one: Happening) -> Scope | Silence:
        """Return the scope of a happening's project; looks at the disk."""
        session = self.sessions.of(one.session, lambda: self.folders.project(one.cwd))
        if isinstance(one.what, Prompted) and HEADLESS in one.what.prompt:
            session.headless = True
        if session.headless:
            return Silence("headless")
        if self.folders.is_ignored(session.project):
            return Silence("ignored")
        return self.source.scope(self.app, session.project)

    def project_of(self, session: str) -> str | None:
        """Return the project of a conversation that hooks told of; None where we are to be silent.

        A memory that cannot be read has no part in it.
        """
        known = self.sessions.known(session) if session else None
        if known is None or known.headless:
            return None
        with contextlib.suppress(EverestError):
            return None if self.folders.is_ignored(known.project) else known.project
        return None

    def told(self, one: Happening, scope: Scope) -> Told | Silence:
        """Return what the conversation was told; the same point is decided once."""
        told = self.shown.told(scope.project_id, one.session)
        return Silence("decided before") if _turn(one) in told.puts else told

    def settled(self, one: Happening, point: Point, scope: Scope) -> list[Candidate] | None:
        """Return a point's candidates if what its words mean changes nothing of what is told."""
        words = cut(point.words)
        if point.moment is not Moment.PROMPT:
            return self.source.candidates(Asked(words, None, WORDS), scope, point.moment)
        told = self.shown.told(scope.project_id, one.session).settled
        return self.source.settled(words, scope, told)

    def prime(
        self, one: Happening, point: Point, candidates: Sequence[Candidate], told: Told
    ) -> Decision:
        """Choose lessons; nothing is kept yet."""
        selection = prime.select(
            candidates,
            moment=point.moment,
            session=one.session,
            told=told.settled,
            holdout=self.holdout,
        )
        text = prime.block(selection.shown, self.day) if selection.shown else ""
        ids = tuple(str(row["id"]) for row in selection.shown)
        settled = (*ids, *selection.held_out)
        put = Put(_turn(one), "", ids, settled, (), one.model, self.clock())
        return Decision(text, put, selection, point.moment)

    def recent(self, one: Happening, scope: Scope) -> Sequence[Event]:
        """Return the last events of the project's relay that the conversation may be told."""
        return self.source.recent(scope, one.session, self.holdout)

    def news(self, one: Happening, scope: Scope) -> Sequence[Event]:
        """Return the project's relay if another agent or model worked there last, else nothing."""
        events = self.recent(one, scope)
        agent = one.agent.provenance
        if not any(event.agent != agent or event.model != one.model for event in events):
            return ()
        worked = self.folders.worked(scope.project_id, agent, besides=one.session)
        asked = {"session": one.session, "agent": agent, "model": one.model}
        return events if handing.is_news(events, **asked, worked=worked) else ()

    def hand_over(self, one: Happening, news: Sequence[Event], told: Told) -> Decision:
        """Return what is handed over of the news at a conversation's beginning."""
        now = self.clock()
        arrival = handing.Arrival(one.session, "", True, told.events, now)  # noqa: FBT003
        events = handing.handoff(news, arrival)
        while not fits(text := handing.block(events, self.day) if events else ""):
            events = events[len(events) // 8 + 1 :]
        put = Put("", "", (), (), tuple(event.id for event in events), one.model, now)
        return Decision(text, put, Selection(), None)

    def take(self, one: Happening, told: Told, made: Decision) -> None:
        """Let a decision stand from now on."""
        told.take(made.put)
        session = self.sessions.known(one.session)
        if session is not None and made.moment is Moment.PROMPT:
            session.primed = True

    def keep(self, one: Happening, scope: Scope, made: Decision) -> None:
        """Write down what was decided, for the measure and for whoever decides next."""
        if made.moment is not None:
            self.source.expose(_exposure(one, made, made.moment), scope, made.put.at)
        if made.put.settled or made.put.events:
            self.shown.write(scope.project_id, one.session, made.put)


def priming_of(
    settings: Settings, reader: Reader, source: Source, shown: Shown, sessions: Sessions
) -> Priming:
    """Return what decides for the person's own conversations."""
    zone = settings.zone
    return Priming(
        source,
        shown,
        sessions,
        Folders(reader),
        settings.app,
        settings.holdout,
        lambda at: str(local_day(at, zone)),
        utc_now,
    )


def _turn(one: Happening) -> str:
    """Return the key of a point, "" for one that nothing tells from another."""
    return digest_of("hook", one.name, one.turn)[:_KEY] if one.turn else ""


def _exposure(one: Happening, made: Decision, moment: Moment) -> dict[str, Any]:
    return {
        "channel": CHANNEL,
        "moment": moment.value,
        "agent": one.agent.provenance,
        "session": one.session,
        "shown": list(made.put.lessons),
        "held_out": list(made.selection.held_out),
        "near": [list(pair) for pair in made.selection.near],
    }
