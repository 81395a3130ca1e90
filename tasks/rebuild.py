"""Take the store's file away, so that the next opening makes it again from the ledger alone."""

from __future__ import annotations

from tasks.compose import Setting
from tasks.domain.clock import iso, utc_now
from tasks.errors import UsageError
from tasks.store.database import log_of
from tasks.store.ledger import Ledger
from tasks.store.lock import writer_lock
from tasks.store.publish import distrust
from tasks.store.replacing import complete
from tasks.waypoints import passing


def discard_store(where: Setting) -> int:
    """Remove the store's file under the writer lock; return how many records will be replayed.

    Readers keep the published view until the rebuild has published another.

    Raises:
        UsageError: when there is no ledger to replay; then the store is left alone.
        LedgerBroken: when the ledger is damaged; then the store is left alone too.
        StoreLocked: when another run holds the store.
    """
    places = where.places
    with writer_lock(places.lock, wait=where.settings.lock_wait, started=iso(utc_now())):
        complete(places)
        ledger = Ledger(places.ledger)
        if not ledger.last_tx:
            raise UsageError(f"there is no ledger in {places.ledger} to rebuild from")
        distrust(places.view)
        passing("rebuild.distrusted")
        # The log first: beside a store made anew it would be replayed.
        log_of(places.store).unlink(missing_ok=True)
        passing("rebuild.log_removed")
        places.store.unlink(missing_ok=True)
        passing("rebuild.discarded")
        return ledger.last_tx
