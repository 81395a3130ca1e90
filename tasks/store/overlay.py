"""The journal's tail laid over the view: add a note, hide a unit, replace a text. Nothing else.

So a reader sees its own writes at once and a rejection takes effect at once, although only a flow
ever writes the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.domain import canon
from tasks.domain.clock import instant
from tasks.domain.ids import note_id
from tasks.domain.proposals import Actor
from tasks.domain.scope import Scope
from tasks.domain.units import Grounding, Project
from tasks.store.journal import DECIDERS, Line, unfolded

HIDING = ("reject", "forget", "veto")
LAID = ("remember", "decide", "edit_file", "event")
"""The ops that lay anything over a view."""

Buried = tuple[Scope, str]


@dataclass(frozen=True, slots=True)
class Note:
    """A note that no night has folded yet; `row` is shaped like a unit's of the view."""

    row: dict[str, Any]
    scope: Scope


@dataclass(frozen=True, slots=True)
class Overlay:
    """What to add to, hide from and replace in a view.

    Attributes:
        hidden: ids of units, and of what rests on them where that is to go too.
        decided: those of them that a person decided; the rest only waits for a person.
        buried: keyed digests of values refused since the view, each with the scope it binds.
        projects: those that notes were said in, made by the next night if they are new.
        ignored: project id -> whether it is to be ignored, of those told to be or not to be.
        replaced: lesson id -> its new text.
        lines: journal lines that no night has folded yet; `bad`: those that are no lines.
    """

    notes: tuple[Note, ...]
    hidden: frozenset[str]
    buried: frozenset[Buried]
    replaced: Mapping[str, str]
    lines: int
    bad: int
    projects: tuple[Project, ...] = ()
    decided: frozenset[str] = frozenset()
    ignored: Mapping[str, bool] = field(default_factory=dict)

    def buries(self, digests: Collection[str], scope: Scope) -> bool:
        """Tell whether a value, given by its digests, was refused for a scope since the view."""
        return _buries(self.buried, digests, scope)


def overlay(journal: Path, offsets: Mapping[str, int], *, key: bytes | None) -> Overlay:
    """Return what was said since the view that covers `offsets`.

    Args:
        journal: the journal's folder.
        offsets: segment -> bytes that the view includes.
        key: the key of digests; None before the first night, when no note can have been made.
    """
    read = list(unfolded(journal, offsets))
    lines = [line for one in read for line in one.lines]
    return laid(lines, key=key, lines=len(lines), bad=sum(one.bad for one in read))


def laid(said: Iterable[Line], *, key: bytes | None, lines: int, bad: int) -> Overlay:
    """Return the overlay of journal lines, in any order.

    Args:
        said: the lines; those of ops that are not in `LAID` lay nothing over a view.
        key: the key of digests.
        lines: how many lines no night has folded.
        bad: how many of what was read are no lines.
    """
    ordered = sorted(said, key=lambda line: line.at)
    decided = [line for line in ordered if line.op == "decide" and line.body["verb"] in HIDING]
    hidden = frozenset(unit for line in decided for unit in _hides(line))
    buried = frozenset(
        (line.scope, digest) for line in decided for _, digest in line.body.get("digests", ())
    )
    return Overlay(
        notes=tuple(_notes(ordered, key, hidden, buried)) if key else (),
        hidden=hidden,
        buried=buried,
        replaced={
            line.body["lesson_id"]: line.body["text"] for line in ordered if line.op == "edit_file"
        },
        lines=lines,
        bad=bad,
        projects=tuple(_projects(ordered)),
        decided=frozenset(
            unit for line in decided if line.actor in DECIDERS for unit in _hides(line)
        ),
        ignored={
            line.body["unit_id"]: line.body["verb"] == "ignore"
            for line in ordered
            if line.op == "decide" and line.body["verb"] in ("ignore", "watch")
        },
    )


def _hides(line: Line) -> list[str]:
    forgets = line.body["verb"] == "forget" and line.actor in DECIDERS
    return [line.body["unit_id"], *(line.body.get("sources", ()) if forgets else ())]


def _notes(
    lines: Iterable[Line], key: bytes, hidden: frozenset[str], buried: frozenset[Buried]
) -> Iterable[Note]:
    seen: set[str] = set()
    for line in lines:
        if line.op != "remember":
            continue
        text = line.body["text"]
        unit = note_id(key, line.scope, canon.canon(text, 1))
        digests = {digest for _, digest in canon.digests(key, text)}
        if unit in seen | hidden or _buries(buried, digests, line.scope):
            continue
        seen.add(unit)
        yield Note(_row(unit, line, text), line.scope)


def _buries(buried: Iterable[Buried], digests: Collection[str], scope: Scope) -> bool:
    return any(digest in digests and bound.applies_to(scope) for bound, digest in buried)


def _projects(lines: Iterable[Line]) -> Iterable[Project]:
    """Yield the projects that things were said in; a note for every project makes none."""
    for line in lines:
        told = line.body.get("project") if line.op in ("remember", "event") else None
        if told and told["project_id"] == line.scope.project_id:
            yield Project(told["project_id"], told["name"], told["path"], (), instant(line.at))


def _row(unit: str, line: Line, text: str) -> dict[str, Any]:
    person = line.actor is Actor.PERSON
    return {
        "id": unit,
        "unit": "episode",
        "kind": "note",
        "text": text,
        "gist": "",
        "at": line.at,
        "agent": line.body.get("agent", ""),
        "session": line.body.get("session", ""),
        "grounding": (Grounding.PERSON if person else Grounding.INFERRED).value,
        "trust": "",
        "sources": [],
        "strength": [1.0, line.at, 0],
    }
