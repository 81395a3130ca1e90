"""What `everest setup --cron` does: due nights with no server, by the person's crontab."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from serving.cli.output import put, say
from tasks.compose import Setting

if TYPE_CHECKING:
    from deployments.cron import Scheduled


def set_nights(where: Setting, *, undo: bool, dry_run: bool, as_json: bool) -> None:
    """Put our lines into the crontab, or take them out, and tell what came of it.

    Raises:
        CrontabFailed: when there is no crontab program, or it refuses.
        NotOurs: when launchd's file is not as Everest wrote it.
    """
    from deployments import cron  # noqa: PLC0415  heavy imports wait for their command

    found = (cron.unschedule if undo else cron.schedule)(where, dry_run=dry_run)
    if as_json:
        put(asdict(found))
    else:
        say(_in_words(found, undo=undo, dry_run=dry_run))


def _in_words(found: Scheduled, *, undo: bool, dry_run: bool) -> Iterator[str]:
    if found.lines and found.changed:
        yield found.lines.rstrip("\n")
    done = "would be" if dry_run else "were"
    if not found.changed:
        yield f"There is nothing to change in {found.where}."
    elif undo:
        yield f"Everest's lines {done} taken out of {found.where}."
    else:
        yield f"These lines {done} put into {found.where}: a due night runs within the hour."
    if found.withheld and not undo:
        yield f"Not written, as they may be credentials: {', '.join(found.withheld)}."
    if found.by_hand:
        yield "The service manager does not answer in this session. In one where it does, run:"
        yield from (f"  {command}" for command in found.by_hand)
