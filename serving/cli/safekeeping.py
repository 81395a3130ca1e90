"""Commands that keep the memory safe, or take it along: backup, restore and export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from serving.cli.output import AsJson, confirm, put, say
from serving.cli.progress import shown
from tasks.compose import Setting, setting
from tasks.domain.clock import instant, local_day, utc_now
from tasks.errors import UsageError
from tasks.export.form import Format
from tasks.render.phrases import count
from tasks.settings import absolute
from tasks.store.archive import Contents
from tasks.store.backups import KEPT, Backup

if TYPE_CHECKING:
    from tasks.export.writing import Exported
    from tasks.night import Run
    from tasks.steps import Steps


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(backup)
    app.command()(restore)
    app.command()(export)


def backup(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The file to write; one in backups/ if not given."),
    ] = None,
    keep: Annotated[
        int,
        typer.Option(
            "--keep", metavar="NUMBER", min=1, help="How many of those in backups/ to keep."
        ),
    ] = KEPT,
    as_json: AsJson = False,
) -> None:
    """Write all of the memory into one file.

    `everest restore` puts it back, here or on another machine.

    Example: everest backup ~/everest-before-the-move.tar.gz
    """
    made = _taken(setting(), file, keep)
    contents = made.contents
    if as_json:
        put(
            {
                "path": made.path,
                "bytes": made.bytes,
                "files": len(contents.files),
                "records": contents.last_tx,
                "digest": contents.digest,
            }
        )
    else:
        files = count(len(contents.files), "file")
        say(f"{made.path} ({made.bytes / 1e6:,.1f} MB) holds {files}, read back and compared.")
        say("It holds your words and the key of the digests: keep it as private as the memory.")


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that `everest backup` wrote.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    lose_decisions: Annotated[
        bool,
        typer.Option(
            "--lose-decisions",
            help="Go on although what was rejected or forgotten here cannot be read or compared.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup's memory in the place of what is here.

    What is here is moved aside. What was rejected, deleted or forgotten on either side stays so.

    Example: everest restore ~/everest-before-the-move.tar.gz
    """
    from tasks.restore import inspect, restore  # noqa: PLC0415  heavy imports wait
    from tasks.store.decided import has_memory  # noqa: PLC0415

    where, path = setting(), absolute(file)
    if has_memory(where.places) and not yes:
        with shown() as progress:
            contents = inspect(path, progress)
        _confirm(where, contents)
    with shown() as progress:
        restored = restore(
            where, path, at=utc_now(), lose_decisions=lose_decisions, progress=progress
        )
    told: dict[str, Any] = {
        "records": restored.contents.last_tx,
        "digest": restored.digest,
        "carried": restored.carried,
        "withheld": restored.withheld,
        "replaced": restored.aside,
        "left": restored.left,
        "unreadable": list(restored.lost),
    }
    if as_json:
        put(told)
        return
    records = count(restored.contents.last_tx, "record")
    say(f"{records} replayed, as of {_day(where, restored.contents)}.")
    if restored.carried:
        say(f"{count(restored.carried, 'decision')} made here since then hold on.")
    if restored.withheld:
        units = count(restored.withheld, "lesson or episode", "lessons or episodes")
        say(f"{units} withheld here since then wait for your decision again.")
    if restored.aside:
        say(f"What was here lies in {restored.aside}; delete it when you need it no more.")
    if restored.left:
        lines = count(restored.left, "line")
        say(f"{lines} said here since the last night were not taken over: they lie there as well.")
    say(f"{part}: it could not be read for decisions." for part in restored.lost)
    say(f"The store's digest is {restored.digest}")


def export(
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="PATH",
            help="A new folder, or a .zip; one named by the day, here, if not given.",
        ),
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="For programs, or to read.")
    ] = Format.JSONL,
    as_json: AsJson = False,
) -> None:
    """Take all that is remembered along, in open formats.

    Lessons with their sources and history, episodes, notes, questions,
    decisions, relay and conversations, with a README of what each file is.

    Example: everest export --to ~/memory --format markdown
    """
    from serving.cli.wherever import run_here  # noqa: PLC0415  heavy imports wait
    from tasks.export.gather import gather  # noqa: PLC0415
    from tasks.export.writing import destination, write  # noqa: PLC0415
    from tasks.store.decided import has_memory  # noqa: PLC0415

    where, at = setting(), utc_now()
    if not has_memory(where.places):
        raise UsageError(f"nothing is remembered in {where.places.home}: run `everest night` first")
    named = absolute(to or Path(f"everest-export-{local_day(at, where.settings.zone)}"))
    path = destination(where.places, named)

    def taken(steps: Steps, run: Run) -> Exported:
        steps.fold(run)  # so that what was said since the last night is in it
        steps.publish(run)
        return write(path, gather(run.store), where.places, form, at)

    done = run_here(where, "export", taken)
    if as_json:
        put({"path": str(done.path), **done.counts})
    else:
        told = ", ".join(f"{many} {kind}" for kind, many in done.counts.items() if many)
        say(f"{done.path} holds {told or 'nothing yet'}.")
        say("It holds your words: keep it as private as the memory.")


def _taken(where: Setting, file: Path | None, keep: int) -> Backup:
    from flows.backup import backup as flow  # noqa: PLC0415  heavy imports wait
    from tasks.backup import backup as take  # noqa: PLC0415
    from tasks.orchestrated import reported  # noqa: PLC0415
    from tasks.runs import new_run  # noqa: PLC0415

    named = None if file is None else absolute(file)
    if reported():
        return flow(None if named is None else str(named), keep)
    with shown() as progress:
        return take(where, new_run("backup"), named, at=utc_now(), keep=keep, progress=progress)


def _confirm(where: Setting, contents: Contents) -> None:
    """Ask the person before what is here is replaced."""
    home, records = where.places.home, count(contents.last_tx, "record")
    confirm(
        f"Replace the memory in {home} by the backup of {_day(where, contents)} "
        f"({records}, taken of {contents.home})? What is here is moved aside.",
        nobody=f"{home}: there is a memory here, and nobody to ask whether to replace it",
    )


def _day(where: Setting, contents: Contents) -> str:
    return f"{instant(contents.made).astimezone(where.settings.zone):%Y-%m-%d %H:%M}"
