"""Words typed while the agent was busy: told by an attachment, or only by records of the queue.

The queue's records say `enqueue` with the words, then `dequeue` (a prompt with the same words
follows) or `remove` (they went in mid-turn). Up to client 2.1.202 `remove` names no words, so the
oldest waiting entry is meant.

Invariant: words are handed out once, by the attachment or prompt that tells them if one does.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

_TASK: Final = ("<task-notification", '{"task_id"')
_REMEMBERED: Final = 64
_BY_QUEUE: Final = "q"
_BY_ATTACHMENT: Final = "a"
_REMOVED: Final = "r"


@dataclass(slots=True, eq=False)
class Entry:
    """A waiting prompt, where its record begins in the file, and whether its words are told."""

    text: str
    uuid: str
    at: datetime
    offset: int
    told: bool = False


@dataclass(slots=True)
class Queue:
    """The prompts that wait at one point of a transcript.

    Attributes:
        waiting: enqueued, oldest first; `taken`: the one dequeued last, until its prompt comes.
        held: removed, until it is sure that no attachment tells their words.
        told: marks of words handed out from here or by an attachment that no entry waited for, and
            of records that removed words.
    """

    waiting: list[Entry] = field(default_factory=list)
    taken: list[Entry] = field(default_factory=list)
    held: list[Entry] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def operate(self, operation: object, entry: Entry) -> None:
        """Carry out one record of the queue; `entry` is what it names."""
        match operation:
            case "enqueue":
                self.waiting.append(entry)
            case "dequeue":
                self.taken = [self.waiting.pop(0)] if self.waiting else []
            case "remove":
                self._remove(entry)
            case "popAll":
                self.waiting.clear()
            case _:
                return

    def prompted(self, text: str) -> None:
        """Note that a prompt holds `text`: no record of the queue needs to tell it again."""
        taken, self.taken = self.taken, []
        if any(entry.text == text for entry in taken) or self._drop_held(text):
            return
        found = self._waiting_for(text)
        if found is None:
            return
        self.waiting.remove(found)
        self.waiting[:0] = taken  # not first in, first out: what was taken still waits

    def attached(self, text: str) -> bool:
        """Note that an attachment holds `text`; tell whether these words are new."""
        if self._was(_BY_QUEUE, text):
            return False
        if self._drop_held(text):
            return True
        found = self._waiting_for(text)
        if found is None:
            self._remember(_BY_ATTACHMENT, text)
        else:
            found.told = True
        return True

    def release(self) -> list[Entry]:
        """Hand out what was removed and what no attachment or prompt has told since."""
        out, self.held = self.held, []
        for entry in out:
            self._remember(_BY_QUEUE, entry.text)
        return out

    def _remove(self, entry: Entry) -> None:
        if entry.text and self._is_repeated(entry):
            return
        found = self._waiting_for(entry.text) if entry.text else next(iter(self.waiting), None)
        if found is not None:
            self.waiting.remove(found)
        elif not entry.text or self._was(_BY_ATTACHMENT, entry.text):
            return
        else:
            found = entry
        if found.text and not found.told and not found.text.startswith(_TASK):
            self.held.append(found)

    def _is_repeated(self, entry: Entry) -> bool:
        """Tell whether this very record was met before, and note it: such records have no uuid.

        One with no words is never taken for a repeat, since several may go at one instant.
        """
        mark = _REMOVED + digest(entry.uuid)
        repeated = mark in self.told
        if not repeated:
            self.told = [*self.told, mark][-_REMEMBERED:]
        return repeated

    def _waiting_for(self, text: str) -> Entry | None:
        return next((entry for entry in self.waiting if entry.text == text), None)

    def _drop_held(self, text: str) -> bool:
        before = len(self.held)
        self.held = [entry for entry in self.held if entry.text != text]
        return len(self.held) < before

    def _remember(self, how: str, text: str) -> None:
        self.told = [*self.told, how + digest(text)][-_REMEMBERED:]

    def _was(self, how: str, text: str) -> bool:
        """Tell whether `text` was told in this way before, and let that count once."""
        mark = how + digest(text)
        if mark not in self.told:
            return False
        self.told.remove(mark)
        return True


def digest(text: str) -> str:
    """Return a short digest, by which words are recognised without being kept."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
