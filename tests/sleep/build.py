"""Synthetic material for the passes: vectors on chosen directions, episodes and lessons on top.

`applied` does to material what the gateway does to the store, without refusing anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from tasks.domain.canon import canon
from tasks.domain.frames import EPISODES
from tasks.domain.ids import digest_of, lesson_hash, lesson_id
from tasks.domain.proposals import (
    Archive,
    MergeLessons,
    Proposal,
    PutLesson,
    PutPrediction,
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
    Trust,
)
from tasks.sleep.material import Cuts, Material, Vectors

DIM = 64
CUTS = Cuts(join=0.62, verify=0.62)
SCOPE = Scope("me", "user", "default", "shop-0a1b2c3d")
DAY = timedelta(days=1)
NOW = datetime(2026, 6, 1, 3, 0, tzinfo=UTC)
EARLIER = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
ALWAYS = "Always annotate types in tests."
NEVER = "Never annotate types in tests."
OTHER = "Always write commit messages in the imperative."


def axis(theme: int, *, lean: int | None = None, by: float = 0.0) -> np.ndarray:
    """Return a unit vector along one axis, leaning by a share towards another."""
    vector = np.zeros(DIM, dtype=np.float32)
    vector[theme] = 1.0
    if lean is not None:
        vector[lean] = by
    return vector / np.linalg.norm(vector)


@dataclass
class World:
    """A scope to put things into; `material()` is what a pass then sees."""

    episodes: list[Episode] = field(default_factory=list)
    vectors: dict[str, np.ndarray] = field(default_factory=dict)
    lessons: list[Lesson] = field(default_factory=list)
    predictions: list[Prediction] = field(default_factory=list)
    sessions: list[SessionFacts] = field(default_factory=list)
    shown: dict[str, set[str]] = field(default_factory=dict)

    def put(self, episode: Episode, vector: np.ndarray | None) -> Episode:
        self.episodes.append(episode)
        if vector is not None:
            self.vectors[episode.id] = vector
        return episode

    def correction(
        self,
        session: str,
        words: str = ALWAYS,
        *,
        theme: int = 0,
        at: datetime = EARLIER,
        **more: Any,
    ) -> Episode:
        """Put a lasting correction of the person's, unless told otherwise."""
        given = {"lasting": True, "rule": words} | more
        return self._met(EpisodeKind.CORRECTION, session, words, theme, at, given)

    def passing(
        self,
        session: str,
        words: str = ALWAYS,
        *,
        theme: int = 0,
        at: datetime = EARLIER,
        **more: Any,
    ) -> Episode:
        """Put a correction that states no lasting rule."""
        return self.correction(session, words, theme=theme, at=at, lasting=False, rule="", **more)

    def error(
        self, session: str, *, theme: int = 0, at: datetime = EARLIER, **more: Any
    ) -> Episode:
        given = {
            "grounding": Grounding.TOOL,
            "tool": "Bash",
            "command": "pytest",
            "error_class": "ModuleNotFoundError",
        } | more
        words = "ModuleNotFoundError: No module named 'shop'"
        return self._met(EpisodeKind.ERROR, session, words, theme, at, given)

    def surprise(
        self, session: str, *, theme: int = 0, at: datetime = EARLIER, **more: Any
    ) -> Episode:
        words = "I expected the config to be YAML, but it is TOML."
        given = {"grounding": Grounding.INFERRED} | more
        return self._met(EpisodeKind.SURPRISE, session, words, theme, at, given)

    def of_kind(self, kind: EpisodeKind, session: str, *, theme: int = 0, **more: Any) -> Episode:
        return self._met(kind, session, ALWAYS, theme, EARLIER, more)

    def _met(  # noqa: PLR0917  one place where an episode is made
        self,
        kind: EpisodeKind,
        session: str,
        words: str,
        theme: int,
        at: datetime,
        more: Mapping[str, Any],
    ) -> Episode:
        vector = more.get("vector", axis(theme))
        rest = {name: value for name, value in more.items() if name != "vector"}
        recorded = rest.pop("recorded_at", at)
        base = Episode(
            id=digest_of("test", kind, session, len(self.episodes)),
            scope=SCOPE,
            agent="claude-code",
            session_id=session,
            kind=kind,
            anchor=f"anchor-{len(self.episodes)}",
            title=words[:60],
            gist=words,
            words=words,
            at=at,
            recorded_at=recorded,
            grounding=Grounding.PERSON,
            strength=Strength(1.0, recorded),
        )
        return self.put(replace(base, **rest), vector)

    def lesson(self, *sources: Episode, text: str = "", **more: Any) -> Lesson:
        """Put a corroborated lesson resting on the episodes."""
        first = min(sources, key=lambda e: (e.at, e.id))
        text = text or first.words
        recorded = more.pop("recorded_at", first.recorded_at)
        taken = frozenset(lesson.id for lesson in self.lessons)
        made = Lesson(
            id=lesson_id(SCOPE, first.kind, first.id, taken=taken),
            version=1,
            scope=SCOPE,
            kind=first.kind,
            text=text,
            quote=first.words,
            trust=Trust.CORROBORATED,
            lifecycle=Lifecycle.LIVE,
            grounding=first.grounding,
            sources=tuple(sorted(e.id for e in sources)),
            sessions=tuple(sorted({e.session_id for e in sources})),
            valid_from=first.at,
            recorded_at=recorded,
            strength=Strength(1.0, recorded),
            hash=lesson_hash(first.kind, canon(text)),
        )
        made = replace(made, **more)
        self.lessons.append(made)
        return made

    def session(
        self, name: str, *, started: datetime, topic: Sequence[str] = (), scope: Scope = SCOPE
    ) -> SessionFacts:
        facts = SessionFacts(
            id=name,
            agent="claude-code",
            scope=scope,
            path=f"{name}.jsonl",
            cwd="/shop",
            started=started,
            ended=started + timedelta(hours=1),
            title=name,
            turns=4,
            person_turns=(),
            offers=(),
            waits=0,
            refusals=(),
            topic=tuple(topic),
            by_person=True,
            evidence_bytes=0,
        )
        self.sessions.append(facts)
        return facts

    def show(self, lesson: Lesson, *sessions: str) -> None:
        self.shown.setdefault(lesson.id, set()).update(sessions)

    def material(self) -> Material:
        return Material(
            scope=SCOPE,
            episodes=frame(self.episodes),
            vectors=stacked(self.vectors),
            lessons=tuple(sorted(self.lessons, key=lambda lesson: lesson.id)),
            predictions=tuple(self.predictions),
            sessions=tuple(self.sessions),
            shown={unit: frozenset(names) for unit, names in self.shown.items()},
        )


def frame(episodes: Iterable[Episode]) -> pl.DataFrame:
    """Return the episodes as a frame of schema EPISODES, sorted by (at, id)."""
    rows = [_row(episode) for episode in sorted(episodes, key=lambda e: (e.at, e.id))]
    return pl.DataFrame(rows, schema=EPISODES)


def stacked(vectors: Mapping[str, np.ndarray]) -> Vectors:
    matrix = np.stack(list(vectors.values())) if vectors else np.zeros((0, DIM), np.float32)
    return Vectors({unit: row for row, unit in enumerate(vectors)}, matrix.astype(np.float32))


def shuffled(material: Material, seed: int) -> Material:
    """Return the same material with rows, vectors and sequences in another order."""
    draw = np.random.default_rng(seed)
    ids = list(material.vectors.rows)
    order = draw.permutation(len(ids))
    vectors = {ids[i]: material.vectors.matrix[material.vectors.rows[ids[i]]] for i in order}
    return replace(
        material,
        episodes=material.episodes.sample(fraction=1.0, shuffle=True, seed=seed),
        vectors=stacked(vectors),
        lessons=tuple(material.lessons[i] for i in draw.permutation(len(material.lessons))),
    )


def applied(material: Material, proposals: Iterable[Proposal]) -> Material:
    """Return the material once every proposal was stored."""
    lessons = {lesson.id: lesson for lesson in material.lessons}
    predictions = {bet.id: bet for bet in material.predictions}
    archived: dict[str, datetime] = {}
    for proposal in proposals:
        match proposal.change:
            case PutLesson(lesson=lesson):
                lessons[lesson.id] = _next_version(lessons, lesson)
            case MergeLessons(theme=theme, absorbed=absorbed):
                for lesson in (theme, *absorbed):
                    lessons[lesson.id] = _next_version(lessons, lesson)
            case PutPrediction(prediction=bet):
                predictions[bet.id] = bet
            case Archive(unit="episode", unit_id=unit, at=at):
                archived[unit] = at
            case Archive(unit_id=unit):
                lessons[unit] = replace(lessons[unit], lifecycle=Lifecycle.ARCHIVED)
            case other:
                raise AssertionError(other)
    when = pl.col("id").replace_strict(
        archived, default=None, return_dtype=pl.Datetime("us", "UTC")
    )
    return replace(
        material,
        episodes=material.episodes.with_columns(
            archived_at=pl.coalesce("archived_at", when) if archived else pl.col("archived_at")
        ),
        lessons=tuple(lessons[unit] for unit in sorted(lessons)),
        predictions=tuple(predictions.values()),
    )


def _next_version(known: Mapping[str, Lesson], lesson: Lesson) -> Lesson:
    before = known[lesson.id].version if lesson.id in known else 0
    assert lesson.version == before + 1
    return lesson


def _row(episode: Episode) -> dict[str, Any]:
    row = {name: value for name, value in asdict(episode).items() if name in EPISODES.names()}
    return row | {
        "kind": episode.kind.value,
        "grounding": episode.grounding.value,
        "topic": list(episode.topic),
        "strength": episode.strength.value,
        "as_of": episode.strength.as_of,
    }
