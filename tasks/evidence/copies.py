"""Leave out of a session what a resumed or forked file copied from another.

A host copies the lines so far into the new file, with their uuids. A uuid that stands in several
files belongs to the file with the earliest first timestamp, then name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tasks.domain.session import Session


def drop_copied(session: Session, owned_elsewhere: Callable[[str], bool]) -> Session:
    """Return the session without the turns whose uuid another file owns.

    Args:
        session: as it was read.
        owned_elsewhere: tells of a turn's uuid whether another file owns it.
    """
    kept = tuple(turn for turn in session.turns if not owned_elsewhere(turn.uuid))
    return session if len(kept) == len(session.turns) else replace(session, turns=kept)
