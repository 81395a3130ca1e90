"""Commands that keep the store in order: compact and check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from serving.cli.output import AsJson, put, say
from tasks.compose import setting
from tasks.domain.clock import utc_now

if TYPE_CHECKING:
    from tasks.store.compact import Compacted  # importing it loads the engine


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(compact)
    app.command()(check)


def compact(as_json: AsJson = False) -> None:
    """Make the store's file anew, without deleted bytes.

    Example: everest compact
    """
    from flows import compact as flow  # noqa: PLC0415  heavy imports wait for their command
    from serving.cli.wherever import run_flow  # noqa: PLC0415

    compacted = run_flow(setting(), flow.compact, flow.fold_and_compact)
    if as_json:
        put(as_data(compacted))
    else:
        say(in_words(compacted))


def check(as_json: AsJson = False) -> None:
    """Look whether ledger, store and view agree.

    It changes nothing: it replays the ledger beside the store and compares every row. The first
    fault ends it with exit code 4 and the command that mends it.

    Example: everest check
    """
    from tasks.store.handle import open_store  # noqa: PLC0415  heavy imports wait for their command
    from tasks.store.soundness import require_sound  # noqa: PLC0415

    where = setting()
    with open_store(where.places, where.settings, at=utc_now()) as store:
        sound = require_sound(store)
    if as_json:
        put(asdict(sound))
        return
    say(f"{sound.records:,} records of the ledger are whole and in order.")
    say(f"{sound.audit:,} rows of the audit are one chain.")
    say(f"{sound.rows:,} rows of the store are what the ledger says.")
    say("The view is of this store." if sound.published else "Nothing is published yet.")


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
