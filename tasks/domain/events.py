"""The open event format: one thing that happened, as any program may tell it, one JSON object.

The relay's lines are events too. Invariant: an `Event` has a known kind and role, a text within
bounds and an instant; what is not so is refused with the field named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

from tasks.domain.clock import instant, iso
from tasks.domain.ids import digest_of
from tasks.domain.project import slug
from tasks.domain.proposals import Actor
from tasks.errors import EventInvalid

E = TypeVar("E", bound=StrEnum)

VERSION: Final = 1
LONGEST_TEXT: Final = 32_000
_LONGEST_NAME: Final = 500
_EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}\Z")
_NAMES: Final = ("project", "agent", "model", "session", "id")


WITNESSES: Final = (Actor.PERSON, Actor.HOST)
"""By whose word an event may hold the person's words or what was observed: the person at a
terminal, and the app that a token was given to. Anyone else's is an agent's own."""


class EventKind(StrEnum):
    """What an event tells of."""

    TURN = "turn"
    CORRECTION = "correction"
    ERROR = "error"
    SURPRISE = "surprise"
    ENVIRONMENT = "environment"
    DEPLOY = "deploy"
    NOTE = "note"


class Role(StrEnum):
    """Whose words they are; "" where it does not matter, as for a deploy."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        project: an id, a name or a folder as told; in the relay the project's id.
        session: the conversation, as the agent names it.
        id: makes telling it twice harmless.
    """

    kind: EventKind
    text: str
    role: Role
    project: str
    agent: str
    model: str
    session: str
    at: datetime
    id: str

    def record(self) -> dict[str, Any]:
        """Return it as the JSON object that `event` reads."""
        return {
            "v": VERSION,
            "kind": self.kind.value,
            "text": self.text,
            "role": self.role.value,
            "project": self.project,
            "agent": self.agent,
            "model": self.model,
            "session": self.session,
            "at": iso(self.at),
            "id": self.id,
        }


def event(record: Mapping[str, Any], *, now: datetime) -> Event:
    """Return the event that a JSON object tells.

    Only `kind` and `text` are required. Without `at` it happens now; without `id` one is made of
    all else, so that the same line told twice is one event. Unknown fields are passed over.

    Raises:
        EventInvalid: when a field cannot be used; it is named.
    """
    if record.get("v", VERSION) != VERSION:
        raise EventInvalid("v", f"this Everest reads version {VERSION}")
    kind, role = _one_of(EventKind, record, "kind", "none"), _one_of(Role, record, "role", "")
    text = _text(record, "text", LONGEST_TEXT)
    if not text.strip():
        raise EventInvalid("text", "it is empty")
    names = {name: _text(record, name, _LONGEST_NAME) for name in _NAMES}
    at = _at(record, now)
    made = digest_of("event", kind, text, role, *names.values(), record.get("at", ""))
    return Event(kind, text, role, at=at, **{**names, "id": names["id"] or made})


def session_name(told: str) -> str:
    """Return a session as an id that can name a file: as told where that can, else made of it."""
    if not told or _SESSION.match(told):
        return told
    return f"{slug(told)}-{digest_of('session', told)[:16]}"


def of_an_agent(one: Event) -> Event:
    """Return an event as it counts when an agent tells it: a note of its own, or a deploy.

    So no agent puts words into the person's mouth, and none bears witness to what it claims.
    """
    kind = one.kind if one.kind is EventKind.DEPLOY else EventKind.NOTE
    role = Role.ASSISTANT if one.role is Role.USER else one.role
    return replace(one, kind=kind, role=role)


def _one_of(kinds: type[E], record: Mapping[str, Any], name: str, default: str) -> E:
    try:
        return kinds(record.get(name, default))
    except ValueError:
        raise EventInvalid(name, f"it is one of {', '.join(filter(None, kinds))}") from None


def _text(record: Mapping[str, Any], name: str, most: int) -> str:
    value = record.get(name, "")
    if not isinstance(value, str):
        raise EventInvalid(name, "it is a text")
    if len(value) > most:
        raise EventInvalid(name, f"it holds at most {most} characters, this one has {len(value)}")
    return value.encode(errors="replace").decode()  # a lone surrogate has no bytes


def _at(record: Mapping[str, Any], now: datetime) -> datetime:
    told = record.get("at")
    if told is None:
        return now
    try:
        at = instant(told)
    except (ValueError, TypeError, OverflowError):
        raise EventInvalid("at", "it is an instant in ISO 8601") from None
    if at < _EARLIEST:
        raise EventInvalid("at", f"it is after {_EARLIEST.date()}")
    return at
