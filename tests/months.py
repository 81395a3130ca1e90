"""Months of somebody's work with Everest, made up from a seed: nights over simulated dates.

Between two nights there are sessions in several projects, things said, decisions, edits and
deletions of files, folders that move; each kind comes round in turn, so a dozen nights have met
them all. The same seed gives the same words at the same times, in whatever folder it happens.
"""

from __future__ import annotations

import json
import os
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flows.nightly import night
from tasks.compose import Setting
from tasks.demo_records import Transcript
from tasks.domain.project import Identified, identify
from tasks.domain.proposals import Actor
from tasks.domain.report import NightReport
from tasks.domain.scope import Scope
from tasks.durable import swap_file
from tasks.errors import Refused
from tasks.evidence.folders import probe
from tasks.memory import Found, Memory
from tasks.night import Run, opened
from tasks.recall import recall, touch
from tasks.render.places import INDEX, encode
from tasks.render.written import load
from tasks.runs import new_run
from tasks.said import arrange, decide, remember
from tasks.settings import Places, Settings
from tasks.steps import plain_steps
from tasks.store import journal
from tasks.store.digest import store_digest
from tests.store.build import told

FIRST = datetime(2025, 11, 3, tzinfo=UTC)
PROJECTS = ("paperboat", "tidewater", "lantern")
Step = dict[str, str]

RULES = (
    ("No, don't mock the database in tests. Use the test container.",
     "I told you before: don't mock the database in tests, use the test container."),
    ("Please don't commit to main directly. Always make a branch and open a pull request.",
     "Never commit to main directly, always make a branch."),
    ("We always use pnpm in this repo, never npm.", "pnpm, not npm. We always use pnpm here."),
    ("From now on run the tests with uv run pytest.", "Always run the tests with uv run pytest."),
    ("Never touch files that have nothing to do with the task.",
     "Please don't touch files that have nothing to do with the task, ever."),
    ("Don't force-push, ever. Others work on these branches.", "Never force-push a branch."),
    ("Always write the unit next to a column you convert.",
     "From now on always write the unit next to a column."),
    ("File names are kebab-case here, always.", "Always name files in kebab-case."),
    ("Always write dates as ISO 8601 in logs.", "Never write local dates in logs."),
    ("No, keep changes as small as possible, always.", "Always keep changes small."),
    ("Always add a changelog entry with a feature.", "Never add a feature without a changelog."),
    ("Never log customer names.", "Don't ever log the names of customers."),
    ("Always close database cursors in a finally block.", "Never leave a database cursor open."),
    ("From now on put translations into the locale files.",
     "Always put translations into the locale files."),
    ("Don't use floats for prices, always use cents.", "Always store prices in cents."),
    ("Never add a dependency without asking.", "Always ask before you add a dependency."),
)  # fmt: skip
"""Rules of a person's, each in wordings of two days."""

AGAINST = {
    2: "We moved away from pnpm. From now on always use bun, never pnpm.",
    7: "From now on name files in snake_case, never in kebab-case.",
    9: "Make larger changes from now on, never split them.",
}
"""What contradicts a rule later on."""

FAILURES = (
    ("python -m pytest tests", "Exit code 1\n/usr/bin/python: No module named pytest"),
    ("npm install", 'Exit code 1\nnpm error Unsupported URL Type "workspace:": workspace:*'),
    ("docker compose up", "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:2375"),
    ("curl -s https://gauges.example.com", "Exit code 6\ncurl: (6) Could not resolve host"),
    ("uv run python -m tidewater.plots", "Exit code 1\nKeyError: 'predicted'"),
)
SURPRISES = (
    "It turned out that the levels in this CSV are in centimetres although the column says m.",
    "Surprisingly, the price service returns amounts in cents, not in euros.",
    "It turns out that the staging server is an hour behind the others.",
)
TASKS = ("Add a page for gift vouchers.", "Import the next gauge.", "Shorten the report.",
         "Make the search faster.", "Alert us when a lamp is silent.")  # fmt: skip
NOTES = ("the staging database is refreshed on Mondays", "the release is cut on Thursdays",
         "the harbour office reads the report at six", "deploys are frozen in December",
         "lamp seven is in the attic", "invoices are numbered by year")  # fmt: skip
QUESTIONS = (*NOTES, "how do we run the tests", "mock the database", "force push",
             "pnpm or npm", "commit to main", "prices in cents", "ECONNREFUSED")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Standing:
    """All that a memory is at one time.

    Attributes:
        tables: every table's rows, by name, sorted.
        recalled: the ids with their scores that each question gives in each scope, best first.
    """

    digest: str
    tables: dict[str, list[tuple[Any, ...]]]
    recalled: list[list[tuple[str, float]]]


@dataclass
class Months:
    """One person's months: call `night` as often as nights are wanted.

    Attributes:
        base: a folder of its own; everything lies under it, the home in `everest`.
        longest: days that may pass between two nights.
        seen: how often each kind of thing happened.
    """

    base: Path
    seed: int = 1
    longest: int = 4
    day: int = 0
    seen: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        settings = Settings.load(
            home=self.base / "everest", embed="hashed", timezone="UTC", holdout=0.5, lock_wait=0.0
        )
        places = Places(settings.home)
        swap_file(places.keys / "digest.key", self._rng.randbytes(32).hex().encode())
        self.claude = self.base / "claude"
        self.where = Setting(settings, places, (self.claude,), self.claude)
        self._cwds = {name: self._folder(name) for name in PROJECTS}
        self._turn = self._ticks = 0
        self._gone: list[tuple[str, Scope]] = []
        self._open: list[tuple[Path, Transcript, datetime]] = []
        self.acts: list[Callable[[], object]] = [
            self.notes, self.recalls, self.edits_a_file, self.exposes, self.rejects,
            self.goes_on_with_a_session, self.deletes_a_file, self.recalls, self.forgets_a_note,
            self.renames_a_project, self.an_agent_rejects, self.works_in_a_worktree,
            self.edits_a_line, self.says_the_forgotten_again, self.ignores_a_project,
            self.an_agent_notes, self.moves_a_folder, self.recalls, self.watches_a_project,
            self.deletes_a_line, self.forgets, self.adds_a_line, self.prunes_a_transcript,
        ]  # fmt: skip

    @property
    def now(self) -> datetime:
        """Return the time of the night to come."""
        return FIRST + timedelta(days=self.day, hours=3, minutes=30)

    @property
    def places(self) -> Places:
        """Return where things lie."""
        return self.where.places

    def memory(self) -> Memory:
        """Return a reading of what is published."""
        return Memory(self.places)

    def standing(self) -> Standing:
        """Return all that the memory is, read from the store itself and through recall."""
        with self.run("standing") as run:
            names = run.store.database.rows("SELECT table_name FROM duckdb_tables()")
            tables = {
                name: sorted(run.store.database.rows(f"SELECT * FROM {name}"), key=repr)
                for (name,) in names
            }
            digest = store_digest(run.store.database)
        return Standing(digest, tables, self._recalled())

    def _recalled(self) -> list[list[tuple[str, float]]]:
        memory, space = self.memory(), self.where.space().space
        assert memory.view is not None
        return [
            [
                (one.row["id"], one.hit.score)
                for one in recall(memory, question, scope=scope, space=space, k=20, now=self.now)
            ]
            for scope in sorted(entry.scope for entry in memory.view.manifest.scopes)
            for question in QUESTIONS
        ]

    @contextmanager
    def run(self, flow: str) -> Iterator[Run]:
        """Hold the store for a run at the time of the night to come."""
        with opened(self.where, new_run(flow), at=self.now) as run:
            yield run

    def night(self) -> NightReport:
        """Let a day or some pass with work and acts, then run the night."""
        self.day += self._rng.randint(1, self.longest)
        self.works()
        for _ in range(2):
            act = self.acts[self._turn % len(self.acts)]
            self._turn += 1
            self._count(act.__name__)
            act()
        return self.sleeps()

    def sleeps(self) -> NightReport:
        """Run the night alone."""
        with self.run("nightly") as run:
            return night(plain_steps(), run)

    # what happens in sessions

    def works(self) -> None:
        """Hold a session or two, in any projects."""
        for number in range(self._rng.randint(1, 2)):
            cwd = str(self._cwds[self._rng.choice(PROJECTS)])
            started = self.now - timedelta(hours=14 - 3 * number)
            self._session(cwd, started, self._steps())

    def _steps(self) -> list[Step]:
        steps: list[Step] = [{"you": self._rng.choice(TASKS)}]
        steps += [{"edits": "src/a.ts", "gives": "The file has been updated."}]
        for _ in range(self._rng.randint(1, 3)):
            rule = self._rng.randrange(len(RULES))
            words = self._rng.choice(RULES[rule])
            if self.day > 60 and rule in AGAINST and self._rng.random() < 0.5:
                words = AGAINST[rule]
            command, failure = self._rng.choice(FAILURES)
            steps += [{"runs": command, "fails": failure}, {"says": "I see. I'll go on."}]
            steps += [{"you": words}, {"says": self._rng.choice(SURPRISES)}]
        return [*steps, {"you": "Perfect, thanks"}, {"says": "You're welcome."}]

    def _session(self, cwd: str, started: datetime, steps: list[Step]) -> None:
        session = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        transcript = Transcript(session, cwd, "main", started)
        for step in steps:
            transcript.act(step)
        path = self.claude / "projects" / encode(cwd) / f"{session}.jsonl"
        self._write(path, transcript)
        self._open.append((path, transcript, started))

    def goes_on_with_a_session(self) -> None:
        """Append to the last transcript."""
        path, transcript, _ = self._open[-1]
        for step in self._steps():
            transcript.act(step)
        self._write(path, transcript)

    def _write(self, path: Path, transcript: Transcript) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(record, ensure_ascii=False) for record in transcript.records)
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        os.utime(path, (transcript.at.timestamp(), transcript.at.timestamp()))

    def prunes_a_transcript(self) -> None:
        """Take the oldest transcript away, as hosts do."""
        self._open.pop(0)[0].unlink()

    # what is said

    def notes(self) -> None:
        """Note something for a project, or for all of them."""
        scope = self._scope() if self._rng.random() < 0.7 else self._scope().everywhere()
        self._note(self._rng.choice(NOTES), scope, Actor.PERSON)

    def an_agent_notes(self) -> None:
        """Let an agent note something."""
        self._note(self._rng.choice(NOTES), self._scope(), Actor.AGENT)

    def says_the_forgotten_again(self) -> None:
        """Note once more what was forgotten: refused at once, and at the fold if a hook does it."""
        for text, scope in self._gone:
            self._note(text, scope, Actor.PERSON)
            self._append("remember", {"text": text}, scope, Actor.HOST)

    def _note(self, text: str, scope: Scope, actor: Actor) -> None:
        project = self._here()
        try:
            remember(
                self.memory(), text, scope=scope, project=project, actor=actor, at=self._tick()
            )
        except Refused:
            self._count("refused")

    def recalls(self) -> None:
        """Recall on purpose, which touches."""
        memory, at = self.memory(), self._tick()
        space = self.where.space().space
        query = self._rng.choice(QUESTIONS)
        found = recall(memory, query, scope=self._scope(), space=space, k=5, now=at)
        touch(memory, found, actor=Actor.PERSON, at=at)

    def exposes(self) -> None:
        """Log what a session was shown, and a deploy."""
        lessons = [row["lesson_id"] for row in self.memory().view.listed("lessons")]  # type: ignore[union-attr]
        self._rng.shuffle(lessons)
        session = self._open[-1][1].session_id
        body = {"channel": "prime", "session": session, "shown": lessons[:2]}
        scope = self._scope()
        self._append("expose", {**body, "held_out": lessons[2:3]}, scope, Actor.HOST)
        self._append("event", told(project=scope.project_id), scope, Actor.HOST)

    def rejects(self) -> None:
        """Reject a lesson."""
        self._decide("reject", "lesson", Actor.PERSON)

    def an_agent_rejects(self) -> None:
        """Let an agent reject any unit, which only withholds it."""
        self._decide("reject", "", Actor.AGENT)

    def forgets(self) -> None:
        """Forget any unit."""
        self._decide("forget", "", Actor.PERSON)

    def forgets_a_note(self) -> None:
        """Forget a note."""
        self._gone += self._decide("forget", "note", Actor.PERSON)

    def _decide(self, verb: str, kind: str, actor: Actor) -> list[tuple[str, Scope]]:
        """Decide on any unit of a kind; return its text and scope."""
        found = self._units(kind)
        if found:
            chosen = self._rng.choice(found)
            memory, at = self.memory(), self._tick()
            decide(memory, verb, chosen, reason="it is wrong", actor=actor, at=at)
            self._count(f"{verb} {chosen.row['unit']}")
            return [(chosen.row["text"], chosen.scope)]
        return []

    def _units(self, kind: str) -> list[Found]:
        view = self.memory().view
        assert view is not None
        return [
            Found(row, entry.scope)
            for entry in view.manifest.scopes
            for row in view.scope(entry.scope).rows  # type: ignore[union-attr]
            if row["unit"] != "passage" and kind in ("", row["unit"], row["kind"])
        ]

    # what is done to projects

    def renames_a_project(self) -> None:
        """Give a project another name."""
        self._arrange("rename", name=f"Name {self.day}")

    def ignores_a_project(self) -> None:
        """Ignore a project for some nights."""
        self._arrange("ignore")

    def watches_a_project(self) -> None:
        """Watch every project again."""
        for project in self.memory().projects:
            if project.ignored:
                self._arrange("watch", project.project_id)

    def _arrange(self, verb: str, project_id: str = "", name: str = "") -> None:
        memory = self.memory()
        known = {project.project_id: project for project in memory.projects}
        project = known[project_id or self._rng.choice(sorted(known))]
        scope = self.where.settings.scope(project.project_id)
        at = self._tick()
        arrange(memory, verb, project, name=name, scope=scope, actor=Actor.PERSON, at=at)

    def moves_a_folder(self) -> None:
        """Move a project's folder; its later sessions name the new place."""
        name = self._rng.choice(PROJECTS)
        old = self._cwds[name]
        new = old.with_name(f"{name}-{self.day}")
        old.rename(new)
        self._cwds[name] = new

    def works_in_a_worktree(self) -> None:
        """Hold a session in a worktree that is gone by now."""
        cwd = str(self._cwds[self._rng.choice(PROJECTS)] / ".claude" / "worktrees" / "spare")
        self._session(cwd, self.now - timedelta(hours=5), self._steps())

    # what is done to our files

    def edits_a_file(self) -> None:
        """Reword the rule in a lesson's file."""
        for path in self._lesson_files()[:1]:
            text = path.read_text("utf-8")
            rule = next(line for line in text.split("---")[2].splitlines() if line.strip())
            new = f"Keep lamp {self.day} away from the tests."
            path.write_text(text.replace(f"\n{rule}\n", f"\n{new}\n"), "utf-8")
            self._count("edited")

    def deletes_a_file(self) -> None:
        """Delete a lesson's file."""
        for path in self._lesson_files()[:1]:
            path.unlink()
            self._count("deleted")

    def edits_a_line(self) -> None:
        """Reword a lesson's line in `MEMORY.md`."""
        self._change_a_line(lambda line: line.replace("- ", f"- On day {self.day}: ", 1))

    def deletes_a_line(self) -> None:
        """Take a lesson's line out of `MEMORY.md`."""
        self._change_a_line(lambda _: None)

    def adds_a_line(self) -> None:
        """Write a line of one's own among ours."""
        self._change_a_line(lambda line: f"{line}\n- lamp {self.day} hangs in the hall")

    def _change_a_line(self, change: Callable[[str], str | None]) -> None:
        indexes = sorted(self.claude.rglob(INDEX))
        self._rng.shuffle(indexes)
        for path in indexes:
            lines = path.read_text("utf-8").split("\n")
            ours = [
                n for n, line in enumerate(lines) if line.startswith("- ") and "](everest-" in line
            ]
            if ours:
                n = self._rng.choice(ours)
                new = change(lines[n])
                lines[n : n + 1] = [] if new is None else [new]
                path.write_text("\n".join(lines), "utf-8")
                self._count("line")
                return

    def _lesson_files(self) -> list[Path]:
        files = sorted(
            path for path in load(self.places.written) if path.name.startswith("everest-")
        )
        files = [path for path in files if path.is_relative_to(self.claude) and path.exists()]
        self._rng.shuffle(files)
        return files

    # who and when

    def _folder(self, name: str) -> Path:
        folder = self.base / "work" / name
        folder.mkdir(parents=True)
        return folder

    def _here(self) -> Identified:
        cwd = str(self._cwds[self._rng.choice(PROJECTS)])
        return identify(cwd, self.memory().known_cwds(), probe)

    def _scope(self) -> Scope:
        return self.where.settings.scope(self._here().project_id)

    def _append(self, op: str, body: dict[str, Any], scope: Scope, actor: Actor) -> None:
        at = self._tick()
        journal.append(self.places.journal, op, body, scope=scope, actor=actor, at=at)

    def _tick(self) -> datetime:
        """Return a time of the day before the night, no two alike."""
        self._ticks += 1
        return self.now - timedelta(hours=4) + timedelta(seconds=self._ticks)

    def _count(self, what: str) -> None:
        self.seen[what] = self.seen.get(what, 0) + 1
