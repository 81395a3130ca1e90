"""What a run leaves in Prefect's pages for a person to read: tables, a summary, a picture.

Prefect keeps these in a database in clear. Invariant: they hold counts, ids, names of passes and
paths of ours, and never a word of the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Final

from tasks.domain.ids import shown
from tasks.domain.report import NightReport
from tasks.ingest import Ingested
from tasks.reconcile import Reconciled
from tasks.render.phrases import count, listing, long_date
from tasks.render.plan import Rendered
from tasks.render.plot import as_image, plot
from tasks.sleep.run import Slept

_MOST_IDS: Final = 20

Row = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under the same columns; `key` is the same every time, so that there is a history."""

    key: str
    rows: tuple[Row, ...]
    description: str


@dataclass(frozen=True, slots=True)
class Page:
    """A text in Markdown."""

    key: str
    text: str
    description: str


Artifact = Table | Page


def of_night(report: NightReport, morning: Path) -> tuple[Artifact, ...]:
    """Return what a night leaves: its counts, its summary and its picture, of this run alone."""
    report = report.alone or report
    night = long_date(report.day)
    return (
        Table("night-counts", tuple(_night_rows(report)), f"What the night of {night} came to."),
        Page("night-summary", _summary(report, morning), f"The night of {night}, with links."),
        Page("night-plot", _picture(report), "Repeated corrections by day, and the night's work."),
    )


def in_a_line(step: str, came_to: object) -> str:
    """Return a step's name and the numbers that it came to, for the log of a run."""
    told = [f"{what.replace('_', ' ')} {many}" for what, many in _numbers(came_to) if many]
    return f"{step}: {', '.join(told) or 'nothing to tell'}"


def _numbers(came_to: object) -> Iterable[tuple[str, int]]:
    match came_to:
        case Slept():
            return (*came_to.counts.items(), *came_to.decided.items())
        case NightReport():
            report = came_to.alone or came_to
            return (
                ("learned", len(report.learned)),
                ("came up again", len(report.strengthened)),
                ("retired", len(report.retired)),
                ("questions", len(report.questions)),
                ("problems", len(report.problems)),
            )
        case _ if is_dataclass(came_to):
            values = ((one.name, getattr(came_to, one.name)) for one in fields(came_to))
            return ((name, value) for name, value in values if isinstance(value, int))
        case _:
            return ()


def counts(flow: str, told: Iterable[tuple[str, int]]) -> tuple[Artifact, ...]:
    """Return the table that a run of another flow leaves."""
    rows: tuple[Row, ...] = tuple({"what": what, "number": number} for what, number in told)
    return (Table(f"{flow}-counts", rows, f"What this {flow} came to."),)


def of_ingest(found: Ingested) -> tuple[Artifact, ...]:
    """Return the table of an ingest."""
    read = (
        ("transcripts", found.files),
        ("of them changed", found.changed),
        ("records read", found.counts.read),
        ("records used", found.counts.used),
        ("records set aside", found.counts.set_aside.total()),
        ("copies", found.counts.duplicates),
        ("records that failed", found.failed),
        ("sessions", found.sessions),
    )
    new = ((f"new episodes: {kind}", many) for kind, many in found.episodes.items())
    return counts("ingest", (*read, *new))


def of_passes(slept: Iterable[Slept]) -> tuple[Artifact, ...]:
    """Return the table of the passes."""
    rows = ((f"{one.name}: {what}", many) for one in slept for what, many in one.counts.items())
    return counts("sleep", rows)


def of_render(reconciled: Reconciled, rendered: Rendered) -> tuple[Artifact, ...]:
    """Return the table of a render."""
    told = (
        ("edits taken in", reconciled.edits),
        ("deletions taken in", reconciled.vetoes),
        ("files written", rendered.written),
        ("files as they were", rendered.unchanged),
        ("files removed", rendered.removed),
        ("lines held out", rendered.held_out),
        ("files that failed", len(rendered.failed)),
    )
    return counts("render", told)


def _night_rows(report: NightReport) -> Iterable[Row]:
    read, bets, shelf = report.ingested, report.bets, report.shelf
    told = (
        ("transcripts", read.files),
        ("transcripts that changed", read.changed),
        ("records read", read.read),
        ("records that failed", read.failed),
        ("sessions", read.sessions),
        *((f"new episodes: {kind}", many) for kind, many in read.episodes),
        ("lessons learned", len(report.learned)),
        ("lessons that came up again", len(report.strengthened)),
        ("lessons merged", len(report.merged)),
        ("lessons retired", len(report.retired)),
        ("writes refused", sum(many for _, many in report.refused)),
        ("questions for you", len(report.questions)),
        ("bets made", bets.made),
        ("bets that came true", bets.confirmed),
        ("lessons in use", shelf.live),
        ("lesson files written", shelf.written),
        ("lesson files removed", shelf.removed),
        ("lines held out this week", shelf.held_out),
        ("problems", len(report.problems)),
    )
    return [{"what": what, "number": number} for what, number in told]


def _summary(report: NightReport, morning: Path) -> str:
    read = report.ingested
    new = f"{count(read.changed, 'transcript')} of {read.files} had something new"
    lines = [
        f"# The night of {long_date(report.day)}",
        "",
        f"{new}, in {count(read.sessions, 'session')}.",
        "",
        *_ids("learned", [lesson.id for lesson in report.learned]),
        *_ids("came up again", [lesson.id for lesson in report.strengthened]),
        *_ids("retired", [lesson.id for lesson in report.retired]),
        f"- {count(len(report.questions), 'question')} for you",
        f"- {count(len(report.problems), 'problem')}",
        "",
        f"The report itself is on this machine: [{morning.name}]({morning.as_uri()})",
        "",
        f"`{morning}`, or `everest morning` at a terminal.",
    ]
    return "\n".join(lines) + "\n"


def _picture(report: NightReport) -> str:
    """Return the picture as Markdown; Prefect's pages show images that stand in the text."""
    measures = report.measures
    days = [(one.day, one.part, one.whole) for one in measures.repeat_yourself.days]
    stages = [(stage.name, stage.seconds) for stage in report.stages]
    rate = measures.repeat_yourself
    said = f"{rate.part} of {count(rate.whole, 'correction')} in these days were repeated."
    return f"![{said}]({as_image(plot(days, stages, today=report.day))})\n\n{said}\n"


def _ids(what: str, ids: list[str]) -> list[str]:
    if not ids:
        return []
    named = listing(f"`{shown(one)}`" for one in ids[:_MOST_IDS])
    more = f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
    return [f"- {count(len(ids), 'lesson')} {what}: {named}{more}"]
