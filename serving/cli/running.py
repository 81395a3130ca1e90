"""Commands that run one part of a night: ingest, sleep, render and the others."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from serving.cli.output import AsJson, put, say
from serving.cli.progress import shown
from tasks.compose import setting
from tasks.domain.clock import local_day, utc_now
from tasks.domain.report import Measures, Rate, Reached
from tasks.errors import UsageError
from tasks.render.phrases import count

Transcripts = Annotated[
    Path | None,
    typer.Option(
        "--transcripts",
        metavar="FOLDER",
        readable=False,  # looked at where it is read, with words of ours
        help="Read this folder of transcripts; write nothing under it.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    for command in (ingest, sleep, render, measure, rebuild):
        app.command()(command)


def ingest(
    transcripts: Transcripts = None,
    events: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            readable=False,  # as above
            allow_dash=True,
            help="First take in this file's events, one JSON object a line; - is standard input.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing unless it fails.")] = False,
    spooled: Annotated[
        bool,
        typer.Option(
            "--spooled",
            hidden=True,  # what hooks start, with --quiet
            help="Read only the transcripts that hooks said are over, then run a due night.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read new transcripts for recall; learn nothing yet.

    Lines of --events that cannot be used are named and passed over; where
    not one can be used nothing else is read, and it ends with code 2.

    Example: everest ingest --events happened.jsonl
    """
    from flows import ingest as flow  # noqa: PLC0415  heavy imports wait for their command
    from serving.cli.spooling import run_spooled  # noqa: PLC0415
    from serving.cli.telling import as_data, in_words, tell_file  # noqa: PLC0415
    from serving.cli.wherever import run_flow, text_of  # noqa: PLC0415

    where = setting(transcripts)
    if spooled:
        run_spooled(where)
        return
    told = None if events is None else tell_file(where, events)
    if told is not None and told.unusable and not told.accepted:
        raise UsageError("\n".join(in_words(told, str(events))))
    found = run_flow(
        where,
        flow.ingest,
        flow.read_and_publish,
        quiet=quiet,
        transcripts=text_of(transcripts),
    )
    if found is None:  # only a schedule asks to leave it while paused
        return
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
                "events": None if told is None else as_data(told),
            }
        )
    elif not quiet:
        if told is not None:
            say(in_words(told, str(events)))
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
    from flows import sleep as flow  # noqa: PLC0415
    from serving.cli.wherever import run_flow  # noqa: PLC0415
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
    slept = run_flow(where, flow.sleep, flow.fold_and_sleep)
    told = [(s.name, {**s.counts, **s.decided}) for s in slept]
    if as_json:
        put([{"pass": name, **counts} for name, counts in told])
    else:
        say(f"{name:<8} {_counted(counts)}" for name, counts in told)


def render(as_json: AsJson = False) -> None:
    """Take in edits of lesson files and write them again.

    Example: everest render
    """
    from flows import render as flow  # noqa: PLC0415
    from serving.cli.wherever import run_flow  # noqa: PLC0415

    reconciled, rendered = run_flow(setting(), flow.render, flow.read_back_and_render)
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
    """Show how often you repeated yourself, and who was told what.

    It shows the last two weeks. With --json all that is stored stands beside them,
    day by day and lesson by lesson.

    Example: everest measure --json
    """
    from flows import measure as flow  # noqa: PLC0415
    from serving.cli.wherever import run_flow  # noqa: PLC0415
    from tasks.render.rates import measures_section, reach_table  # noqa: PLC0415

    where = setting()
    measures = run_flow(where, flow.measure, flow.rates)
    if as_json:
        history = measures.history and _measured(measures.history)
        put({**_measured(measures), "zone": str(where.settings.zone), "history": history})
    else:
        today = local_day(utc_now(), where.settings.zone)
        told = [*measures_section(measures, today), "", *reach_table(measures.reached)]
        nothing = ["Nothing to measure yet: run `everest night` first."]
        say(told if any(told) else nothing)


def rebuild(as_json: AsJson = False) -> None:
    """Make the store again from the ledger; nothing is lost.

    Example: everest rebuild
    """
    from flows import rebuild as flow  # noqa: PLC0415
    from serving.cli.wherever import run_flow  # noqa: PLC0415
    from tasks.rebuild import discard_store  # noqa: PLC0415

    rebuilt = run_flow(setting(), flow.rebuild, flow.replay_and_publish, first=discard_store)
    digest = rebuilt.published.digest
    if as_json:
        put({"records": rebuilt.records, "digest": digest})
    else:
        say(f"{count(rebuilt.records, 'record')} replayed. The store's digest is {digest}")


def _measured(found: Measures) -> dict[str, Any]:
    days = [str(one.day) for one in found.repeat_yourself.days]
    return {
        "window": {"since": days[0], "until": days[-1], "days": len(days)} if days else None,
        "person_turns": found.person_turns,
        "repeat_yourself": _rate(found.repeat_yourself),
        "repeated_error": _rate(found.repeated_error),
        "reached": _reached(found.reached),
    }


def _rate(rate: Rate) -> dict[str, Any]:
    days = [[str(one.day), one.part, one.whole] for one in rate.days]
    return {"part": rate.part, "whole": rate.whole, "days": days}


def _reached(found: Reached) -> dict[str, Any]:
    whole, *lessons = (
        {**asdict(one), "nowhere": one.nowhere} for one in (found.whole, *found.lessons)
    )
    since = str(found.since) if found.since else None
    return {"since": since, "whole": whole, "lessons": lessons}


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {many}" for name, many in counts.items() if many) or "nothing to do"
