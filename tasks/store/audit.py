"""The audit: one row a mutation, keyed digests and never values, each bound to the one before it.

The chain runs over audit rows alone, so erasing a forgotten text elsewhere never breaks it.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from tasks.domain.clock import iso
from tasks.domain.proposals import Proposal
from tasks.store.rows import Row, scope_columns


@dataclass(frozen=True, slots=True)
class Head:
    """The last row of the chain: its number and hash; (0, "") before the first."""

    seq: int
    hash: str


START: Final = Head(0, "")


def audit_row(  # noqa: PLR0913  a row says who, what, which, and from what to what
    proposal: Proposal,
    unit: str,
    unit_id: str,
    before: Row | None,
    after: Row | None,
    *,
    key: bytes,
    at: datetime,
) -> dict[str, Any]:
    """Return the row of a mutation, not yet in the chain; values stand as HMACs of their rows."""
    return {
        "at": iso(at),
        "actor": proposal.actor.value,
        "via": proposal.via,
        "action": proposal.action.value,
        "unit": unit,
        "unit_id": unit_id,
        **scope_columns(proposal.scope),
        "before": _keyed(key, before),
        "after": _keyed(key, after),
        "reason": proposal.reason,
    }


def chained(rows: list[dict[str, Any]], head: Head) -> tuple[list[dict[str, Any]], Head]:
    """Return the rows numbered and bound to `head` and to each other, and the new head."""
    out = []
    for row in rows:
        numbered = {"seq": head.seq + 1, **row, "prev": head.hash}
        head = Head(head.seq + 1, hash_of(numbered))
        out.append({**numbered, "hash": head.hash})
    return out, head


def hash_of(row: dict[str, Any]) -> str:
    """Return the SHA-256 of a row's canonical JSON, its own `hash` left out."""
    body = {name: value for name, value in row.items() if name not in ("hash", "tx")}
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _keyed(key: bytes, row: Row | None) -> str:
    if row is None:
        return ""
    packed = orjson.dumps(row, option=orjson.OPT_SORT_KEYS)
    return hmac.new(key, packed, hashlib.sha256).hexdigest()
