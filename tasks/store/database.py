"""The one place that opens DuckDB: limits set, nothing ever fetched, its errors named as ours.

A frame leaves through Arrow's own protocol, so that no pyarrow is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from tasks.errors import (
    EverestError,
    StoreCorrupt,
    StoreError,
    StoreLocked,
    StoreNewer,
    WriteFailed,
)
from tasks.store.schema import MIGRATIONS, Migrations
from tasks.waypoints import passing

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "max_temp_directory_size": "8GB",
    "memory_limit": "1500MB",
    "threads": "2",
}

_MOST_PARSED = 512
"""Far more statements than there are; those that are put together by the name of a file add up."""

_DAMAGE = ("Corrupt database file", "Could not read enough bytes")
"""What DuckDB says when the file is not as it wrote it; it has no error class for that."""
_NOT_THE_FILE = (
    "permission denied",
    "no space left",
    "file too large",
    "read-only file system",
    "input/output error",
    "too many open files",
    "could not write file",
)
"""Reasons that lie outside of the file, which may be sound."""


class Database:
    """An open store file; every statement takes its values as parameters."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        self._connection = connection
        self._parsed: dict[str, duckdb.Statement] = {}
        self.path = path

    def run(self, sql: str, params: Sequence[Any] | dict[str, Any] | None = None) -> None:
        """Carry out a statement.

        Raises:
            WriteFailed: when the disk is full or the file cannot be written.
            StoreCorrupt: when the file turns out to be damaged; it is kept aside.
        """
        with self._named_errors():
            self._executed(sql, params)

    def rows(self, sql: str, params: Sequence[Any] | dict[str, Any] | None = None) -> list[Any]:
        """Return a query's rows as tuples; of a change, how many rows it changed."""
        with self._named_errors():
            return self._executed(sql, params).fetchall()

    def records(self, sql: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        """Return a query's rows by column name: of a few rows sooner than `frame` would be."""
        with self._named_errors():
            found = self._executed(sql, params)
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def frame(self, sql: str, params: dict[str, Any] | None = None) -> pl.DataFrame:
        """Return a query's rows as a polars frame."""
        with self._named_errors():
            return pl.DataFrame(self._connection.sql(sql, params=params or {}))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold a transaction; the caller commits, and leaving without a commit rolls back."""
        self.run("BEGIN TRANSACTION")
        try:
            yield
        except BaseException:
            with suppress(duckdb.Error):  # a commit that failed has ended the transaction itself
                self._connection.execute("ROLLBACK")
            raise

    def commit(self) -> None:
        """Commit the open transaction.

        Raises:
            WriteFailed: when the disk refuses; nothing of the transaction is in the store then.
        """
        try:
            self.run("COMMIT")
        except duckdb.TransactionException as error:
            raise WriteFailed(self.path, _first_line(error)) from error

    def bytes_in_use(self) -> int:
        """Return the bytes of the blocks that hold something, those only in the log included."""
        log = log_of(self.path)
        sql = "SELECT used_blocks * block_size FROM pragma_database_size()"
        return int(self.rows(sql)[0][0]) + (log.stat().st_size if log.exists() else 0)

    def copy_to(self, path: Path) -> None:
        """Copy everything the store holds into a new file; deleted rows leave no byte there.

        Raises:
            WriteFailed: when the disk refuses; what there is of the new file is the caller's.
        """
        place = str(path).replace("'", "''")
        name = self.rows("SELECT current_database()")[0][0].replace('"', '""')
        self.run(f"ATTACH '{place}' AS copied")
        try:
            self.run(f'COPY FROM DATABASE "{name}" TO copied')
            self.run("CHECKPOINT copied")  # detaching would keep silent about a failure
        finally:
            with suppress(duckdb.Error):  # the first error is the one to tell
                self._connection.execute("DETACH copied")

    def close(self) -> None:
        """Close the file; DuckDB checkpoints as it does."""
        self._connection.close()

    def _executed(
        self, sql: str, params: Sequence[Any] | dict[str, Any] | None
    ) -> duckdb.DuckDBPyConnection:
        """Carry out a statement that is parsed once: of a small one, parsing is a quarter."""
        parsed = self._parsed.get(sql)
        if parsed is None:
            (parsed,) = self._connection.extract_statements(sql)
            if len(self._parsed) < _MOST_PARSED:
                self._parsed[sql] = parsed
        return self._connection.execute(parsed, params)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            raise StoreError(f"{self.path}: {_first_line(error)}") from error
        except duckdb.Error as error:
            if _tells_damage(error):
                self.close()
                raise set_aside(self.path, _first_line(error)) from error
            if isinstance(error, duckdb.IOException) or _tells_of_the_disk(error):
                raise WriteFailed(self.path, _first_line(error)) from error
            raise


def open_database(
    path: Path,
    *,
    migrations: Migrations = MIGRATIONS,
    keep: Callable[[int], object] = lambda _: None,
) -> Database:
    """Open the store for writing and bring its schema up to date.

    Args:
        path: the store's file.
        migrations: the statements of every schema, the first one's first.
        keep: told the new schema before a store of an older one is changed; what it raises leaves
            the store as it was.

    Raises:
        StoreCorrupt: when the file is no store; it is kept aside under another name.
        StoreLocked: when another process holds it.
        StoreNewer: when a newer Everest wrote it; nothing is changed.
        WriteFailed: when it cannot be opened or made here; nothing is changed.
    """
    try:
        connection = duckdb.connect(path, config=_CONFIG)  # type: ignore[arg-type]  # str values
        connection.execute("SET TimeZone='UTC'")
        connection.execute("SET enable_progress_bar=false")
        database = Database(connection, path)
        try:
            _migrate(database, migrations, keep)
        except EverestError:
            database.close()
            raise
    except duckdb.Error as error:
        raise _unopened(path, error) from error
    path.chmod(0o600)
    return database


def rows_of(path: Path, table: str) -> list[dict[str, Any]]:
    """Return a table of a store that may be damaged or of another release; nothing is touched.

    Raises:
        StoreError: when it cannot be read.
    """
    try:
        with duckdb.connect(path, read_only=True, config=_CONFIG) as connection:  # type: ignore[arg-type]  # str values
            connection.execute("SET TimeZone='UTC'")
            found = connection.execute(f"SELECT * FROM {table}")  # noqa: S608  a name of the schema's
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    except duckdb.Error as error:
        raise StoreError(f"{path} cannot be read ({_first_line(error)})") from error


def _unopened(path: Path, error: duckdb.Error) -> StoreError | WriteFailed:
    """Return what an opening that failed means; only a damaged file is kept aside."""
    if "could not set lock" in str(error).lower():
        return StoreLocked(path, _first_line(error))
    if _tells_of_the_disk(error) or not path.is_file():
        return WriteFailed(path, _first_line(error))
    return set_aside(path, _first_line(error))


def _tells_damage(error: duckdb.Error) -> bool:
    return any(words in str(error) for words in _DAMAGE)


def _tells_of_the_disk(error: duckdb.Error) -> bool:
    return any(words in str(error).lower() for words in _NOT_THE_FILE)


def _migrate(database: Database, migrations: Migrations, keep: Callable[[int], object]) -> None:
    version, newest = schema_version(database), len(migrations)
    if version > newest:
        raise StoreNewer(database.path, version, newest)
    if 0 < version < newest:
        keep(newest)
        passing("open.kept")
    for number in range(version, newest):
        with database.transaction():
            for statement in migrations[number]:
                database.run(statement)
            database.run("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", [str(number + 1)])
            database.commit()
        passing("open.migrated")


def schema_version(database: Database) -> int:
    """Return the schema's version; 0 for an empty file."""
    known = database.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'meta'")
    if not known:
        return 0
    found = database.rows("SELECT value FROM meta WHERE name = 'schema'")
    return int(found[0][0]) if found else 0


def set_aside(path: Path, why: str) -> StoreCorrupt:
    """Keep an unusable store under another name, so that the next opening makes a new one.

    Returns:
        The error to raise, which says where the old file is.
    """
    number = 1
    while (kept := path.with_name(f"{path.name}.corrupt-{number}")).exists():
        number += 1
    path.rename(kept)
    if log_of(path).exists():
        log_of(path).rename(log_of(kept))
    return StoreCorrupt(path, kept, why)


def log_of(path: Path) -> Path:
    """Return where DuckDB keeps a file's write-ahead log."""
    return path.with_name(f"{path.name}.wal")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
