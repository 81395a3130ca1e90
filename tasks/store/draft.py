"""One ledger record in the making: its ops, its audit rows, what stands as they are added."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from tasks.domain.proposals import (
    NoOp,
    Proposal,
)
from tasks.store.audit import audit_row
from tasks.store.ledger import Op
from tasks.store.rows import (
    Row,
)
from tasks.store.standing import Standing

UNCHANGED: Final = NoOp("unchanged")


@dataclass(slots=True)
class Draft:
    """One record in the making."""

    standing: Standing
    tx: int
    at: datetime
    ops: list[Op] = field(default_factory=list)
    audit: list[dict[str, Any]] = field(default_factory=list)

    def put(self, op: str, row: Row) -> None:
        """Add one op."""
        self.ops.append({"op": op, **row})

    def log(
        self, proposal: Proposal, unit: str, unit_id: str, before: Row | None, after: Row | None
    ) -> None:
        """Add one audit row, by the digests of what stood before and after."""
        row = audit_row(proposal, unit, unit_id, before, after, key=self.standing.key, at=self.at)
        self.audit.append(row)
