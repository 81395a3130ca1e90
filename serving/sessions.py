"""The conversations that hooks told of: which project each belongs to, and which nobody typed.

Invariant: a conversation's project is decided once, by the first folder that is heard of.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final

_MOST: Final = 10_000


@dataclass(slots=True)
class Session:
    """One conversation.

    Attributes:
        project: the id of its project.
        headless: a program of ours began it.
        primed: lessons were chosen at its newest prompt.
    """

    project: str
    headless: bool = False
    primed: bool = False


class Sessions:
    """The conversations of a process, as far back as they are kept; safe between threads."""

    def __init__(self) -> None:
        self._alone = Lock()
        self._known: OrderedDict[str, Session] = OrderedDict()

    def of(self, name: str, project: Callable[[], str]) -> Session:
        """Return a conversation; of one that is new `project` says where it belongs."""
        found = self.known(name)
        if found is not None:
            return found
        made = Session(project())
        with self._alone:
            found = self._known.setdefault(name, made)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
            return found

    def known(self, name: str) -> Session | None:
        """Return a conversation that a hook told of, None for any other."""
        with self._alone:
            found = self._known.get(name)
            if found is not None:
                self._known.move_to_end(name)
            return found


def was_primed(session: Session | None) -> bool:
    """Tell whether a hook chose lessons for the turn that is now answered; it is asked once."""
    found = session is not None and session.primed
    if session is not None:
        session.primed = False
    return found
