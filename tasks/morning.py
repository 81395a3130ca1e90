"""Gather what a night came to into the morning report, and write it for the person.

A report covers everything since the last report of an earlier day, so a second run on one day adds
to its report and never hides what the first one learned.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any, Final

from tasks.delegation import delegation
from tasks.domain.canon import canon
from tasks.domain.clock import local_day
from tasks.domain.ids import note_id
from tasks.domain.proposals import SessionFacts
from tasks.domain.ran import Ran, completed_nights
from tasks.domain.report import (
    Measures,
    NightReport,
    Question,
    StageTime,
)
from tasks.domain.units import Project
from tasks.durable import swap_file
from tasks.gathering import Gathered
from tasks.ingest import Ingested
from tasks.llm.use import Use, in_words, keep_uses, trouble_of, uses
from tasks.night import Run, projects
from tasks.reconcile import Reconciled
from tasks.render.commands import shell_word
from tasks.render.morning import morning as as_markdown
from tasks.render.plan import Rendered
from tasks.render.telling import problems_of, runs_told
from tasks.runs import runs_before
from tasks.since import since
from tasks.sleep.run import Slept
from tasks.store import reads
from tasks.store.reads import Ids
from tasks.waypoints import passing

_MOST_PROBLEMS: Final = 10
_MOST_HELD: Final = 5
_MARK: Final = re.compile(r"<!-- everest:night (\{.*\}) -->")


@dataclass(frozen=True, slots=True)
class Parts:
    """What each stage of the night came to."""

    folded: Any
    reconciled: Reconciled
    ingested: Ingested
    slept: tuple[Slept, ...]
    measures: Measures
    rendered: Rendered


@dataclass(frozen=True, slots=True)
class _Mark:
    """What a report covered: records after `since` up to `tx`.

    Attributes:
        runs_since, runs: the same of the log of runs, by the numbers of their first lines.
    """

    day: str
    since: int
    tx: int
    runs_since: int = 0
    runs: int = 0


def morning(run: Run, parts: Parts) -> NightReport:
    """Return the report of the night, and write it to `morning.md` if it says anything new.

    Raises:
        WriteFailed: when the file cannot be written.
    """
    day = local_day(run.at, run.settings.zone)
    last = _last_mark(run)
    today = last is not None and last.day == day.isoformat()
    now = _mark(run, last if today else None, last)
    report = replace(_report(run, parts, day, now), first=_first(run, last), again=today)
    if now.since != run.after:
        own = replace(now, since=run.after, runs_since=last.runs if last else 0)
        report = replace(report, alone=_report(run, parts, day, own))
    found = _uses(run)
    keep_uses(run.store.places.model_use, found)
    wrong = any(use.went_wrong for use in found)
    if last is None or not today or last.tx != now.tx or wrong or _gone_wrong(run, last.runs):
        mark = f"\n<!-- everest:night {json.dumps(asdict(now))} -->\n"
        swap_file(run.store.places.morning, (as_markdown(report) + mark).encode())
        passing("morning.written")
    return report


def _last_mark(run: Run) -> _Mark | None:
    try:
        found = _MARK.search(run.store.places.morning.read_text("utf-8", "replace"))
    except OSError:
        return None
    return _parsed(found[1]) if found else None


def _first(run: Run, last: _Mark | None) -> bool:
    """Tell whether there was no night yet; one whose report is gone was one too."""
    return last is None and not completed_nights(runs_before(run.store.places.runs, run.key))


def _parsed(mark: str) -> _Mark | None:
    """Return the mark, or None where somebody edited it: the report then begins anew."""
    try:
        return _Mark(**json.loads(mark))
    except (ValueError, TypeError):
        return None


def _mark(run: Run, today: _Mark | None, last: _Mark | None) -> _Mark:
    """Return what this report covers; `today` is the last mark where it is of the same day."""
    day = local_day(run.at, run.settings.zone).isoformat()
    told = max((one.n for one in runs_before(run.store.places.runs, run.key)), default=0)
    tx = run.store.ledger.last_tx
    if today is not None:
        return _Mark(day, today.since, tx, today.runs_since, told)
    if last is not None:
        return _Mark(day, last.tx, tx, last.runs, told)
    return _Mark(day, 0, tx, 0, told)


def _gone_wrong(run: Run, after: int) -> list[Ran]:
    """Return the runs since line `after` of their log that there is something to tell of."""
    before = runs_before(run.store.places.runs, run.key)
    return [one for one in before if one.n > after and (one.went_wrong or one.remark)]


def _report(run: Run, parts: Parts, day: date, mark: _Mark) -> NightReport:
    names = _told_apart(projects(run))
    found = since(run.store.ledger, mark.since, files=parts.ingested.files)
    gathered = Gathered(run, names, mark.since)
    return NightReport(
        day=day,
        ingested=found.read,
        learned=tuple(gathered.learned()),
        strengthened=tuple(gathered.strengthened()),
        merged=tuple(gathered.merged()),
        retired=tuple(gathered.retired()),
        refused=found.refused,
        held=(*gathered.asked(), *_held(run, parts, names)),
        bets=gathered.bets(found.instants),
        measures=replace(parts.measures, history=None),
        delegation=delegation(_sessions(run), now=run.at, zone=run.settings.zone),
        shelf=gathered.shelf(parts.rendered),
        unsure=parts.reconciled.questions,
        waiting=sum(slept.counts["left"] for slept in parts.slept),
        problems=(*_broken_off(run, mark.runs_since), *_problems(run, parts)),
        models=tuple(filter(None, map(in_words, _uses(run)))),
        stages=tuple(StageTime(name, seconds) for name, seconds in run.seconds.items()),
    )


def _told_apart(known: Iterable[Project]) -> dict[str, str]:
    """Return what each project is called by its id: its name, or its id where others share it."""
    found = list(known)
    times = Counter(project.name for project in found)
    return {
        project.project_id: project.name if times[project.name] == 1 else project.project_id
        for project in found
    }


def _sessions(run: Run) -> Iterator[SessionFacts]:
    for scope in reads.scopes(run.store.database):
        yield from reads.sessions(run.store.database, scope)


def _held(run: Run, parts: Parts, names: dict[str, str]) -> Iterator[Question]:
    """Yield a question for each rule that waits, unless the person noted it down already."""
    held = [one for slept in parts.slept for one in slept.held]
    for scope, text in held[:_MOST_HELD]:
        note = note_id(run.store.key, scope, canon(text.text, 1))
        if not reads.episodes(run.store.database, scope, Ids((note,))):
            project = shell_word(names.get(scope.project_id, scope.project_id))
            yield Question(
                f"“{text.text}”",
                f"{text.reason}, so it was not made a lesson; keep it as a note of yours with",
                (f"everest remember {shell_word(text.text)} --project {project}",),
            )


def _broken_off(run: Run, after: int) -> tuple[str, ...]:
    return runs_told(_gone_wrong(run, after), run.settings.zone)


def _problems(run: Run, parts: Parts) -> Iterator[str]:
    yield from _some(parts.ingested.problems)
    if run.chosen.instead:
        yield f"Meanings are compared by {run.chosen.why}."
    yield from (trouble for use in _uses(run) for trouble in trouble_of(use))
    yield from parts.folded.problems
    if parts.folded.bad:
        yield f"{parts.folded.bad} journal lines could not be read and were passed over."
    if run.store.caught_up:
        yield f"{run.store.caught_up} ledger records were applied that an earlier run left."
    yield from parts.reconciled.problems
    yield from problems_of(parts.rendered)


def _uses(run: Run) -> tuple[Use, ...]:
    return uses(run.chosen.space, run.wordsmith, run.left_out)


def _some(problems: list[str]) -> Iterable[str]:
    yield from problems[:_MOST_PROBLEMS]
    if len(problems) > _MOST_PROBLEMS:
        yield f"And {len(problems) - _MOST_PROBLEMS} more files could not be read as they should."
