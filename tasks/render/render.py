"""Bring every lesson file and `MEMORY.md` in line with what is known; a second run writes nothing.

First all is decided by reading, then the new digests are made durable, then the files are written.
One file that the disk refuses does not stop the others. Invariant: what a person wrote survives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from tasks.domain.ids import shown
from tasks.domain.markers import FILE_PREFIX
from tasks.durable import sweep_parts
from tasks.errors import WriteFailed
from tasks.render import index as index_file
from tasks.render.files import Drop, Keep, Remove, Same, Step, Write, carry_out, step_for
from tasks.render.files import step_without as without
from tasks.render.index import Draft, Lines
from tasks.render.lesson_file import file_name
from tasks.render.listings import write_listings
from tasks.render.memory_md import OverLimit
from tasks.render.places import INDEX, Folder, folders
from tasks.render.plan import HostLines, Rendered, RenderPlan, lessons_of
from tasks.render.written import Book, announce, landed, load, save
from tasks.waypoints import passing


@dataclass(frozen=True, slots=True)
class _Job:
    """One folder's `MEMORY.md` to bring in line."""

    folder: Folder
    lines: Lines
    draft: Draft


@dataclass(slots=True)
class _Tally:
    """What happened so far, in the making."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    kept: list[Path] = field(default_factory=list)
    busy: list[Path] = field(default_factory=list)
    failed: list[WriteFailed] = field(default_factory=list)


def render(plan: RenderPlan) -> Rendered:
    """Write what the plan says and return what was done.

    Raises:
        WriteFailed: when `written.json` cannot be written; then no other file was touched.
    """
    book, tally = load(plan.places.written), _Tally()
    spots = folders(plan.projects, memory=plan.places.memory, host_root=plan.host_root)
    _sweep(plan, spots, book, tally)
    passing("render.swept")
    steps = _steps(plan, spots, book, tally)
    jobs = _jobs(plan, spots, book, tally)
    announced = _announced(book, steps, jobs)
    save(plan.places.written, announced)
    passing("render.announced")
    after = dict(announced)
    for step in steps:
        _do(step, book, after, tally)
    for job in jobs:
        _do_index(job, plan, book, after, tally)
        passing("render.indexed")
    tally.failed.extend(write_listings(plan))
    passing("render.listed")
    _close(plan.places.written, after, tally)
    passing("render.closed")
    return _rendered(spots, jobs, tally)


def _sweep(plan: RenderPlan, spots: Iterable[Folder], book: Book, tally: _Tally) -> None:
    """Clear away what a killed render left: it holds memory that a person may have taken out."""
    places = {folder.path for folder in spots} | {x.parent for x in book if _in_reach(x, plan)}
    for place in sorted(places):
        for names in (f"{FILE_PREFIX}*.md", INDEX):
            with _noting(tally):
                sweep_parts(place, names)
    for path in (plan.places.written, plan.places.lessons, plan.places.vetoed):
        with _noting(tally):
            sweep_parts(path.parent, path.name)


def _steps(plan: RenderPlan, spots: Iterable[Folder], book: Book, tally: _Tally) -> list[Step]:
    """Decide about every lesson file: those wanted, then those no longer wanted."""
    steps: list[Step] = []
    wanted: set[Path] = set()
    for folder in spots:
        for lesson in lessons_of(plan, folder.project_id):
            path = folder.path / file_name(lesson.id)
            wanted.add(path)
            with _noting(tally):
                steps.append(
                    step_for(path, lesson, folder.project_id, zone=plan.zone, record=book.get(path))
                )
    for path in sorted(book.keys() - wanted):
        if path.name != INDEX and _in_reach(path, plan):
            with _noting(tally):
                steps.append(without(path, book[path]))
    return steps


def _jobs(plan: RenderPlan, spots: Iterable[Folder], book: Book, tally: _Tally) -> list[_Job]:
    """Draft every `MEMORY.md`: of the folders wanted, and of those that had a section of ours."""
    wanted = [(folder, lessons_of(plan, folder.project_id)) for folder in spots]
    known = {folder.index for folder, _ in wanted}
    wanted.extend(
        (Folder(path.parent, book[path].project_id, of_host=False), [])
        for path in sorted(book.keys() - known)
        if path.name == INDEX and _in_reach(path, plan)
    )
    jobs: list[_Job] = []
    for folder, lessons in wanted:
        lines = index_file.part(lessons, folder, plan)
        with _noting(tally):
            made = index_file.draft(folder, lines, plan, book.get(folder.index))
            jobs.append(_Job(folder, lines, made))
    return jobs


def _announced(book: Book, steps: Iterable[Step], jobs: Iterable[_Job]) -> Book:
    """Return the book with the digest of everything that is about to be written."""
    announced = dict(book)
    for step in steps:
        if isinstance(step, Write):
            announced[step.path] = announce(
                book.get(step.path), step.project_id, step.mark, step.on_disk
            )
    for job in jobs:
        if not job.draft.unchanged:
            path, mark = job.folder.index, job.draft.mark
            announced[path] = announce(
                book.get(path), job.folder.project_id, mark, job.draft.on_disk
            )
    return announced


def _do(step: Step, before: Book, after: Book, tally: _Tally) -> None:
    match step:
        case Write(path=path, project_id=project_id, mark=mark):
            _restore(path, before, after)
            with _noting(tally):
                carry_out(step)
                passing("render.written")
                after[path] = landed(after.get(path), project_id, mark)
                tally.written += 1
        case Same(path=path, project_id=project_id, mark=mark):
            after[path] = landed(before.get(path), project_id, mark)
            tally.unchanged += 1
        case Keep(path=path):
            tally.kept.append(path)
        case Remove(path=path):
            with _noting(tally):
                carry_out(step)
                passing("render.removed")
                after.pop(path, None)
                tally.removed += 1
        case Drop(path=path):
            after.pop(path, None)
        case _:
            assert_never(step)


def _do_index(job: _Job, plan: RenderPlan, before: Book, after: Book, tally: _Tally) -> None:
    path, made = job.folder.index, job.draft
    _restore(path, before, after)
    if made.own_words:
        tally.kept.append(path)
    with _noting(tally):
        if not index_file.write(made, job.folder, job.lines, plan, before.get(path)):
            tally.busy.append(path)
        elif made.mark.rules:
            after[path] = landed(before.get(path), job.folder.project_id, made.mark)
            tally.written += not made.unchanged
            tally.unchanged += made.unchanged
        else:
            after.pop(path, None)
            tally.written += not made.unchanged


def _restore(path: Path, before: Book, after: Book) -> None:
    """Put a file's record back as it was: what was announced counts only once it is written."""
    if path in before:
        after[path] = before[path]
    else:
        after.pop(path, None)


def _close(path: Path, after: Book, tally: _Tally) -> None:
    with _noting(tally):
        save(path, after)


def _rendered(spots: Iterable[Folder], jobs: Iterable[_Job], tally: _Tally) -> Rendered:
    over: list[tuple[Path, OverLimit]] = []
    hosts: list[HostLines] = []
    for job in jobs:
        if job.folder.of_host:
            with _noting(tally):
                excess, lines = _standing(job)
                hosts.append(lines)
                over.extend([(job.folder.index, excess)] if excess is not None else [])
    return Rendered(
        written=tally.written,
        unchanged=tally.unchanged,
        removed=tally.removed,
        kept_edited=tuple(tally.kept),
        busy=tuple(tally.busy),
        over_limit=tuple(over),
        hosts=tuple(hosts),
        folders=tuple(folder.path for folder in spots),
        failed=tuple(tally.failed),
    )


def _standing(job: _Job) -> tuple[OverLimit | None, HostLines]:
    """Read what a host will load now: what was meant to stand there may not."""
    excess, loaded = index_file.loaded(job.folder.index)
    shown_now = [x.id for x in job.lines.all if shown(x.id) in loaded]
    held = [x.id for x in job.lines.held_out if x.id not in shown_now]
    rest = [x.id for x in job.lines.all if x.id not in shown_now and x.id not in held]
    lines = HostLines(
        job.folder.index, job.folder.project_id, tuple(shown_now), tuple(held), tuple(rest)
    )
    return excess, lines


def _in_reach(path: Path, plan: RenderPlan) -> bool:
    """Tell whether this render may touch a file it once wrote: a host's only with its root."""
    roots = [plan.places.memory]
    if plan.host_root is not None:
        roots.append(plan.host_root / "projects")
    return any(path.is_relative_to(root) for root in roots)


@contextmanager
def _noting(tally: _Tally) -> Iterator[None]:
    """Note a file that the disk refuses and go on with the next."""
    try:
        yield
    except WriteFailed as error:
        tally.failed.append(error)
