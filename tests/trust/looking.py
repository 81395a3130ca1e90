"""Everything that a home holds, in a form that two runs at different instants share.

Left out is what the instant of a run alone decides: our own timestamps and the ids made of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from serving.cli.main import run
from tasks.compose import setting
from tasks.domain.clock import utc_now
from tasks.store.audit import START, hash_of
from tasks.store.database import Database, open_database
from tasks.store.digest import store_digest
from tasks.store.handle import Store, catch_up, open_store
from tasks.store.ledger import Ledger
from tasks.store.lock import writer_at_work
from tasks.store.schema import TABLES, Table
from tasks.store.view import Manifest, current

_OURS: Final = {"recorded_at", "withdrawn_at", "as_of", "added_at", "made", "resolved", "tx"}
_DROPPED: Final[dict[str, set[str]]] = {
    "projects": {"first_seen"},
    "aliases": {"at", "created"},
    "predictions": {"id"},
    "tombstones": {"id", "at"},
    "decisions": {"id", "at"},
    "refusals": {"id", "at", "tombstone_id"},
    "exposures": {"id", "at"},
    "audit": {"seq", "at", "before", "after", "prev", "hash"},
    "vector_changes": {"stamp"},
}
_UNSEEN: Final = {"meta", "journal_offsets"}
_TIMES: Final = re.compile(r"\(\d+ s\)|in [\d.]+ (s|seconds)|[\d.]+ s\b")


_QUERIES: Final = ("pnpm", "how do we run the tests")
_WHERE: Final = ("--project", "paperboat", "-k", "20", "--json")


def looked(*then: str) -> dict[str, Any]:
    """Run commands, each a JSON list of words, and return what the home holds then.

    Called in a process of its own.
    """
    for words in then:
        _said(*json.loads(words))
    places = setting().places
    with open_store(places, setting().settings, at=utc_now()) as store:
        assert store.caught_up == 0
        found = {
            "digest": store_digest(store.database),
            "tables": {t.name: _rows(store.database, t) for t in TABLES if t.name not in _UNSEEN},
            "unfolded": _unfolded(store),
        }
        found["chain"] = _chain(store)
    view = current(places.view)
    found["published"] = view.manifest.digest if view else ""
    found["litter"] = sorted(_litter(places.home, places.view))
    found["lock"] = writer_at_work(places.lock)
    return found


def proved(*then: str) -> dict[str, Any]:
    """Return the same, and what a new store of the ledger alone and two recalls come to."""
    found = looked(*then)
    recalled = (json.loads(_said("recall", query, *_WHERE)) for query in _QUERIES)
    found["recalled"] = [[one["id"] for one in each] for each in recalled]
    found["replayed"] = _replayed(setting().places.ledger)
    return found


def _said(*words: str) -> str:
    """Run a command in this process; return what it wrote."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run(list(words))
    assert code == 0, f"{words}: {code}"
    return out.getvalue()


def _rows(database: Database, table: Table) -> list[str]:
    left_out = _OURS | _DROPPED.get(table.name, set())
    names = [name for name in table.columns if name not in left_out]
    columns = ", ".join(f'"{name}"' for name in names)
    rows = database.rows(f"SELECT {columns} FROM {table.name}")
    plain = [{n: _plain(table, n, v) for n, v in zip(names, row, strict=True)} for row in rows]
    return sorted(json.dumps(_timeless(row), default=str) for row in plain)


def _plain(table: Table, name: str, value: Any) -> Any:
    match table.name, name, value:
        case "files", "state", _:
            return json.loads(value)["counts"]
        case "episodes", "archived_at", _:
            return value is not None
        case _, _, bytes():
            return hashlib.sha256(value).hexdigest()
        case _, _, float():
            return round(value, 6)
        case _:
            return value


def _timeless(row: dict[str, Any]) -> dict[str, Any]:
    """Drop the ids that are made of an instant."""
    if row.get("unit") in ("prediction", "tombstone", "exposure"):
        return {**row, "unit_id": ""}
    return row


def _unfolded(store: Store) -> dict[str, int]:
    """Return the bytes of each segment that the store does not hold yet."""
    offsets = dict(store.database.rows("SELECT segment, bytes FROM journal_offsets"))
    sizes = {path.name: path.stat().st_size for path in store.places.journal.glob("*.jsonl")}
    left = {name: size - offsets.get(name, 0) for name, size in sizes.items()}
    return {name: rest for name, rest in left.items() if rest}


def _chain(store: Store) -> str:
    """Return what is wrong with the audit's chain, in ledger and store; "" if nothing."""
    head, rows = START, []
    for kept in store.ledger.records():
        for row in kept.record.audit:
            if (
                row["seq"] != head.seq + 1
                or row["prev"] != head.hash
                or hash_of(row) != row["hash"]
            ):
                return f"record {kept.record.tx}, row {row['seq']}"
            head = type(head)(row["seq"], row["hash"])
            rows.append((row["seq"], row["hash"]))
    stored = store.database.rows("SELECT seq, hash FROM audit ORDER BY seq")
    return "" if stored == rows else "the store's rows are not the ledger's"


def _replayed(ledger: Path) -> str:
    """Return the digest of a new store that replays the ledger alone."""
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(Path(folder) / "again.duckdb")
        catch_up(database, Ledger(ledger))
        digest = store_digest(database)
        database.close()
        return digest


def _litter(home: Path, view: Path) -> Iterator[str]:
    """Yield what lies about that no later run has a use for."""
    for path in home.parent.rglob("*"):
        if path.suffix in (".part", ".tmp", ".wal") or ".corrupt-" in path.name:
            yield str(path.relative_to(home.parent))
    manifests = [Manifest.parse(path.read_bytes()) for path in view.glob("*.json")]
    if len(manifests) > 2:
        yield f"{len(manifests)} manifests"
    named = {entry.folder for manifest in manifests for entry in manifest.scopes}
    named |= {manifest.catalog for manifest in manifests}
    for path in (*(view / "scopes").glob("*"), *view.glob("catalog-*")):
        if path.name not in named:
            yield str(path.relative_to(home))


def files_of(base: Path, home: Path, claude: Path) -> dict[str, str]:
    """Return every file that a person or a host reads, by its path below `base`."""
    found = [*claude.glob("projects/*/memory/*"), *home.glob("memory/**/*.md")]
    found += [home / "lessons.jsonl", home / "written.json"]
    texts = {str(path.relative_to(base)): path.read_text() for path in found if path.is_file()}
    listing = home / "vetoed.json"
    vetoed = json.loads(listing.read_text())["vetoed"] if listing.is_file() else []
    return {**texts, listing.name: str([one["lesson"] for one in vetoed])}
