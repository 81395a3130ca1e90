"""The stages of a night as plain functions over one `Run`, in the order in which a flow names them.

Each does its part and says in plain data what that came to. Nothing here knows of Prefect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from tasks import fold as folding
from tasks import ingest as reading
from tasks import measure as measuring
from tasks.compose import Setting
from tasks.domain.clock import iso, utc_now
from tasks.domain.ids import digest_of
from tasks.domain.proposals import Action, Actor, Expose, Proposal
from tasks.domain.ran import RunKey
from tasks.domain.report import Measures
from tasks.domain.scope import Scope
from tasks.domain.units import Project
from tasks.embedding.choose import Chosen, renewed
from tasks.evidence.folders import probe
from tasks.fold import Folded
from tasks.inbox import take_in
from tasks.ingest import Ingested
from tasks.llm.gists import summarise
from tasks.llm.wording import Wordsmith, remember
from tasks.progress import Progress, Quiet
from tasks.reached import ever_reached, reached
from tasks.relayed import read_relay
from tasks.render.plan import HostLines, Rendered, RenderPlan
from tasks.render.render import render as render_files
from tasks.runs import recorded
from tasks.settings import Settings
from tasks.sleep import run as sleeping
from tasks.sleep.run import Slept
from tasks.spool import move_exposures
from tasks.store import compact as compacting
from tasks.store import gateway, publish, reads
from tasks.store.compact import Compacted
from tasks.store.handle import Store, open_store
from tasks.store.publish import Published
from tasks.store.reads import Query, Subject
from tasks.store.told import FILE, HELD_OUT, SHOWN
from tasks.waypoints import passing
from tasks.wording import word


@dataclass(slots=True)
class Run:
    """One run of a flow: the open store and what the composition root chose.

    Attributes:
        key: under which the log of runs knows it.
        roots: folders of transcripts to read.
        host_root: the host's root whose memory folders may be written to; None for a folder that
            was named with --transcripts.
        at: the one instant that the whole run records.
        after: number of the ledger's last record when the run began.
        seconds: how long each stage took, in order.
        wordsmith: has a model help with the wording of lessons; None where none is chosen.
        left_out: texts without a vector, since the server that embeds was away.
    """

    key: RunKey
    store: Store
    settings: Settings
    chosen: Chosen
    roots: tuple[Path, ...]
    host_root: Path | None
    at: datetime
    after: int
    progress: Progress
    wordsmith: Wordsmith | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    left_out: int = 0


@contextmanager
def opened(
    where: Setting, key: RunKey, *, at: datetime | None = None, progress: Progress | None = None
) -> Iterator[Run]:
    """Hold the store for one run of a flow, which the log of runs tells of.

    The clock is read once.

    Raises:
        StoreError: when the store cannot be opened; nothing is changed.
    """
    shown, now, chosen = progress or Quiet(), at or utc_now(), where.space()
    smith = where.wordsmith()
    held = partial(recorded, where.places.runs, key, at=now, attended=where.attended)
    with open_store(
        where.places, where.settings, at=now, waiting=shown.waiting, held=held
    ) as store:
        last = store.ledger.last_tx
        yield Run(
            key,
            store,
            where.settings,
            chosen,
            where.roots,
            where.host_root,
            now,
            last,
            shown,
            smith,
        )


def fold(run: Run) -> Folded:
    """Fold what was said since the last night, and what programs and hooks left for it."""
    move_exposures(run.store.places, at=run.at)
    problems = take_in(run.store.places, run.settings, at=run.at)
    return replace(folding.fold(run.store, at=run.at), problems=tuple(problems))


def ingest(run: Run) -> Ingested:
    """Read the transcripts that changed, and the relay of what no transcript tells.

    What a session was shown meanwhile is folded before what it said can count for a lesson.
    """
    report = reading.ingest(
        run.store,
        run.roots,
        settings=run.settings,
        probe=probe,
        at=run.at,
        progress=run.progress.advance,
    )
    read_relay(run.store, settings=run.settings, at=run.at, report=report)
    move_exposures(run.store.places, at=run.at)
    folding.fold(run.store, at=run.at)
    return report


def embed(run: Run) -> Slept:
    """Give a vector to every unit that has none in the space now in use."""
    run.chosen = renewed(run.chosen, run.store.places.model)
    return _embedded(run, run.progress.advance)


def lessons(run: Run) -> Slept:
    """Run the lessons pass over every project; a model helps to word them where one is chosen."""
    smith = run.wordsmith
    slept = sleeping.run_pass(run.store, "lessons", run.chosen.space, at=run.at, word=smith or word)
    if smith is not None:
        summarise(run.store, smith, at=run.at)  # after the lessons: they matter more
        remember(run.store.places.model_asked, smith.in_vain)
    return slept


def sleep_pass(name: str) -> Callable[[Run], Slept]:
    """Return the stage that runs one pass over every project."""

    def stage(run: Run) -> Slept:
        return sleeping.run_pass(run.store, name, run.chosen.space, at=run.at)

    stage.__name__ = name
    stage.__doc__ = f"Run the {name} pass over every project."
    return stage


def measure(run: Run) -> Measures:
    """Work out the two rates by day, and which sessions were told what."""
    zone = run.settings.zone
    rates = measuring.measure(run.store, run.chosen.space, zone=zone)
    history = rates.history and replace(rates.history, reached=ever_reached(run.store))
    return replace(rates, reached=reached(run.store, at=run.at, zone=zone), history=history)


def publish_view(run: Run) -> Published:
    """Publish what readers see; lessons worded this night get their vectors first."""
    _embedded(run, lambda _done, _all: None)
    return publish.publish(run.store, run.chosen.space.name, at=run.at)


def _embedded(run: Run, advance: Callable[[int, int], None]) -> Slept:
    slept = sleeping.embed(run.store, run.chosen.space, at=run.at, progress=advance)
    run.left_out = slept.counts["left_out"]
    return slept


def render(run: Run) -> Rendered:
    """Write lesson files, the section of `MEMORY.md` and the listings; record what is shown."""
    rendered = render_files(plan_of(run))
    for host in rendered.hosts:
        _expose(run, host)
        passing("render.exposed")
    return rendered


def compact(run: Run) -> Compacted:
    """Copy the store into a new file, which alone leaves deleted bytes behind."""
    return compacting.compact(run.store)


def plan_of(run: Run) -> RenderPlan:
    """Return what a render of the store as it stands is given."""
    database = run.store.database
    scopes = reads.scopes(database)
    return RenderPlan(
        lessons=tuple(lesson for scope in scopes for lesson in reads.lessons(database, scope)),
        projects=tuple(projects(run)),
        tombstones=tuple(run.store.stones),
        places=run.store.places,
        host_root=run.host_root,
        at=run.at,
        zone=run.settings.zone,
        holdout=run.settings.holdout,
    )


def projects(run: Run) -> list[Project]:
    """Return every project that is not ignored, by scope."""
    database = run.store.database
    return [
        Project(row["project_id"], row["name"], row["path"], (), row["first_seen"], row["ignored"])
        for scope in reads.scopes(database)
        for row in reads.rows(database, Query(Subject.PROJECTS, scope))
        if not row["ignored"]
    ]


def _expose(run: Run, host: HostLines) -> None:
    """Record what a host's file shows; the same lines as at the last render are no new event."""
    scope = run.settings.scope(host.project_id)
    if _last_render(run, scope) == (set(host.shown), set(host.held_out)):
        return
    exposure = Expose(
        digest_of("render", host.project_id, iso(run.at)),
        run.at,
        "",
        FILE,
        host.shown,
        host.held_out,
    )
    proposal = Proposal(exposure, Action.RENDER, scope, Actor.SYSTEM, "render")
    gateway.commit(run.store, [proposal], at=run.at)


def _last_render(run: Run, scope: Scope) -> tuple[set[str], set[str]]:
    rows = reads.rows(run.store.database, Query(Subject.EXPOSURES, scope))
    renders = [row for row in rows if row["channel"] == FILE]
    last = max((row["at"] for row in renders), default=None)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in renders:
        if row["at"] == last:
            found[row["disposition"]].add(row["lesson_id"])
    return found[SHOWN], found[HELD_OUT]
