"""The open store: held by one flow run, under the writer lock, from opening to closing.

Opening catches up with the ledger, so that whatever was durable there is in the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from tasks.domain.clock import iso
from tasks.domain.scope import Scope
from tasks.domain.units import Project, Tombstone
from tasks.durable import make_folder
from tasks.errors import LedgerBroken, StoreCorrupt
from tasks.settings import Places, Settings
from tasks.store import backups, reads, replacing
from tasks.store.apply import apply
from tasks.store.audit import START, Head
from tasks.store.database import Database, open_database, set_aside
from tasks.store.filesystem import require_local
from tasks.store.keys import digest_key
from tasks.store.ledger import Ledger
from tasks.store.lock import writer_lock
from tasks.store.schema import MIGRATIONS, Migrations
from tasks.store.sweeping import sweep
from tasks.waypoints import passing


@dataclass(slots=True)
class Store:
    """What the gateway and the stages work with.

    Attributes:
        database: the store's file; another one once the store was compacted.
        key: the HMAC key of digests.
        stones: every tombstone there is, of all scopes.
        audit_head: the last row of the audit chain.
        projects: scope -> its project with every folder met, of those that were written to since
            the store was opened.
        caught_up: records that opening applied from the ledger.
    """

    places: Places
    database: Database
    ledger: Ledger
    key: bytes
    stones: list[Tombstone]
    audit_head: Head
    caught_up: int
    settings: Settings
    projects: dict[Scope, Project] = field(default_factory=dict)


@contextmanager
def open_store(  # noqa: PLR0913  what to open, how long to wait, and who is told
    places: Places,
    settings: Settings,
    *,
    at: datetime,
    waiting: Callable[[str], None] = lambda _: None,
    held: Callable[[], AbstractContextManager[None]] = nullcontext,
    migrations: Migrations = MIGRATIONS,
) -> Iterator[Store]:
    """Open the store for writing and hold it.

    Args:
        places: where things lie.
        settings: for how long to wait for another writer.
        at: now, for the lock file.
        waiting: told who holds the store, when somebody does.
        held: what to enter as soon as the lock is ours, and to leave last.
        migrations: the store's schemas; one of an older schema is backed up before it is changed.

    Raises:
        StoreLocked: when another run kept the store for longer than the wait.
        StoreError: when the store or the ledger cannot be used; each says what to do.
    """
    require_local(places.home)
    make_folder(places.home)
    started = iso(at)
    lock = writer_lock(places.lock, wait=settings.lock_wait, started=started, waiting=waiting)
    with lock, held():
        passing("open.locked")
        replacing.complete(places)
        ledger = Ledger(places.ledger)
        key = digest_key(places.keys, ledger=places.ledger)
        sweep(places, has_records=bool(ledger.last_tx))
        keep = partial(backups.before_schema, places, at=at, last_tx=ledger.last_tx)
        database = open_database(places.store, migrations=migrations, keep=keep)
        try:
            applied = catch_up(database, ledger)
            stones, head = _stones(database), _head(database)
            store = Store(places, database, ledger, key, stones, head, applied, settings)
        except BaseException:
            database.close()
            raise
        try:
            yield store
        finally:
            store.database.close()
            passing("open.closed")


def catch_up(database: Database, ledger: Ledger) -> int:
    """Apply the ledger's records that the store lacks; return how many.

    Raises:
        LedgerBroken: when the ledger is gone; the store, which alone holds what was in it, stays.
        StoreCorrupt: when the store holds records that the ledger does not: it must be rebuilt.
    """
    marks = dict(database.rows("SELECT name, value FROM meta"))
    behind = int(marks.get("tx", "0"))
    if behind and not ledger.last_tx:
        raise LedgerBroken(ledger.folder, 1, f"it is gone, and the store holds {behind} records")
    if behind > ledger.last_tx:
        why = f"it holds record {behind}, the ledger ends at {ledger.last_tx}"
        raise _given_up(database, why)
    count = 0
    for kept in ledger.records(after=max(behind - 1, 0)):
        if kept.record.tx == behind:
            if kept.digest != marks["last"]:
                why = f"record {behind} differs from the ledger's"
                raise _given_up(database, why)
            continue
        with database.transaction():
            apply(database, kept.record, kept.digest)
            database.commit()
        passing("open.caught_up")
        count += 1
    return count


def _given_up(database: Database, why: str) -> StoreCorrupt:
    database.close()
    return set_aside(database.path, why)


def _stones(database: Database) -> list[Tombstone]:
    return [
        stone for scope in reads.scopes(database) for stone in reads.tombstones(database, scope)
    ]


def _head(database: Database) -> Head:
    found = database.rows("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
    return Head(*found[0]) if found else START
