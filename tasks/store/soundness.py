"""Look whether ledger, audit, store and view agree, by replaying the ledger beside the store.

Invariant: it changes nothing; the replay is a part beside the store and goes when it was compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tasks.durable import part_of
from tasks.errors import StoreUnsound
from tasks.store.audit import START, Head, hash_of
from tasks.store.database import log_of, open_database
from tasks.store.digest import store_digest
from tasks.store.fingerprint import TablePrint, differing, fingerprint
from tasks.store.handle import Store, catch_up
from tasks.store.ledger import Ledger
from tasks.store.view import View, current

COMPUTED: Final = ("embeddings", "vector_changes")
"""Tables that no ledger record holds: vectors are computed again, and when they were is of now."""

_RESTORE: Final = "restore the ledger from a backup: `everest restore FILE`"
_REBUILD: Final = "run `everest rebuild`"
_PUBLISH: Final = "run `everest render` to publish it again"


@dataclass(frozen=True, slots=True)
class Sound:
    """What was found in order.

    Attributes:
        records: of the ledger; `audit`: rows of its one chain.
        rows: of the store, each as the ledger's replay gives it.
        digest: the store's, which the view has too; `published` is False before the first view.
    """

    records: int
    audit: int
    rows: int
    digest: str
    published: bool


def require_sound(store: Store) -> Sound:
    """Return what is in order when all is; opening has checked the sum of every record already.

    Raises:
        StoreUnsound: at the first fault, with the command that mends it.
        StoreError: when a file cannot be read as what it is.
        WriteFailed: when there is no room for the replay.
    """
    records, audit = _require_in_order(store.ledger)
    held = _require_replayed(store)
    digest, view = store_digest(store.database), current(store.places.view)
    if view is not None:
        _require_readable(view)
        if view.manifest.digest != digest:
            raise StoreUnsound("the published view is not of the store as it is", _PUBLISH)
    rows = sum(table.rows for table in held.values())
    return Sound(records, audit, rows, digest, published=view is not None)


def _require_in_order(ledger: Ledger) -> tuple[int, int]:
    """Return how many records and audit rows there are; numbers have no gap, the chain no break."""
    count, head = 0, START
    for kept in ledger.records():
        count += 1
        if kept.record.tx != count:
            raise StoreUnsound(f"the ledger lacks its record {count}", _RESTORE)
        for row in kept.record.audit:
            follows = (row["seq"], row["prev"]) == (head.seq + 1, head.hash)
            if not follows or hash_of(row) != row["hash"]:
                what = f"the audit chain breaks at row {head.seq + 1}, in record {count}"
                raise StoreUnsound(what, _RESTORE)
            head = Head(row["seq"], row["hash"])
    return count, head.seq


def _require_replayed(store: Store) -> dict[str, TablePrint]:
    """Return the store's fingerprint; a replay of the ledger has the same, vectors left out."""
    held = fingerprint(store.database)
    part = part_of(store.places.store)
    try:
        replayed = open_database(part)
        try:
            catch_up(replayed, store.ledger)
            wrong = differing(held, fingerprint(replayed), but=COMPUTED)
        finally:
            replayed.close()
    finally:
        part.unlink(missing_ok=True)
        log_of(part).unlink(missing_ok=True)
    if wrong:
        what = f"the store does not hold what the ledger says, in {', '.join(wrong)}"
        raise StoreUnsound(what, _REBUILD)
    return held


def _require_readable(view: View) -> None:
    for entry in view.manifest.scopes:
        scope = view.scope(entry.scope)
        if scope is not None:
            _ = (list(scope.rows), scope.at, scope.words, scope.vectors, scope.buried)
