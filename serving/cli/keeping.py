"""Commands that keep the store in order: compact and check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from serving.cli.output import AsJson, put, say
from tasks.compose import setting
from tasks.store.compact import Compacted


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(compact)


def compact(as_json: AsJson = False) -> None:
    """Make the store's file again without the bytes of what was deleted.

    Example: everest compact
    """
    from flows import compact as flow  # noqa: PLC0415  heavy imports wait for their command
    from serving.cli.wherever import run_flow  # noqa: PLC0415

    compacted = run_flow(setting(), flow.compact, flow.fold_and_compact)
    if as_json:
        put(as_data(compacted))
    else:
        say(in_words(compacted))


def as_data(compacted: Compacted) -> dict[str, Any]:
    """Return what a compacting came to for `--json`; sizes in bytes."""
    return {
        "before": compacted.before,
        "after": compacted.after,
        "rows": compacted.rows,
        "kept_aside": [{"path": str(one.path), "size": one.size} for one in compacted.leftovers],
    }


def in_words(compacted: Compacted) -> Iterator[str]:
    """Yield what a compacting came to, as a person reads it."""
    before, after = (f"{size / 1e6:,.1f} MB" for size in (compacted.before, compacted.after))
    yield f"The store had {before} and has {after} now, with all its {compacted.rows:,} rows."
    for one in compacted.leftovers:
        yield (
            f"{one.path} ({one.size / 1e6:,.1f} MB) is a damaged store that was kept aside, with "
            "all that was in it; delete it when you need it no more."
        )
