"""Commands around the night: night, demo, and morning, which shows the last report."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from serving.cli.output import AsJson, put, say
from serving.cli.running import Transcripts
from tasks.compose import Setting, setting
from tasks.domain.clock import utc_now
from tasks.domain.markers import MARKER
from tasks.domain.ran import NIGHTLY
from tasks.errors import UsageError
from tasks.paused import paused
from tasks.render.phrases import count
from tasks.runs import due


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    for command in (night, demo, morning):
        app.command()(command)


def night(
    transcripts: Transcripts = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read, and stop.")
    ] = False,
    if_due: Annotated[
        bool,
        typer.Option(
            "--if-due", help="Run only if no night has completed since 03:30, local time."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the night: read, learn, write lesson files and a report.

    Example: everest night --transcripts ~/.claude
    """
    from flows import nightly as flow  # noqa: PLC0415  heavy imports wait for their command
    from serving.cli.wherever import run_flow, text_of  # noqa: PLC0415
    from tasks.render.morning import as_data  # noqa: PLC0415

    where = setting(transcripts)
    if if_due and (pause := paused(where.places.home, now=utc_now())):
        if as_json:
            put(None)
        else:
            say(f"No night is run: Everest is {pause.in_words(where.settings.zone)}.")
        return
    if if_due and not due(where.places.runs, now=utc_now(), zone=where.settings.zone):
        if as_json:
            put(None)
        else:
            say("No night is due: the last one has completed since 03:30.")
        return
    found = _surveyed(where, quiet=as_json)
    if not as_json and not any(one["transcripts"] for one in found):
        say(_nothing_found(where))
    if dry_run:
        if as_json:
            put(found)
        return
    before = _written(where)
    report = run_flow(where, flow.nightly, flow.night, transcripts=text_of(transcripts))
    if as_json:
        put(as_data(report) if report else None)
    elif _written(where) == before:
        say("Nothing new since the last run. `everest morning` shows its report.")
    else:
        say(_after(where))


def demo(
    home: Annotated[
        Path | None,
        typer.Option(
            "--home", metavar="FOLDER", help="Where to make it; a temporary folder if not given."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a first night on a week of made-up transcripts.

    Example: everest demo
    """
    from flows.nightly import night as body  # noqa: PLC0415
    from serving.cli.wherever import run_here  # noqa: PLC0415
    from tasks.demo import write_week  # noqa: PLC0415
    from tasks.render.morning import as_data  # noqa: PLC0415
    from tasks.settings import Places, Settings, absolute  # noqa: PLC0415

    place = absolute(home) if home else Path(tempfile.mkdtemp(prefix="everest-demo-"))
    if place.exists() and any(place.iterdir()):
        raise UsageError(
            f"{place} is not empty; name a new folder, so that nothing of yours is met"
        )
    week = write_week(place / "claude", now=utc_now())
    os.environ["EVEREST_HOME"] = str(place / "everest")  # Prefect keeps to the demo's home too
    settings = Settings.load()
    where = Setting(settings, Places(settings.home), (week.root,), week.root)
    report = run_here(where, NIGHTLY, body)
    if as_json:
        put({"home": str(settings.home), "transcripts": str(week.root), "report": as_data(report)})
        return
    say(_report(where))
    say(
        f"All of this is in {place}: lesson files under claude/projects/*/memory, "
        "the memory itself under everest. Ask it something:"
    )
    say(f'  EVEREST_HOME={settings.home} everest recall "tests" --project {week.projects[0]}')


def morning(as_json: AsJson = False) -> None:
    """Show the last morning report.

    Example: everest morning
    """
    where = setting()
    if not where.places.morning.exists():
        if as_json:
            put(None)
        else:
            say("No morning report yet: run `everest night` first.")
        return
    text = _report(where)
    if as_json:
        put({"path": str(where.places.morning), "text": text})
    else:
        say(text)


def _surveyed(where: Setting, *, quiet: bool) -> list[dict[str, Any]]:
    """Say which roots are read and how much lies in them, before anything is."""
    from tasks.transcripts import survey  # noqa: PLC0415

    found = []
    for root, files, projects, size in survey(where.roots):
        found.append({"root": str(root), "transcripts": files, "projects": projects, "bytes": size})
        if not quiet:
            many = f"{count(files, 'transcript')} in {count(projects, 'project')}"
            say(f"{root}: {many}, {size / 1e6:,.1f} MB")
    return found


def _nothing_found(where: Setting) -> str:
    looked = ", ".join(map(str, where.roots)) or (
        "CLAUDE_CONFIG_DIR, XDG_CONFIG_HOME/claude, ~/.config/claude and ~/.claude"
    )
    return (
        f"No transcripts of Claude Code were found: looked in {looked}.\n"
        "Name a folder with `everest night --transcripts DIR`, "
        "or see how it looks with `everest demo`."
    )


def _written(where: Setting) -> bytes:
    """Return the report that stands, to tell whether a run wrote another."""
    return where.places.morning.read_bytes() if where.places.morning.exists() else b""


def _after(where: Setting) -> list[str]:
    lines = where.places.morning.read_text("utf-8").splitlines()
    summary = next((line for line in lines[1:] if line.strip()), "")
    return [summary, f"The morning report: {where.places.morning} (`everest morning` shows it)."]


def _report(where: Setting) -> str:
    """Return the last report as a person reads it: without the mark that the next night needs."""
    text = where.places.morning.read_text("utf-8")
    return text.partition(f"\n{MARKER}")[0]
