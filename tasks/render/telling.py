"""What a render and a reading back have to tell the person, as sentences of the morning report.

Invariant: every doubt about a deletion becomes a question with the commands that settle it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Final

from tasks.domain.ids import shown
from tasks.domain.ran import Outcome, Ran
from tasks.domain.report import Question
from tasks.domain.units import Lesson
from tasks.render.lesson_file import rule_of
from tasks.render.memory_md import HOST_BYTES, HOST_LINES, OverLimit
from tasks.render.phrases import count, grouped
from tasks.render.plan import Rendered
from tasks.render.reconcile import FileChange, Reverted, Unsure

_MOST_NAMED: Final = 5


def problems_of(rendered: Rendered) -> tuple[str, ...]:
    """Return a sentence for each thing a render could not do, or that a host will not see."""
    return (
        *(str(error) for error in rendered.failed),
        *(
            f"{path} was being written by another program; it is done next time"
            for path in rendered.busy
        ),
        *(_over(path, excess) for path, excess in rendered.over_limit),
        *(_kept(rendered.kept_edited) if rendered.kept_edited else ()),
    )


def runs_told(runs: Sequence[Ran], zone: tzinfo) -> tuple[str, ...]:
    """Return a sentence for each run that did not go as it should; of many the newest alone."""
    told = [_run(run, zone) for run in runs[-_MOST_NAMED:]]
    left = len(runs) - len(told)
    earlier = f"{count(left, 'earlier run')} did not go as they should either"
    return (*told, *([earlier] if left else ()))


def _run(run: Ran, zone: tzinfo) -> str:
    started = f"The {run.key.flow} of {run.began.astimezone(zone):%Y-%m-%d %H:%M}"
    match run.outcome:
        case Outcome.COMPLETED:
            return f"{started} completed, but {run.remark}"
        case Outcome.FAILED | Outcome.REFUSED:
            return f"{started} failed: {run.why or f'a fault of ours, {run.error}'}"
        case Outcome.STOPPED:
            return f"{started} was stopped before it was done; this night went on from there"
        case _:
            return f"{started} was killed or crashed; this night went on from there"


def reverted_of(changes: Iterable[FileChange]) -> tuple[str, ...]:
    """Return one sentence for each file whose fields of ours somebody changed."""
    return tuple(
        f"the fields at the top of {change.path} are kept by Everest and were put back; reword the"
        f' rule there, or run `everest reject {shown(change.lesson_id)} --reason "…"`'
        for change in changes
        if isinstance(change, Reverted)
    )


def questions_of(changes: Iterable[FileChange], lessons: Iterable[Lesson]) -> tuple[Question, ...]:
    """Return one question for each change that could mean two things."""
    known = {lesson.id: lesson for lesson in lessons}
    return tuple(_question(x, known) for x in changes if isinstance(x, Unsure))


def _question(change: Unsure, known: Mapping[str, Lesson]) -> Question:
    named = [known[x] for x in change.lesson_ids if x in known]
    rules = "; ".join(f"“{rule_of(lesson)}”" for lesson in named[:_MOST_NAMED])
    left = len(named) - _MOST_NAMED
    more = f" and {left} more" if left > 0 else ""
    about = f" It concerns: {rules}{more}." if rules else ""
    return Question(
        text=f"{change.path}: {change.reason}. Should these lessons go?",
        why=f"Nothing was rejected, and what was missing is put back.{about}",
        commands=tuple(
            f'everest reject {shown(lesson.id)} --reason "…"' for lesson in named[:_MOST_NAMED]
        ),
    )


def _over(path: Path, excess: OverLimit) -> str:
    lost = (
        f"; {count(len(excess.lost), 'lesson is', 'lessons are')} in the part that is not loaded"
        if excess.lost
        else ""
    )
    return (
        f"{path} has {grouped(excess.lines)} lines and {grouped(excess.size)} bytes, its agent"
        f" loads {HOST_LINES} lines or {grouped(HOST_BYTES)} bytes{lost}; shorten your own part"
    )


def _kept(paths: tuple[Path, ...]) -> tuple[str, ...]:
    named = ", ".join(str(path) for path in paths[:_MOST_NAMED])
    left = len(paths) - _MOST_NAMED
    more = f" and {left} more" if left > 0 else ""
    stay = count(len(paths), "file edited by hand stays", "files edited by hand stay")
    return (f"{stay} as written: {named}{more}",)
