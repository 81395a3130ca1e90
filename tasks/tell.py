"""What programs tell as events: each is checked, on the disk at once, and stands in the relay.

Invariants: one that cannot be used is named and loses no other; told twice it counts once; whose
word it is follows from the route it came in by, so an agent's is kept as an agent's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from tasks.domain.events import WITNESSES, Event, EventKind, event, of_an_agent
from tasks.domain.project import Identified, by_id, identify, is_id, project_id
from tasks.domain.proposals import Actor
from tasks.domain.scope import GLOBAL, Scope
from tasks.errors import EventInvalid, Refused, UnknownProject, UsageError
from tasks.evidence.folders import probe
from tasks.memory import Memory
from tasks.relay import Relay
from tasks.said import remember

Numbered = tuple[int, Any]
"""A line's or an item's number, counted from 1, and the JSON value in it; None where it is none."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where events come in.

    Attributes:
        project: gives the project that a name in an event means.
        scope: gives the scope of a project's id.
        default: the project of events that name none.
        actor: who tells, as the route observes it.
    """

    memory: Memory
    relay: Relay
    project: Callable[[str], Identified]
    scope: Callable[[str], Scope]
    default: Identified | None
    actor: Actor
    at: datetime


@dataclass(slots=True)
class Told:
    """What became of events.

    Attributes:
        known: how many of those accepted were told before.
        unusable: the number of each that was not taken, and why.
    """

    accepted: int = 0
    known: int = 0
    unusable: list[tuple[int, str]] = field(default_factory=list)


def lines(data: bytes) -> Iterator[Numbered]:
    """Yield the lines of a file of events that are not blank."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, orjson.loads(line)
            except ValueError:
                yield number, None


def tell(records: Iterable[Numbered], door: Door) -> Told:
    """Append events to the journal and to the relay.

    Raises:
        StoreError: when it cannot be told what was refused before.
        WriteFailed: when the disk refuses; what was told before stays told.
    """
    return _each(records, door, _append)


def relayed(records: Iterable[Numbered], door: Door) -> Told:
    """Put events into the relay alone, but for notes; the next night reads them from there.

    Raises:
        StoreError, WriteFailed: as `tell`.
    """
    return _each(records, door, _note)


def project_named(memory: Memory, name: str) -> Identified:
    """Return the project that an id, a name or an absolute path means; an unknown one is new.

    Raises:
        AmbiguousName: when several are meant.
    """
    try:
        known = memory.project(name)
    except UnknownProject:
        if Path(name).is_absolute():
            return identify(name, memory.known_cwds(), probe)
        if is_id(name):
            return by_id(name)
        return Identified(project_id(name), name, name)
    return Identified(known.project_id, known.path, known.name)


def _each(
    records: Iterable[Numbered], door: Door, take: Callable[[Event, Identified, Door], None]
) -> Told:
    told, taken = Told(), []
    for number, record in records:
        try:
            one, project = _understood(record, door)
            _require_not_buried(one, door)
            take(one, project, door)
        except (UsageError, Refused) as why:
            told.unusable.append((number, str(why)))
        else:
            taken.append(one)
    told.accepted = len(taken)
    told.known = len(taken) - (len(door.relay.append(taken)) if taken else 0)
    return told


def _understood(record: Any, door: Door) -> tuple[Event, Identified]:
    """Return the event under its project's id, by the authority of who tells it."""
    if not isinstance(record, dict):
        raise EventInvalid("the line", "it is a JSON object")
    one = event(record, now=door.at)
    project = door.project(one.project) if one.project.strip() else door.default
    if project is None or project.project_id == GLOBAL:
        raise EventInvalid("project", "name the project that it happened in")
    one = replace(one, project=project.project_id)
    return (one if door.actor in WITNESSES else of_an_agent(one)), project


def _require_not_buried(one: Event, door: Door) -> None:
    if door.memory.is_buried(one.text, door.scope(one.project)):
        raise Refused(
            "this was rejected or forgotten before", "`everest lessons --rejected` lists what was"
        )


def _append(one: Event, project: Identified, door: Door) -> None:
    if one.kind is EventKind.NOTE:
        _note(one, project, door)
        return
    body = {"event": one.record(), "project": asdict(project)}
    scope = door.scope(one.project)
    door.memory.append("event", body, scope=scope, actor=door.actor, at=door.at)


def _note(one: Event, project: Identified, door: Door) -> None:
    if one.kind is EventKind.NOTE:
        remember(
            door.memory,
            one.text,
            scope=door.scope(one.project),
            project=project,
            actor=door.actor,
            at=door.at,
            by=(one.agent, one.session),
        )
