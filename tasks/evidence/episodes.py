"""From a session and what was found in it to the episodes and facts that are stored.

Invariant: pure; reading the same session again gives the same ids. An error class met again with
the same tool and command in one session is one episode with a count, not many. No text here is
redacted yet: the gateway does that before bytes are written.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from tasks.domain.ids import episode_id, session_episode_id
from tasks.domain.proposals import STOPPED, SessionFacts
from tasks.domain.scope import Scope
from tasks.domain.session import AgentTurn, PersonTurn, Session, ToolCall
from tasks.domain.units import Episode, EpisodeKind, Grounding, Strength
from tasks.domain.ways import replaced
from tasks.evidence.detectors import (
    Correction,
    Environment,
    Error,
    Findings,
    Surprise,
    command_of,
    gapped,
    kind_of,
    own_words,
    telling,
)

_TITLE: Final = 120
_GIST: Final = 600
_WORDS: Final = 2000
_QUOTED: Final = 500
_ASKED: Final = 220
_ENDED: Final = 160
_FILES: Final = 6
_TOPICS: Final = 12
_FILE_TOOLS: Final = frozenset({"Read", "Edit", "Write", "MultiEdit", "NotebookEdit"})
_CHANGING: Final = _FILE_TOOLS - {"Read"}


@dataclass(frozen=True, slots=True)
class _Maker:
    """What all episodes of one session share."""

    session: Session
    scope: Scope
    recorded_at: datetime

    def episode(  # noqa: PLR0913  the parts of an episode, all named
        self, kind: EpisodeKind, anchor: str, *, at: datetime, title: str, gist: str, words: str
    ) -> Episode:
        agent = self.session.agent
        return Episode(
            id=episode_id(agent, kind.value, anchor),
            scope=self.scope,
            agent=agent,
            session_id=self.session.id,
            kind=kind,
            anchor=anchor,
            title=_cut(title, _TITLE),
            gist=_cut(gist, _GIST),
            words=words,
            at=at,
            recorded_at=self.recorded_at,
            grounding=_GROUNDING[kind],
            strength=Strength(1.0, self.recorded_at),
        )


_GROUNDING: Final = {
    EpisodeKind.SESSION: Grounding.INFERRED,
    EpisodeKind.CORRECTION: Grounding.PERSON,
    EpisodeKind.ERROR: Grounding.TOOL,
    EpisodeKind.SURPRISE: Grounding.INFERRED,
    EpisodeKind.ENVIRONMENT: Grounding.TOOL,
}


def episodes_of(
    session: Session, findings: Findings, scope: Scope, recorded_at: datetime
) -> list[Episode]:
    """Return the session's own episode and one for each thing found in it, in the order found."""
    maker = _Maker(session, scope, recorded_at)
    return [
        _session(maker, findings),
        *(_correction(maker, found) for found in findings.corrections),
        *_errors(maker, findings.errors),
        *(_surprise(maker, found) for found in findings.surprises),
        *_environment(maker, findings.environment),
    ]


def facts_of(
    session: Session, findings: Findings, scope: Scope, evidence_bytes: int
) -> SessionFacts:
    """Return a session's counts and pointers, without text but its title."""
    refused = Counter(kind_of(refusal.call).value for refusal in findings.refusals)
    return SessionFacts(
        id=session.id,
        agent=session.agent,
        scope=scope,
        path=session.path,
        cwd=session.cwd,
        started=session.started,
        ended=session.ended,
        title=_cut(_title(session), _TITLE),
        turns=len(session.turns),
        person_turns=tuple(_short_digest(turn.uuid) for turn in _person_turns(session)),
        offers=tuple(
            (offer.kind.value, STOPPED if offer.at_call else offer.answer.value)
            for offer in findings.offers
        ),
        waits=findings.waits,
        refusals=tuple(sorted(refused.items())),
        topic=_topic(call for turn in _agent_turns(session) for call in turn.calls),
        by_person=session.by_person,
        evidence_bytes=evidence_bytes,
    )


def _session(maker: _Maker, findings: Findings) -> Episode:
    session = maker.session
    calls = [call for turn in _agent_turns(session) for call in turn.calls]
    made = maker.episode(
        EpisodeKind.SESSION,
        "session",
        at=session.started,
        title=_title(session),
        gist=" ".join(_told(session, findings, calls)),
        words=_first_words(session),
    )
    return replace(
        made, id=session_episode_id(session.agent, session.id), topic=_topic(calls)[:_TOPICS]
    )


def _told(session: Session, findings: Findings, calls: list[ToolCall]) -> Iterator[str]:
    """Yield the sentences of a session's gist: what was asked, touched, met, and how it ended."""
    if asked := _first_words(session):
        yield f'Asked: "{_cut(asked, _ASKED)}".'
    changed = dict.fromkeys(_name(call.line) for call in calls if call.name in _CHANGING)
    if changed:
        more = f" and {len(changed) - _FILES} more" if len(changed) > _FILES else ""
        yield f"Changed {', '.join(list(changed)[:_FILES])}{more}."
    if topic := _topic(calls):
        yield f"Used {', '.join(topic[:_TOPICS])}."
    met = {
        "corrections": sum(not found.standing for found in findings.corrections),
        "refusals": len(findings.refusals),
        "errors": len(findings.errors),
    }
    if counted := [f"{count} {name}" for name, count in met.items() if count]:
        yield f"Met {', '.join(counted)}."
    if said := _last_line(session):
        yield f'Ended: "{_cut(said, _ENDED)}".'


def _correction(maker: _Maker, found: Correction) -> Episode:
    """A correction's words are the person's alone; a stopped call gives its tool and command."""
    before = found.before.calls if found.before else ()
    refused = found.turn.refused
    made = maker.episode(
        EpisodeKind.CORRECTION,
        found.turn.uuid,
        at=found.turn.at,
        title=found.rule or found.words,
        gist=_situation(found),
        words=_cut(found.words, _WORDS),
    )
    return replace(
        made,
        rule=gapped(found.rule, found.turn.text),
        lasting=found.lasting,
        standing=found.standing,
        tool=refused.name if refused else "",
        command=command_of(refused) if refused else "",
        topic=_topic((*before[-_TOPICS:], *((refused,) if refused else ())))[:_TOPICS],
    )


def _situation(found: Correction) -> str:
    refused = found.turn.refused
    if refused is not None:
        return f"Said while refusing {refused.name}: {_cut(refused.line, _ENDED)}"
    if found.before is None:
        return ""
    lead = "Said after an interrupt; the agent" if found.turn.after_interrupt else "The agent"
    return f'{lead} had said: "{_cut(_closing(found.before.text), _ASKED)}"'


def _errors(maker: _Maker, errors: Iterable[Error]) -> Iterator[Episode]:
    """Yield one episode for each class, tool and command, anchored at the first such call."""
    alike: dict[tuple[str, str, str], list[Error]] = {}
    for error in errors:
        alike.setdefault((error.error_class, error.call.name, error.command), []).append(error)
    for (error_class, tool, command), met in alike.items():
        first = met[0]
        run = f" {command}" if command else ""
        made = maker.episode(
            EpisodeKind.ERROR,
            first.call.id,
            at=first.at,
            title=f"{tool}{run}: {error_class.replace('_', ' ')}",
            gist=f"{len(met)} time(s) in this session. First: {_cut(_flat(first.text), _ASKED)}",
            words=_cut(telling(first.text, error_class), _QUOTED),
        )
        yield replace(
            made,
            tool=tool,
            error_class=error_class,
            command=command,
            topic=tuple(dict.fromkeys((*_topic([first.call]), *_ways(met)))),
        )


def _ways(met: list[Error]) -> Iterator[str]:
    """Yield how the failed calls were run, and what worked in place of the first that had one."""
    yield from (way for error in met for way in error.ways)
    found = next((error.instead for error in met if error.instead), None)
    if found:
        yield replaced(*found)


def _surprise(maker: _Maker, found: Surprise) -> Episode:
    made = maker.episode(
        EpisodeKind.SURPRISE,
        found.turn.uuid,
        at=found.turn.at,
        title=found.sentence,
        gist="The agent said so itself.",
        words=_cut(found.sentence, _QUOTED),
    )
    return replace(made, topic=_topic(found.turn.calls)[:_TOPICS])


def _environment(maker: _Maker, found: Iterable[Environment]) -> Iterator[Episode]:
    """Yield one episode a cause: a limit hit ten times in one session is one circumstance."""
    alike: dict[str, list[Environment]] = {}
    for met in found:
        alike.setdefault(met.cause, []).append(met)
    for cause, times in alike.items():
        first = times[0]
        yield maker.episode(
            EpisodeKind.ENVIRONMENT,
            first.anchor,
            at=first.at,
            title=cause.replace("_", " "),
            gist=f"{len(times)} time(s) in this session. First: {_cut(_flat(first.text), _ASKED)}",
            words=_cut(first.text.strip(), _QUOTED),
        )


def _title(session: Session) -> str:
    return session.title or _first_words(session) or f"{session.agent} session"


def _first_words(session: Session) -> str:
    words = (_flat(own_words(turn.text)) for turn in _person_turns(session))
    return next((found for found in words if found), "")


def _last_line(session: Session) -> str:
    said = [turn.text for turn in _agent_turns(session) if turn.text.strip()]
    return _closing(said[-1]) if said else ""


def _closing(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _topic(calls: Iterable[ToolCall]) -> tuple[str, ...]:
    """Return the tools and the first words of commands, sorted."""
    names = {name for call in calls for name in (call.name, command_of(call)) if name}
    return tuple(sorted(names))


def _name(path: str) -> str:
    return PurePosixPath(path.replace("\\", "/")).name


def _person_turns(session: Session) -> Iterator[PersonTurn]:
    return (turn for turn in session.turns if isinstance(turn, PersonTurn))


def _agent_turns(session: Session) -> Iterator[AgentTurn]:
    return (turn for turn in session.turns if isinstance(turn, AgentTurn))


def _short_digest(uuid: str) -> str:
    return hashlib.sha256(uuid.encode()).hexdigest()[:16]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"
