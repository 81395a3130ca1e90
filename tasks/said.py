"""What a person or an agent says to the memory: remember, reject, forget. Appended, never written.

Each is checked against what was refused before, answered `accepted` or refused, and decided finally
by the gateway when a night folds it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from tasks.domain import canon
from tasks.domain.ids import note_id
from tasks.domain.project import Identified
from tasks.domain.proposals import Actor
from tasks.domain.redaction import redact
from tasks.domain.scope import Scope
from tasks.domain.units import Project
from tasks.errors import Refused, UsageError
from tasks.memory import Found, Memory
from tasks.settings import Places

MAX_NOTE = 4_000


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was accepted: the unit's id, and what happens to it now and at the next night."""

    unit_id: str
    now: str


def remember(  # noqa: PLR0913  what, for whom, by whom and when
    memory: Memory,
    text: str,
    *,
    scope: Scope,
    project: Identified,
    actor: Actor,
    at: datetime,
    by: tuple[str, str] = ("", ""),
) -> Accepted:
    """Append a note; it can be recalled at once.

    Args:
        memory: the reader, for what was refused before.
        text: what to remember; redacted before it is written.
        scope: whose memory it goes to.
        project: the project the words were said in, made by the next night if it is new.
        actor: who says it.
        at: now.
        by: the agent and the session that it was said in, where there was one.

    Raises:
        UsageError: when there is nothing in it, or too much.
        Refused: when this very value was rejected or forgotten in this scope.
    """
    clean = redact(text.encode(errors="replace").decode().strip())
    if not canon.canon(clean):
        raise UsageError("nothing to remember: the text is empty")
    if len(clean) > MAX_NOTE:
        raise UsageError(f"a note holds at most {MAX_NOTE} characters, this one has {len(clean)}")
    if memory.is_buried(clean, scope):
        raise Refused(
            "this was rejected or forgotten before", "`everest lessons --rejected` lists what was"
        )
    agent, session = by
    body = {"text": clean, "project": asdict(project), "agent": agent, "session": session}
    memory.append("remember", body, scope=scope, actor=actor, at=at)
    unit = note_id(memory.key_for_writing(), scope, canon.canon(clean, 1))
    return Accepted(unit, "it can be recalled from now on")


def decide(  # noqa: PLR0913  who decides what, about which unit, and why
    memory: Memory, verb: str, found: Found, *, reason: str, actor: Actor, at: datetime
) -> Accepted:
    """Append a rejection or a forgetting; the unit is out of every reading at once.

    Args:
        memory: the reader, for the wordings that the decision binds.
        verb: `reject` or `forget`.
        found: the unit.
        reason: one line, kept with the decision.
        actor: a person decides; from anyone else it only withholds, until a person decides.
        at: now.

    Raises:
        UsageError: when a rejection gives no reason.
    """
    if verb == "reject" and not reason.strip():
        raise UsageError("give a reason: --reason 'why this is wrong'")
    body = {
        "verb": verb,
        "unit": found.row["unit"],
        "unit_id": found.row["id"],
        "sources": found.row["sources"],
        "digests": memory.digests([found.row["text"]]),
        "reason": reason.strip(),
    }
    memory.append("decide", body, scope=found.scope, actor=actor, at=at)
    return Accepted(found.row["id"], _consequence(verb, actor))


def _consequence(verb: str, actor: Actor) -> str:
    if actor is not Actor.PERSON:
        return (
            "withheld from now on; only a person at a terminal can decide it for good, "
            "and the next morning report asks"
        )
    if verb == "forget":
        return (
            "hidden from now on and kept out for good; the next night deletes its rows and files, "
            "and `everest compact` its bytes from the store's file"
        )
    return (
        "hidden from now on and not learned again; its file goes with the next night or "
        "`everest render`"
    )


def logs_with_words(places: Places) -> list[Path]:
    """Return the places of ours, if they are there, where words stand that the store has erased.

    The logs keep what they were told, and a report what it told, until its next night.
    """
    kept = (places.ledger, places.journal, places.evidence, places.morning)
    return [path for path in kept if path.exists()]


def arrange(  # noqa: PLR0913  what becomes of which project, by whom and when
    memory: Memory,
    verb: str,
    project: Project,
    *,
    name: str = "",
    scope: Scope,
    actor: Actor,
    at: datetime,
) -> Accepted:
    """Append a change to a project: `ignore` it, `watch` it again, or `rename` it.

    Raises:
        UsageError: when a new name is empty.
    """
    if verb == "rename" and not name.strip():
        raise UsageError("give the new name: everest project rename PROJECT NAME")
    body = {
        "verb": verb,
        "unit": "project",
        "unit_id": project.project_id,
        "name": name.strip(),
        "path": project.path,
        "old_name": project.name,
    }
    memory.append("decide", body, scope=scope, actor=actor, at=at)
    return Accepted(project.project_id, "the next run of everest takes it in")
