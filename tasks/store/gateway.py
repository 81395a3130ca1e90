"""The only writer of memory: every change comes through `commit`, one transaction each.

Order: scope, redaction, canon, tombstones, apply (write, version, sources, audit), the ledger
record durable, the store's commit. What it refuses it says, counts and never stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.domain.clock import iso
from tasks.domain.proposals import Decision, Proposal, Refusal
from tasks.domain.scope import Scope
from tasks.errors import EverestError, StoreBehind
from tasks.store.apply import apply, put_rows
from tasks.store.audit import chained
from tasks.store.checks import AFTER_REDACTION, BEFORE_REDACTION, Check, redacted
from tasks.store.draft import Draft
from tasks.store.handle import Store
from tasks.store.ledger import Record, digest_of_line
from tasks.store.rows import scope_columns
from tasks.store.schema import VECTOR_CHANGES
from tasks.store.standing import Standing, standing_of
from tasks.store.writing import refusal_row, write
from tasks.waypoints import passing


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a batch.

    Attributes:
        tx: the record's number; None when nothing changed and nothing was written.
        decisions: one for each proposal, in order.
        redacted: texts in which the gateway found something that an appender should have redacted.
    """

    tx: int | None
    decisions: tuple[Decision, ...]
    redacted: int = 0


def commit(
    store: Store,
    proposals: Iterable[Proposal],
    *,
    at: datetime,
    journal: Mapping[str, int] | None = None,
    ingest: Mapping[str, Any] | None = None,
) -> Receipt:
    """Decide on a batch of proposals and write what passes, as one transaction and one record.

    Args:
        store: the open store.
        proposals: taken in order; a later one sees what an earlier one wrote.
        at: when the record is made.
        journal: how far each journal segment is folded with this record.
        ingest: the reading state of each transcript read with this record.

    Raises:
        StoreBehind: when the record is durable but the store did not commit it; opening the store
            again applies it.
        WriteFailed: when the ledger could not be written; nothing is changed then.
    """
    batch = tuple(proposals)
    standing = standing_of(store, batch)
    draft = Draft(standing, tx=store.ledger.last_tx + 1, at=at)
    differing = 0
    decisions = []
    for proposal in batch:
        clean = redacted(proposal)
        differing += clean != proposal
        decisions.append(_decide(proposal, clean, standing, draft))
    _note_refusals(store, batch, decisions, draft)
    if not (draft.ops or journal or ingest):
        return Receipt(None, tuple(decisions), differing)
    audit, head = chained(draft.audit, store.audit_head)
    record = Record(draft.tx, iso(at), draft.ops, dict(journal or {}), dict(ingest or {}), audit)
    _write(store, record)
    store.stones, store.projects, store.audit_head = standing.stones, standing.projects, head
    return Receipt(record.tx, tuple(decisions), differing)


def put_vectors(  # noqa: PLR0913  what to keep, for whom, and when
    store: Store,
    scope: Scope,
    space: str,
    ids: Sequence[str],
    vectors: NDArray[np.float32],
    *,
    at: datetime,
) -> None:
    """Keep the vectors of units in one space, shape (n, dim), replacing those of any other space.

    They are computed again on a rebuild, so the ledger does not hold them.
    """
    keys = scope_columns(scope)
    columns = ", ".join(f"${name} AS {name}" for name in keys)
    with store.database.transaction():
        store.database.run(
            "INSERT OR REPLACE INTO embeddings BY NAME SELECT unnest($ids::VARCHAR[]) AS unit_id, "
            f"unnest($blobs::BLOB[]) AS vector, $space AS space, {columns}",
            {
                "ids": list(ids),
                "blobs": [row.tobytes() for row in np.ascontiguousarray(vectors, np.float32)],
                "space": space,
                **keys,
            },
        )
        put_rows(store.database, VECTOR_CHANGES, [{**keys, "stamp": f"{iso(at)} {len(ids)}"}])
        passing("vectors.written")
        store.database.commit()
    passing("vectors.committed")


def _decide(proposal: Proposal, clean: Proposal, standing: Standing, draft: Draft) -> Decision:
    refusal = _first(BEFORE_REDACTION, proposal, standing) or _first(
        AFTER_REDACTION, clean, standing
    )
    return refusal or write(draft, clean)


def _first(checks: Sequence[Check], proposal: Proposal, standing: Standing) -> Refusal | None:
    return next((found for check in checks if (found := check(proposal, standing))), None)


def _note_refusals(
    store: Store, batch: Sequence[Proposal], decisions: Sequence[Decision], draft: Draft
) -> None:
    """Keep each refusal once, however many nights try the same again."""
    rows = {}
    for proposal, decision in zip(batch, decisions, strict=True):
        if isinstance(decision, Refusal):
            row = refusal_row(draft, proposal, decision)
            rows[row["id"]] = row
    if not rows:
        return
    known = store.database.rows(
        "SELECT id FROM refusals WHERE id IN (SELECT unnest(?::VARCHAR[]))", [list(rows)]
    )
    for (found,) in known:
        del rows[found]
    draft.ops.extend({"op": "refusal", **row} for row in rows.values())


def _write(store: Store, record: Record) -> None:
    digest = digest_of_line(record.line())
    with store.database.transaction():
        passing("commit.begun")
        apply(store.database, record, digest)
        passing("commit.applied")
        store.ledger.append(record)
        passing("commit.durable")
        try:
            store.database.commit()
        except EverestError as error:
            raise StoreBehind(record.tx, str(error)) from error
    passing("commit.committed")
