"""Commands that run a flow in this process, from night to rebuild; and morning, which shows one."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from serving.cli.output import AsJson, put, say
from serving.cli.progress import shown
from tasks.compose import Setting, setting
from tasks.domain.clock import utc_now
from tasks.domain.report import NightReport
from tasks.render.phrases import count

Transcripts = Annotated[
    Path | None,
    typer.Option("--transcripts", help="Read this folder of transcripts; write nothing under it."),
]


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    for command in (night, demo, ingest, sleep, render, measure, morning, rebuild):
        app.command()(command)


def night(
    transcripts: Transcripts = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read, and stop.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the night: read, learn, write lesson files and a report.

    Example: everest night --transcripts ~/.claude
    """
    from tasks.render.morning import as_data  # noqa: PLC0415  heavy imports wait for their command

    where = setting(transcripts)
    found = _surveyed(where, quiet=as_json)
    if not as_json and not any(one["transcripts"] for one in found):
        say(_nothing_found(where))
    if dry_run:
        if as_json:
            put(found)
        return
    report = _night_wherever(where, transcripts)
    if as_json:
        put(as_data(report))
    else:
        say(_after(where))


def demo(
    home: Annotated[
        Path | None,
        typer.Option("--home", help="Where to make it; a temporary folder if not given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a first night on a week of made-up transcripts.

    Example: everest demo
    """
    from tasks.demo import write_week  # noqa: PLC0415
    from tasks.render.morning import as_data  # noqa: PLC0415
    from tasks.settings import Places, Settings  # noqa: PLC0415

    place = home.expanduser().absolute() if home else Path(tempfile.mkdtemp(prefix="everest-demo-"))
    week = write_week(place / "claude", now=utc_now())
    settings = Settings.load(home=place / "everest")
    where = Setting(settings, Places(settings.home), (week.root,), week.root)
    report = _night(where)
    if as_json:
        put({"home": str(settings.home), "transcripts": str(week.root), "report": as_data(report)})
        return
    say(where.places.morning.read_text("utf-8"))
    say(
        f"All of this is in {place}: lesson files under claude/projects/*/memory, "
        "the memory itself under everest. Ask it something:"
    )
    say(f'  EVEREST_HOME={settings.home} everest recall "tests" --project {week.projects[0]}')


def ingest(
    transcripts: Transcripts = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing unless it fails.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read new transcripts for recall; learn nothing yet.

    Example: everest ingest --quiet
    """
    from flows.ingest import read_and_publish  # noqa: PLC0415
    from tasks.night import opened  # noqa: PLC0415
    from tasks.steps import plain_steps  # noqa: PLC0415

    where = setting(transcripts)
    with shown(quiet=quiet) as progress, opened(where, progress=progress) as run:
        found = read_and_publish(plain_steps(), run)
    if as_json:
        put(
            {
                "files": found.files,
                "changed": found.changed,
                "sessions": found.sessions,
                "records": found.counts.read,
                "failed": found.failed,
                "episodes": dict(found.episodes),
                "problems": found.problems,
            }
        )
    elif not quiet:
        new = count(sum(found.episodes.values()), "new episode")
        files = count(found.files, "transcript")
        say(f"{found.changed} of {files} had something new; {new}.")
        say(found.problems)


def sleep(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what the passes would change; change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Learn from what is stored: the six passes alone.

    They are embed, decay, lessons, merge, verify and predict.

    Example: everest sleep --dry-run
    """
    from flows.sleep import fold_and_sleep  # noqa: PLC0415
    from tasks.night import opened  # noqa: PLC0415
    from tasks.rehearse import rehearse  # noqa: PLC0415
    from tasks.steps import plain_steps  # noqa: PLC0415

    where = setting()
    if dry_run:
        with shown() as progress:
            changes = rehearse(where, plain_steps(), progress=progress)
        if as_json:
            put([asdict(change) for change in changes])
        else:
            say(f"{c.action:<18} {c.unit_id}  {c.project}: {c.text}" for c in changes)
            say(f"{count(len(changes), 'change')}; none was made.")
        return
    with shown() as progress, opened(where, progress=progress) as run:
        told = [(s.name, {**s.counts, **s.decided}) for s in fold_and_sleep(plain_steps(), run)]
    if as_json:
        put([{"pass": name, **counts} for name, counts in told])
    else:
        say(f"{name:<8} {_counted(counts)}" for name, counts in told)


def render(as_json: AsJson = False) -> None:
    """Take in edits of lesson files and write them again.

    Example: everest render
    """
    from flows.render import read_back_and_render  # noqa: PLC0415
    from tasks.night import opened  # noqa: PLC0415
    from tasks.steps import plain_steps  # noqa: PLC0415

    where = setting()
    with shown() as progress, opened(where, progress=progress) as run:
        reconciled, rendered = read_back_and_render(plain_steps(), run)
    told = {
        "edits": reconciled.edits,
        "vetoes": reconciled.vetoes,
        "written": rendered.written,
        "unchanged": rendered.unchanged,
        "removed": rendered.removed,
        "held_out": rendered.held_out,
        "questions": [question.text for question in reconciled.questions],
        "failed": [str(failed) for failed in rendered.failed],
    }
    if as_json:
        put(told)
    else:
        say(
            f"{count(rendered.written, 'file')} written, {rendered.unchanged} as they were, "
            f"{rendered.removed} removed; {count(reconciled.edits, 'edit')} and "
            f"{count(reconciled.vetoes, 'deletion')} taken in."
        )
        say(f"{question.text}: {question.why}" for question in reconciled.questions)
    if rendered.failed:
        raise rendered.failed[0]


def measure(as_json: AsJson = False) -> None:
    """Show how often you had to repeat yourself, by day.

    Example: everest measure --json
    """
    from flows.measure import rates  # noqa: PLC0415
    from tasks.night import opened  # noqa: PLC0415
    from tasks.render.rates import measures_section  # noqa: PLC0415
    from tasks.steps import plain_steps  # noqa: PLC0415

    where = setting()
    with shown() as progress, opened(where, progress=progress) as run:
        measures = rates(plain_steps(), run)
    if as_json:
        put(
            {
                "person_turns": measures.person_turns,
                **{
                    name: {
                        "part": rate.part,
                        "whole": rate.whole,
                        "days": [[str(d.day), d.part, d.whole] for d in rate.days],
                    }
                    for name, rate in (
                        ("repeat_yourself", measures.repeat_yourself),
                        ("repeated_error", measures.repeated_error),
                    )
                },
            }
        )
    else:
        say(measures_section(measures) or ["Nothing to measure yet: run `everest night` first."])


def morning(as_json: AsJson = False) -> None:
    """Show the last morning report.

    Example: everest morning
    """
    places = setting().places
    if not places.morning.exists():
        say("No morning report yet: run `everest night` first.")
        return
    text = places.morning.read_text("utf-8")
    if as_json:
        put({"path": str(places.morning), "text": text})
    else:
        say(text)


def rebuild(as_json: AsJson = False) -> None:
    """Make the store again from the ledger; nothing is lost.

    Example: everest rebuild
    """
    from flows.rebuild import replay_and_publish  # noqa: PLC0415
    from tasks.night import opened  # noqa: PLC0415
    from tasks.rebuild import discard_store  # noqa: PLC0415
    from tasks.steps import plain_steps  # noqa: PLC0415

    where = setting()
    records = discard_store(where)
    with shown() as progress, opened(where, progress=progress) as run:
        published = replay_and_publish(plain_steps(), run)
    if as_json:
        put({"records": records, "digest": published.digest})
    else:
        say(f"{count(records, 'record')} replayed. The store's digest is {published.digest}")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {many}" for name, many in counts.items() if many) or "nothing to do"


def _surveyed(where: Setting, *, quiet: bool) -> list[dict[str, Any]]:
    """Say which roots are read and how much lies in them, before anything is."""
    from tasks.ingest import survey  # noqa: PLC0415

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


def _after(where: Setting) -> list[str]:
    lines = where.places.morning.read_text("utf-8").splitlines()
    summary = next((line for line in lines[1:] if line.strip()), "")
    return [summary, f"The morning report: {where.places.morning} (`everest morning` shows it)."]


def _night(where: Setting) -> NightReport:
    from flows.nightly import night as body  # noqa: PLC0415
    from tasks.night import opened  # noqa: PLC0415
    from tasks.steps import plain_steps  # noqa: PLC0415

    with shown() as progress, opened(where, progress=progress) as run:
        return body(plain_steps(), run)


def _night_wherever(where: Setting, transcripts: Path | None) -> NightReport:
    """Run the night under the Prefect API that is configured, or in this process alone."""
    from flows.nightly import nightly  # noqa: PLC0415
    from tasks.orchestration import answers, api_in_use  # noqa: PLC0415

    url = api_in_use()
    if url and answers(url):
        return nightly(None if transcripts is None else str(transcripts))
    if url:
        typer.echo(f"Prefect does not answer at {url}; the night runs without it.", err=True)
    return _night(where)
