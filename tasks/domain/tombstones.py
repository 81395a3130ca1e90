"""The ladder that keeps refused values out: the exact rung and the lineage rung, both scoped.

The exact rung stops a wording, the lineage rung its rewordings: sleep writes another sentence from
the same episodes every night. Nothing here expires, and a rejection in one project binds no other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final

from tasks.domain.proposals import Refusal
from tasks.domain.scope import Scope
from tasks.domain.units import Tombstone, TombstoneKind

Digests = tuple[tuple[str, str], ...]

EXACT: Final = "refused before"
LINEAGE: Final = "lineage"
CONTESTED: Final = "contested"
NEW_WITNESSES: Final = 2

LINEAGE_KINDS: Final = frozenset(
    {
        TombstoneKind.REJECTED,
        TombstoneKind.FORGOTTEN,
        TombstoneKind.VETO,
        TombstoneKind.SUPERSEDED,
    }
)
"""Kinds that bind their sources. A kind added later binds none until it is put here."""


def exact(digests: Digests, scope: Scope, stones: Iterable[Tombstone]) -> Tombstone | None:
    """Return the earliest tombstone that holds the value under any kept canon version."""
    mine = set(digests)
    return _earliest(s for s in stones if s.scope.applies_to(scope) and mine & set(s.digests))


def lineage(
    sources: Collection[str], scope: Scope, stones: Iterable[Tombstone], *, unit_id: str = ""
) -> Tombstone | None:
    """Return the earliest tombstone to which half or more of the candidate's sources belong.

    Args:
        sources: ids of the episodes the candidate rests on; after a merge, all of them.
        scope: the candidate's.
        stones: every tombstone that could apply; those of other scopes are passed over.
        unit_id: the candidate's own id, if it has one: the corrected version of a lesson rests on
            the sources of its old wording, and that wording's tombstone does not bind it.
    """
    mine = set(sources)
    return _earliest(
        s
        for s in stones
        if s.kind in LINEAGE_KINDS
        and s.scope.applies_to(scope)
        and not (s.kind is TombstoneKind.SUPERSEDED and s.unit_id == unit_id)
        and 0 < len(mine) <= 2 * len(mine & set(s.sources))
    )


def contested(stone: Tombstone, new_sessions: Mapping[str, datetime]) -> bool:
    """Tell whether enough new evidence stands against a rejection.

    Args:
        stone: the rejection.
        new_sessions: when each independent session of the person's behind the candidate began (not
            shown the lesson); those after the rejection count.
    """
    return sum(began > stone.at for began in new_sessions.values()) >= NEW_WITNESSES


def refused(  # noqa: PLR0913  one argument for each thing that the ladder asks about a candidate
    digests: Digests,
    sources: Collection[str],
    scope: Scope,
    stones: Collection[Tombstone],
    *,
    new_sessions: Mapping[str, datetime],
    unit_id: str = "",
) -> Refusal | None:
    """Return the refusal that the ladder gives a candidate, the exact rung first, or None."""
    if stone := exact(digests, scope, stones):
        return Refusal(EXACT, stone.id)
    if stone := lineage(sources, scope, stones, unit_id=unit_id):
        return Refusal(CONTESTED if contested(stone, new_sessions) else LINEAGE, stone.id)
    return None


def _earliest(stones: Iterable[Tombstone]) -> Tombstone | None:
    return min(stones, key=lambda s: (s.at, s.id), default=None)
