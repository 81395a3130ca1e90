"""Clear away the parts of files that a killed run left: they hold memory that may be forgotten.

Only places are swept whose files are written under the store's lock, which the caller holds.
"""

from __future__ import annotations

from tasks.durable import sweep_parts
from tasks.settings import Places


def sweep(places: Places, *, has_records: bool) -> None:
    """Remove the parts of files that only the holder of the store's lock writes.

    Args:
        places: where things lie.
        has_records: the ledger has records; then the key of digests, which any process may make
            before that, is long made.

    Raises:
        WriteFailed: when the disk refuses.
    """
    for path in (places.store, places.morning):
        sweep_parts(places.home, path.name)
    for folder in (places.view, *places.view.glob("catalog-*"), *places.evidence.glob("*")):
        sweep_parts(folder, "*")
    if has_records:
        sweep_parts(places.keys, "*")
