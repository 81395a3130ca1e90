"""Make a mark of a conversation, and the conversation again from a mark.

Invariant: a conversation made from its mark goes on exactly as the one that the mark was made of.
"""

from __future__ import annotations

from pathlib import Path

from tasks.domain.session import PersonTurn
from tasks.evidence.conversation import Conversation
from tasks.evidence.facts import Facts
from tasks.evidence.queued import Entry, Queue
from tasks.evidence.reading import Mark, Resume
from tasks.evidence.records import record_at
from tasks.evidence.repeats import Repeats
from tasks.evidence.turns import Turns


def mark_of(conversation: Conversation, last: PersonTurn, *, offset: int, line: int) -> Mark:
    """Return the mark at a byte offset, `line` newlines into the file, where `last` just ended."""
    facts, counts = conversation.facts, conversation.counts
    return Mark(
        offset=offset,
        line=line,
        last=last.uuid,
        session_id=facts.session_id,
        cwd=facts.cwd,
        started=facts.started,
        ended=facts.ended,
        title_at=facts.title_at,
        interrupts=facts.interrupts,
        refusals=facts.refusals,
        human=facts.human,
        machine=facts.machine,
        headless=facts.headless,
        read=counts.read,
        used=counts.used,
        duplicates=counts.duplicates,
        set_aside=tuple(sorted(counts.set_aside.items())),
        failed=tuple(counts.failed),
        pending=tuple((entry.offset, int(entry.told)) for entry in conversation.queue.waiting),
        told=tuple(conversation.queue.told),
        recent=tuple(conversation.repeats.recent),
        horizon=conversation.repeats.horizon,
    )


def resumed(path: Path, resume: Resume, agent: str) -> Conversation:
    """Return the conversation as it stood at the mark, `resume` holding no turn after it.

    Texts that a mark does not hold are read again from the lines it points to.
    """
    mark = resume.mark
    conversation = Conversation(
        agent,
        _facts(path, mark),
        Turns(resume.turns),
        mark.counts,
        Repeats(mark.recent, mark.horizon),
    )
    waiting = [_waiting(path, conversation, *pending) for pending in mark.pending]
    conversation.queue = Queue(waiting, told=list(mark.told))
    return conversation


def _facts(path: Path, mark: Mark) -> Facts:
    facts = Facts(
        mark.session_id,
        mark.cwd,
        mark.started,
        mark.ended,
        interrupts=mark.interrupts,
        refusals=mark.refusals,
        human=mark.human,
        machine=mark.machine,
        headless=mark.headless,
    )
    if mark.title_at >= 0:
        facts.title_from(record_at(path, mark.title_at), mark.title_at)
    return facts


def _waiting(path: Path, conversation: Conversation, offset: int, told: int) -> Entry:
    """Return the entry that the record at `offset` enqueued."""
    entry = conversation.entry(record_at(path, offset), offset)
    entry.told = bool(told)
    return entry
