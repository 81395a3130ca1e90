"""Units to store and a home to store them in: real files in a temporary folder, a clock of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tasks.compose import Setting
from tasks.domain.canon import canon, digests
from tasks.domain.events import event
from tasks.domain.ids import digest_of, lesson_hash, lesson_id, prediction_id
from tasks.domain.proposals import (
    Action,
    Actor,
    Bury,
    Change,
    MergeLessons,
    Proposal,
    PutEpisode,
    PutLesson,
    PutPrediction,
    PutSession,
    SessionFacts,
)
from tasks.domain.scope import Scope
from tasks.domain.units import (
    Episode,
    EpisodeKind,
    Grounding,
    Lesson,
    Lifecycle,
    Prediction,
    Strength,
    Tombstone,
    TombstoneKind,
    Trust,
)
from tasks.memory import Memory
from tasks.night import Run, opened
from tasks.runs import new_run
from tasks.settings import Places, Settings
from tasks.store import gateway
from tasks.store.digest import store_digest
from tasks.store.gateway import Receipt
from tasks.store.handle import Store, open_store

SCOPE = Scope("me", "user", "default", "shop-0a1b2c3d")
ELSEWHERE = Scope("me", "user", "default", "blog-4e5f6a7b")
EVERYWHERE = SCOPE.everywhere()
DAY = timedelta(days=1)
EARLIER = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
NOW = datetime(2026, 6, 1, 3, 0, tzinfo=UTC)
RULE = "Always annotate types in tests."
OTHER_RULE = "Write commit messages in the imperative."


@dataclass
class Home:
    """A home in a folder, opened as often as a test wants."""

    places: Places
    settings: Settings

    @contextmanager
    def opened(self, at: datetime = NOW) -> Iterator[Store]:
        with open_store(self.places, self.settings, at=at) as store:
            yield store

    @contextmanager
    def run(self, *roots: Path, at: datetime = NOW, host_root: Path | None = None) -> Iterator[Run]:
        where = Setting(self.settings, self.places, roots, host_root)
        with opened(where, new_run("test"), at=at) as run:
            yield run

    def commit(self, *proposals: Proposal, at: datetime = NOW) -> Receipt:
        with self.opened(at) as store:
            return gateway.commit(store, proposals, at=at)

    def digest(self) -> str:
        with self.opened() as store:
            return store_digest(store.database)

    def memory(self) -> Memory:
        return Memory(self.places)


def home_in(folder: Path, **given: Any) -> Home:
    settings = Settings.load(**{"home": folder, "embed": "hashed", "lock_wait": 0.0, **given})
    return Home(Places(settings.home), settings)


def episode(
    name: str, words: str = RULE, *, scope: Scope = SCOPE, session: str = "", **given: Any
) -> Episode:
    """Return a lasting correction of the person's, unless told otherwise."""
    made = Episode(
        id=digest_of("test", name, *scope.keys()),
        scope=scope,
        agent="claude-code",
        session_id=session or f"session-{name}",
        kind=EpisodeKind.CORRECTION,
        anchor=f"uuid-{name}",
        title=words[:120],
        gist="The agent had said: “done”",
        words=words,
        at=EARLIER,
        recorded_at=EARLIER,
        grounding=Grounding.PERSON,
        strength=Strength(1.0, EARLIER),
        rule=words,
        lasting=True,
        topic=("Bash", "pytest"),
    )
    return replace(made, **given)


def lesson(*sources: Episode, text: str = RULE, **given: Any) -> Lesson:
    first = sources[0]
    made = Lesson(
        id=lesson_id(first.scope, first.kind.value, min(s.id for s in sources)),
        version=1,
        scope=first.scope,
        kind=first.kind,
        text=text,
        quote=first.words,
        trust=Trust.CORROBORATED,
        lifecycle=Lifecycle.LIVE,
        grounding=Grounding.PERSON,
        sources=tuple(sorted(s.id for s in sources)),
        sessions=tuple(sorted({s.session_id for s in sources})),
        valid_from=EARLIER,
        recorded_at=EARLIER,
        strength=Strength(1.0, EARLIER),
        hash=lesson_hash(first.kind.value, canon(text)),
    )
    return replace(made, **given)


def reworded(known: Lesson, text: str, **given: Any) -> Lesson:
    hashed = lesson_hash(known.kind.value, canon(text))
    return replace(known, text=text, hash=hashed, **given)


def prediction(of: Lesson, made: datetime = NOW, **given: Any) -> Prediction:
    new = Prediction(prediction_id(of.id, made.isoformat()), of.id, of.scope, of.text, made)
    return replace(new, **given)


def session(name: str, *, scope: Scope = SCOPE, **given: Any) -> SessionFacts:
    made = SessionFacts(
        id=f"session-{name}",
        agent="claude-code",
        scope=scope,
        path=f"/t/session-{name}.jsonl",
        cwd="/home/me/shop",
        started=EARLIER,
        ended=EARLIER + timedelta(hours=1),
        title=f"Session {name}",
        turns=4,
        person_turns=("00ff",),
        offers=(("do", "accepted"),),
        waits=1,
        refusals=(("Bash", 2),),
        topic=("Bash",),
        by_person=True,
        evidence_bytes=0,
        turn_ids=(f"00ff{name}",),
    )
    return replace(made, **given)


def stone(
    of: Lesson | Episode,
    key: bytes,
    kind: TombstoneKind = TombstoneKind.REJECTED,
    *,
    at: datetime = NOW,
    **given: Any,
) -> Tombstone:
    text = of.text if isinstance(of, Lesson) else of.words
    made = Tombstone(
        id=digest_of("stone", of.id, kind.value, at.isoformat()),
        kind=kind,
        scope=of.scope,
        unit="lesson" if isinstance(of, Lesson) else "episode",
        unit_id=of.id,
        digests=digests(key, text),
        sources=of.sources if isinstance(of, Lesson) else (of.id,),
        reason="it is wrong",
        actor="person",
        at=at,
    )
    return replace(made, **given)


def told(kind: str = "deploy", text: str = "v2 is out", **given: Any) -> dict[str, Any]:
    """Return the body of a journal line that tells an event of SCOPE's project."""
    made = {"kind": kind, "text": text, "agent": "chat", "session": "talk", **given}
    project = {"project_id": SCOPE.project_id, "name": "shop", "path": "/home/me/shop"}
    one = event({"project": SCOPE.project_id, **made}, now=EARLIER)
    return {"event": one.record(), "project": project}


def put(change: Change | Episode | Lesson | Prediction | SessionFacts, **given: Any) -> Proposal:
    """Return the proposal to write a unit, or any change, to its own scope."""
    change = _change(change)
    made = {
        "action": Action.CREATE,
        "scope": _scope(change),
        "actor": Actor.SLEEP,
        "via": "test",
    }
    return Proposal(change, **{**made, **given})


def bury(found: Tombstone, action: Action = Action.REJECT, **given: Any) -> Proposal:
    return put(Bury(found), **{"action": action, "actor": Actor.PERSON, **given})


def _change(unit: Any) -> Change:
    match unit:
        case Episode():
            return PutEpisode(unit)
        case Lesson():
            return PutLesson(unit)
        case Prediction():
            return PutPrediction(unit)
        case SessionFacts():
            return PutSession(unit)
        case _:
            return unit  # type: ignore[no-any-return]  # a change already


def _scope(change: Change) -> Scope:
    match change:
        case PutEpisode(unit) | PutLesson(unit) | PutPrediction(unit) | PutSession(unit):
            return unit.scope
        case MergeLessons(theme, _):
            return theme.scope
        case Bury(found):
            return found.scope
        case _:
            return SCOPE
