"""The morning report: what happened, what was learned, what was retired, what needs an answer.

Written for a person with a minute. Invariant: everything that waits for an answer stands with the
exact command, and what other people's words hold cannot act as Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import Any, Final

from tasks.domain.ids import shown
from tasks.domain.markers import one_line
from tasks.domain.report import (
    Learned,
    Merged,
    NightReport,
    Question,
    Retired,
    Shelf,
    StageTime,
    Strengthened,
)
from tasks.domain.units import EpisodeKind
from tasks.render.commands import code_span
from tasks.render.phrases import WEEKDAYS, count, duration, grouped, listing, long_date
from tasks.render.rates import delegation_section, measures_section

MOST_LEARNED: Final = 30
"""Lessons listed in full; the rest is a count with the command that lists them."""

_MOST_LISTED: Final = 10
_QUOTE: Final = 200
_OF_HOST: Final = "memory"  # how Claude Code names its folder within a project's
_SPEAKER: Final = {EpisodeKind.ERROR: "The error", EpisodeKind.SURPRISE: "The agent"}


def morning(report: NightReport) -> str:
    """Return the report as Markdown. Sections with nothing to say are left out."""
    day = f"{WEEKDAYS[report.day.weekday()]} {long_date(report.day)}"
    sections = [
        [f"# Everest, {day}", "", *_summary(report)],
        _happened(report),
        _learned(report.learned),
        _strengthened(report.strengthened),
        _merged(report.merged),
        _retired(report.retired),
        _questions(report.questions),
        _bets(report),
        measures_section(report.measures, report.day),
        delegation_section(report.delegation),
        _problems(report),
        _footer(report),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def as_data(report: NightReport) -> dict[str, Any]:
    """Return the report as plain JSON values, for `--json`."""
    found: dict[str, Any] = json.loads(json.dumps(asdict(replace(report, alone=None)), default=str))
    del found["alone"]
    return found


def _summary(report: NightReport) -> list[str]:
    waiting = len(report.questions)
    ask = f" **{count(waiting, 'question waits', 'questions wait')} for you.**" if waiting else ""
    trouble = f" {count(len(report.problems), 'problem')} reported." if report.problems else ""
    return [f"{_opening(report)}{ask}{trouble}"]


def _opening(report: NightReport) -> str:
    """Say what this night came to and, where the report tells of earlier ones too, what all did."""
    whole = _gist(report)
    if report.first:
        return f"This was the first night. {whole}"
    own = _gist(report.alone) if report.again and report.alone else whole
    if own == whole:
        return whole
    return f"{own} All of today together, as told below: {whole[0].lower()}{whole[1:]}"


def _gist(report: NightReport) -> str:
    done = [
        text
        for number, text in (
            (report.ingested.sessions, f"read {count(report.ingested.sessions, 'conversation')}"),
            (len(report.learned), _news(report.learned)),
            (len(report.strengthened), f"saw {len(report.strengthened)} come up again"),
            (len(report.retired), f"retired {len(report.retired)}"),
        )
        if number
    ]
    if not (done or report.ingested.files or report.shelf.live):
        return "No conversation was found yet. `everest demo` shows a night on an invented week."
    if not done and report.ingested.changed:
        grown = count(report.ingested.changed, "transcript")
        return f"Nothing new to learn: {grown} had something new, but no lesson moved."
    if not done:
        return "Nothing new: no conversation was added or changed, and no lesson moved."
    text = listing(done)
    nothing = "" if report.learned or not report.ingested.sessions else "; nothing new to learn"
    return f"{text[0].upper()}{text[1:]}{nothing}."


def _news(learned: Sequence[Learned]) -> str:
    ready = sum(lesson.confirmed for lesson in learned)
    waiting = len(learned) - ready
    if not waiting:
        return f"learned {count(ready, 'lesson')}"
    noted = f"noted {waiting} that {'waits' if waiting == 1 else 'wait'} for a second conversation"
    return f"learned {count(ready, 'lesson')}, {noted}" if ready else noted


def _happened(report: NightReport) -> list[str]:
    read = report.ingested
    lines = _reading(report) if read.changed or read.read else []
    if read.episodes:
        met = listing([count(number, kind) for kind, number in read.episodes if number])
        new = f"New in memory, of whatever day: {met}."
        lines.append(new if met else "Nothing in them was worth an episode.")
    if report.waiting:
        wait = count(report.waiting, "thing met so far waits", "things met so far wait")
        lines.append(
            f"{wait} for a second conversation with the same in it before they teach anything."
        )
    if report.refused:
        total = sum(number for _, number in report.refused)
        why = ", ".join(f"{number}× {one_line(reason)}" for reason, number in report.refused)
        lines.append(f"{count(total, 'write was', 'writes were')} refused: {why}.")
    lines += map(one_line, report.models)
    return ["## What happened", "", *lines] if lines else []


def _reading(report: NightReport) -> list[str]:
    """Say what was read; only a single run can be set against the files that it looked at."""
    read = report.ingested
    parts = [
        f"{grouped(number)} {what}"
        for number, what in (
            (read.used, "conversation"),
            (read.set_aside, "set aside as progress and the like"),
            (read.duplicates, "copies"),
            (read.failed, "unreadable"),
        )
        if number
    ]
    every = grouped(read.changed), count(read.files, "transcript")
    some = count(read.changed, "transcript") if report.alone else " of ".join(every)
    news = f"{some} had something new"
    records = f": {count(read.read, 'record')} ({', '.join(parts)})" if parts else ""
    return [f"{news}{records}."]


def _learned(learned: Sequence[Learned]) -> list[str]:
    if not learned:
        return []
    ready = [x for x in learned if x.confirmed]
    waiting = [x for x in learned if not x.confirmed]
    listed = ready[:MOST_LEARNED]
    lines = [f"## Learned ({len(learned)})", ""]
    for n, lesson in enumerate(listed, start=1):
        lines += [f"{n}. {_named(lesson)}", f"{_under(n)}> {_words(lesson)}"]
    room = MOST_LEARNED - len(listed)
    if waiting:
        lines += [*([""] if ready else []), "Met once; used only after a second conversation:", ""]
        lines += [f"- {_rule(lesson)} {_tag(lesson)}" for lesson in waiting[:room]]
    left = len(ready) - len(listed) + max(len(waiting) - room, 0)
    if left:
        lines += ["", f"And {grouped(left)} more: `everest lessons` lists them all."]
    wrong = 'Wrong? `everest reject ID --reason "…"` takes a lesson out and keeps it out.'
    return [*lines, "", wrong]


def _words(lesson: Learned) -> str:
    words = one_line(lesson.quote)
    cut = words if len(words) <= _QUOTE else words[: _QUOTE - 1].rstrip() + "…"
    return f"{_SPEAKER.get(lesson.kind, 'You')}, {long_date(lesson.said)}: “{cut}”"


def _strengthened(lessons: Sequence[Strengthened]) -> list[str]:
    rows = [f"{_named(x)}: now in {count(x.sessions, 'conversation')}" for x in lessons]
    return _listed("Came up again", rows)


def _merged(lessons: Sequence[Merged]) -> list[str]:
    rows = [
        f"{_named(x)}: now also stands for {', '.join(f'`{shown(old)}`' for old in x.absorbed)}"
        for x in lessons
    ]
    return _listed("Merged", rows)


def _retired(lessons: Sequence[Retired]) -> list[str]:
    return _listed("Retired", [f"{_named(x)}: {x.why.value}" for x in lessons])


def _questions(questions: Sequence[Question]) -> list[str]:
    if not questions:
        return []
    lines = [f"## Needs your answer ({len(questions)})"]
    for n, question in enumerate(questions, start=1):
        under = _under(n)
        lines += ["", f"{n}. **{one_line(question.text)}**  ", f"{under}{one_line(question.why)}"]
        lines += [f"{under}- {code_span(command)}" for command in question.commands]
    return lines


def _under(number: int) -> str:
    """Return the indent that keeps a line inside the item of that number."""
    return " " * len(f"{number}. ")


def _bets(report: NightReport) -> list[str]:
    bets = report.bets
    resolved = (
        (bets.confirmed, "came true"),
        (bets.failed, "did not"),
        (bets.unexercised, "never got a chance"),
        (bets.void, "do not count, the lesson had been shown"),
    )
    said = [f"{number} {what}" for number, what in resolved if number]
    if not (bets.made or bets.open or said):
        return []
    made = f"{count(bets.made, 'new bet')} that a lesson's subject comes up again"
    parts = [made, *said, f"{bets.open} still open"]
    return ["## Predictions", "", f"{'; '.join(parts)}."]


def _problems(report: NightReport) -> list[str]:
    return _listed("Problems", [one_line(problem) for problem in report.problems])


def _footer(report: NightReport) -> list[str]:
    lines = [*_shelf(report.shelf), *_stages(report.stages)]
    return ["---", "", *lines] if lines else []


def _shelf(shelf: Shelf) -> list[str]:
    if not (shelf.live or shelf.candidates):
        return ["No lesson is in use yet."]
    waiting = f", {shelf.candidates} waiting for a second conversation" if shelf.candidates else ""
    lines = [f"{count(shelf.live, 'lesson')} in use{waiting}."]
    if shelf.shown or shelf.held_out:
        held = (
            f"; {shelf.held_out} left out there this week, to measure the difference "
            "(EVEREST_HOLDOUT=0 leaves none out)"
        )
        lines[0] += f" In MEMORY.md: {shelf.shown}{held if shelf.held_out else ''}."
    if shelf.folders:
        lines.append(f"Lesson files: {', '.join(_places(shelf.folders))}.")
    return [f"{line}  " for line in lines]


def _places(folders: Sequence[str]) -> list[str]:
    """Return folders of one kind as one place: `~/.claude/projects/*/memory` for all projects."""
    kinds: dict[str, list[str]] = {}
    for folder in folders:
        path = PurePath(folder)
        of_host = path.name == _OF_HOST
        kind = path.parent.parent / "*" / path.name if of_host else path.parent / "*"
        kinds.setdefault(str(kind), []).append(folder)
    return [
        f"`{kind}` ({len(alike)} projects)" if len(alike) > 1 else f"`{alike[0]}`"
        for kind, alike in kinds.items()
    ]


def _stages(stages: Sequence[StageTime]) -> list[str]:
    if not stages:
        return []
    total = sum(stage.seconds for stage in stages)
    each = ", ".join(f"{stage.name} {duration(stage.seconds)}" for stage in stages)
    return [f"The night took {duration(total)}: {each}."]


def _listed(title: str, rows: Sequence[str]) -> list[str]:
    if not rows:
        return []
    lines = [f"## {title} ({len(rows)})", "", *(f"- {row}" for row in rows[:_MOST_LISTED])]
    left = len(rows) - _MOST_LISTED
    return [*lines, f"- … and {grouped(left)} more"] if left > 0 else lines


def _rule(lesson: Learned | Strengthened | Merged | Retired) -> str:
    text = one_line(lesson.text) or "(forgotten)"
    return text if text.endswith((".", "!", "?", "…", ")")) else f"{text}."


def _named(lesson: Learned | Strengthened | Merged | Retired) -> str:
    return f"**{_rule(lesson)}** {_tag(lesson)}"


def _tag(lesson: Learned | Strengthened | Merged | Retired) -> str:
    return f"({one_line(lesson.project)}, `{shown(lesson.id)}`)"
