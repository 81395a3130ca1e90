"""The fingerprint of a store: for each table its shape, its rows by count and by content.

Two stores with equal fingerprints hold the same rows. Unlike the digest it covers every column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tasks.store.database import Database


@dataclass(frozen=True, slots=True)
class TablePrint:
    """One table: the statement that makes it, its rows, and the sum of the hashes of its rows."""

    shape: str
    rows: int
    content: int


def fingerprint(database: Database) -> dict[str, TablePrint]:
    """Return the print of every table of a store, by name."""
    tables = database.rows("SELECT table_name, sql FROM duckdb_tables() ORDER BY table_name")
    return {name: TablePrint(shape, *_content(database, name)) for name, shape in tables}


def differing(
    one: Mapping[str, TablePrint], other: Mapping[str, TablePrint], *, but: Collection[str] = ()
) -> list[str]:
    """Return the names of the tables in which two stores differ, those in `but` left out."""
    return sorted(
        name
        for name in one.keys() | other.keys()
        if name not in but and one.get(name) != other.get(name)
    )


def _content(database: Database, table: str) -> tuple[int, int]:
    quoted = table.replace('"', '""')
    sql = f'SELECT count(*), coalesce(sum(hash(t)), 0) FROM "{quoted}" AS t'  # noqa: S608
    rows, content = database.rows(sql)[0]
    return int(rows), int(content)
