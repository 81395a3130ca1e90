"""Rehearse the passes on a copy of the store, so that a person sees what sleep would change."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.compose import Setting
from tasks.domain.clock import iso, utc_now
from tasks.domain.ids import shown
from tasks.night import Run, opened
from tasks.progress import Progress
from tasks.runs import new_run
from tasks.settings import Places
from tasks.steps import Steps
from tasks.store import reads
from tasks.store.lock import writer_lock
from tasks.store.reads import AllVersions, Query, Subject
from tasks.store.replacing import complete


@dataclass(frozen=True, slots=True)
class Transition:
    """One change that sleep would make to a unit."""

    action: str
    unit_id: str
    project: str
    text: str


def rehearse(where: Setting, steps: Steps, *, progress: Progress) -> list[Transition]:
    """Run the passes on a copy in a temporary folder; return what they would change.

    Raises:
        StoreError: when the store cannot be copied or opened.
    """
    with tempfile.TemporaryDirectory(prefix="everest-rehearsal-") as folder:
        places = _copied(where, Path(folder) / "home")
        copy = replace(where, places=places)
        with opened(copy, new_run("rehearsal"), progress=progress) as run:
            steps.fold(run)
            before = run.store.ledger.last_tx
            for step in (steps.embed, steps.decay, steps.lessons, steps.merge, steps.verify):
                step(run)
            steps.predict(run)
            return list(_transitions(run, before))


def _copied(where: Setting, home: Path) -> Places:
    source, target = where.places, Places(home)
    home.mkdir(parents=True)
    with writer_lock(source.lock, wait=where.settings.lock_wait, started=iso(utc_now())):
        complete(source)
        if source.store.exists():
            shutil.copy2(source.store, target.store)
        for folder, copy in (
            (source.ledger, target.ledger),
            (source.journal, target.journal),
            (source.keys, target.keys),
        ):
            if folder.exists():
                shutil.copytree(folder, copy)
    return target


def _transitions(run: Run, before: int) -> Iterator[Transition]:
    database = run.store.database
    for scope in reads.scopes(database):
        for row in reads.rows(database, Query(Subject.LESSONS, scope, (AllVersions(),))):
            if row["tx"] > before:
                unit = shown(row["lesson_id"])
                yield Transition(row["action"], unit, scope.project_id, row["text"])
        for row in reads.rows(database, Query(Subject.PREDICTIONS, scope)):
            if row["made"] == run.at or row["resolved"] == run.at:
                action = "predict" if row["made"] == run.at else row["outcome"]
                yield Transition(action, shown(row["lesson_id"]), scope.project_id, row["text"])
        for row in reads.rows(database, Query(Subject.EPISODES, scope)):
            if row["archived_at"] == run.at:
                yield Transition("archive", shown(row["id"]), scope.project_id, row["title"])
