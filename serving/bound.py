"""What an agent's calls are bound to before the first of them: whose memory, which project.

Invariant: no argument of a call widens it.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Protocol

from tasks.domain.clock import Clock, local_day
from tasks.domain.project import Identified
from tasks.domain.scope import Scope
from tasks.embedding.space import Space
from tasks.memory import Memory


class Reader(Protocol):
    """Where a tool reads: each call gets the memory as it is now."""

    @property
    def space(self) -> Space:
        """Return the space that questions are read in."""
        ...

    def memory(self) -> Memory:
        """Return one consistent reading."""
        ...


@dataclass(frozen=True, slots=True)
class Bound:
    """What a caller's calls are bound to.

    Attributes:
        project: where a note is said, made by the next night if it is new.
        zone: in which days are counted.
    """

    reader: Reader
    scope: Scope
    project: Identified
    zone: tzinfo
    clock: Clock

    def day(self, at: datetime) -> str:
        """Return the day of an instant."""
        return str(local_day(at, self.zone))


MakeBound = Callable[[MutableMapping[str, Any]], Bound]
"""Given a request's ASGI scope, return what its calls are bound to; an EverestError refuses."""
