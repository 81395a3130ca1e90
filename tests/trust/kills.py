"""A command is killed at one of its steps, run again, and must come to what an unkilled one does.

Everything happens in one folder, since files and states hold absolute paths: a state is kept aside
and put back for each kill.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from tasks.domain.clock import iso, utc_now
from tests.serving.shipped import Everest, restore
from tests.trust import material
from tests.trust.looking import files_of
from tests.trust.nursery import Ended, Nursery, Order

Words = tuple[str, ...]

KILLED: Final = -9
KILLS: Final = "kills"
"""Of a test's report: how many kills it made."""
_CHOSEN: Final = "CHOSEN"
_OF_THE_RUN: Final = re.compile(
    r"\d s\b|^## Problems|killed or crashed|did not go as they should|failed: cannot write"
    r"|ledger records? w(as|ere) applied"
)
"""Lines of a report that a killed run may add, or that tell how long a run took."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something that a person does, in a state that it is done in.

    Attributes:
        start: name of the state.
        act: the command that is killed.
        then: commands that follow it, killed or not, before anything is compared.
        at_terminal: whether it is the person who does it.
        again: how the act may end when it is done again: 2 where it may be done already.
    """

    name: str
    start: str
    act: Words
    then: tuple[Words, ...] = ()
    at_terminal: bool = False
    again: tuple[int, ...] = (0,)


@dataclass(slots=True)
class Tried:
    """What an unkilled run comes to: the steps that the act passes, and all that it leaves."""

    steps: tuple[str, ...]
    state: dict[str, Any]

    def first_of_each(self) -> dict[str, int]:
        """Return the number of the first step of each name, in their order."""
        found: dict[str, int] = {}
        for number, step in enumerate(self.steps, 1):
            found.setdefault(name_of(step), number)
        return found

    def spread(self, many: int) -> set[int]:
        """Return so many steps, evenly spread, the first and the last among them."""
        last = len(self.steps)
        return {1 + number * (last - 1) // max(many - 1, 1) for number in range(many)}


@dataclass(slots=True)
class Bench:
    """A person's folder, and the states that it can be put in.

    Attributes:
        kills: the scenarios, and the number of the step in each, that were killed at.
    """

    person: Everest
    nursery: Nursery
    kills: set[tuple[str, int]] = field(default_factory=set)
    _tried: dict[str, Tried] = field(default_factory=dict)
    _proofs: dict[str, dict[str, Any]] = field(default_factory=dict)
    _points: dict[str, list[int]] = field(default_factory=dict)
    _met: set[str] = field(default_factory=set)
    _proved: set[str] = field(default_factory=set)

    def run(self, *words: str, **how: Any) -> Ended:
        """Run a command."""
        env = self.person.env(POLARS_MAX_THREADS="1")
        return self.nursery(Order(words, env, str(self.person.cwd), **how))

    def did(self, *words: str, **how: Any) -> Ended:
        """Run a command that must end well."""
        ended = self.run(*words, **how)
        assert ended.code == 0, f"{words}: {ended.code} {ended.out} {ended.err}"
        return ended

    def put(self, state: str) -> None:
        """Put the folder in a state, which is made if it never was."""
        kept = self.person.base.with_name(f"kept-{state}")
        if not kept.exists():
            shutil.rmtree(self.person.base)
            self.person.cwd.mkdir(parents=True)
            STATES[state](self)
            shutil.copytree(self.person.base, kept)
        restore(kept, self.person.base)

    def unkilled(self, scenario: Scenario) -> Tried:
        """Return what the scenario comes to when nothing goes wrong."""
        if scenario.name not in self._tried:
            self.put(scenario.start)
            ended = self.act(scenario)
            assert ended.code == 0, f"{scenario.act}: {ended.out} {ended.err}"
            self._tried[scenario.name] = Tried(ended.steps, self.state(*scenario.then))
        return self._tried[scenario.name]

    def _unkilled_proof(self, scenario: Scenario) -> dict[str, Any]:
        if scenario.name not in self._proofs:
            self.put(scenario.start)
            assert self.act(scenario).code == 0
            self._proofs[scenario.name] = self.proof(scenario)
            assert list(unsound(self._proofs[scenario.name])) == []
        return self._proofs[scenario.name]

    def act(self, scenario: Scenario, **how: Any) -> Ended:
        """Do what the scenario is about; `CHOSEN` in it is the lesson that its state chose."""
        chosen = self.person.cwd / _CHOSEN
        unit = chosen.read_text() if chosen.exists() else ""
        words = [unit if word == _CHOSEN else word for word in scenario.act]
        return self.run(*words, at_terminal=scenario.at_terminal, **how)

    def points(self, scenario: Scenario, many: int) -> list[int]:
        """Return so many steps of a scenario, and the first of each name that no other has."""
        if scenario.name not in self._points:
            tried = self.unkilled(scenario)
            new = {name: n for name, n in tried.first_of_each().items() if name not in self._met}
            self._met |= new.keys()
            self._points[scenario.name] = sorted({*tried.spread(many), *new.values()})
        return self._points[scenario.name]

    def killed(self, scenario: Scenario, number: int) -> list[str]:
        """Kill the scenario's act at its nth step, run it again; return what is wrong then.

        At the first step of a name more is compared: after the next night, and from the ledger.
        """
        self.unkilled(scenario)
        self.put(scenario.start)
        ended = self.act(scenario, die_at=number)
        if ended.code != KILLED:
            return [f"it ended with {ended.code} before step {number}: {ended.err}"]
        self.kills.add((scenario.name, number))
        found, name = self.wrong_after(scenario), name_of(ended.steps[-1])
        if found or name in self._proved:
            return found
        self._proved.add(name)
        proof = self.proof(scenario)
        return [*wrong(self._unkilled_proof(scenario), proof), *unsound(proof)]

    def all_wrong(self, scenario: Scenario, numbers: Sequence[int]) -> list[str]:
        """Kill at some steps, each time from the start; return what was wrong, and after which."""
        steps = self.unkilled(scenario).steps
        return [
            f"{scenario.name}, step {number} ({steps[number - 1]}): {one}"
            for number in numbers
            for one in self.killed(scenario, number)
        ]

    def wrong_after(self, scenario: Scenario) -> list[str]:
        """Run the act to its end, and what follows; return what is wrong then."""
        ended = self.act(scenario)
        if ended.code not in scenario.again:
            return [f"done again it ended with {ended.code}: {ended.out} {ended.err}"]
        return list(wrong(self.unkilled(scenario).state, self.state(*scenario.then)))

    def in_turn(self, scenario: Scenario, names: Iterable[str]) -> list[str]:
        """Kill the act at one kind of step after the other, with no repair in between.

        It begins anew where what is left does not come by a step. Return what is wrong in the end.
        """
        self.unkilled(scenario)
        self.put(scenario.start)
        for name in names:
            ended = self.act(scenario, die_on=name)
            if ended.code in scenario.again:
                self.put(scenario.start)
                ended = self.act(scenario, die_on=name)
            assert ended.code == KILLED, f"{name}: {ended.code} {ended.err}"
            assert name_of(ended.steps[-1]) == name
        return self.wrong_after(scenario)

    def state(self, *then: Words) -> dict[str, Any]:
        """Run the commands that follow; return all that must be the same after any kill."""
        return self._looked("looked", *then)

    def proof(self, scenario: Scenario) -> dict[str, Any]:
        """Return the same after a night, and what the ledger alone and two recalls come to."""
        asleep = "night" in scenario.act
        return self._looked("proved", *(() if asleep else (("night",),)))

    def _looked(self, how: str, *then: Words) -> dict[str, Any]:
        words = [json.dumps(one) for one in then]
        told = self.did(*words, function=f"tests.trust.looking:{how}").out
        found: dict[str, Any] = json.loads(told)
        found["files"] = files_of(self.person.base, self.person.home, self.person.claude)
        found["morning"] = morning_of(self.person.home / "morning.md")
        return found


def name_of(step: str) -> str:
    """Return a step's name without its detail, and a pass's with it."""
    return step if step.startswith("pass.") else step.partition(" ")[0]


def wrong(wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """Yield in what a state is not as it must be."""
    for name, value in wanted.items():
        if value != found[name]:
            yield f"{name}: {difference(value, found[name])}"
    if found["chain"]:
        yield f"the audit's chain is broken: {found['chain']}"


def unsound(found: dict[str, Any]) -> Iterator[str]:
    """Yield what no memory may be like after a night."""
    if not found["digest"] == found["published"] == found["replayed"]:
        yield "store, view and ledger differ"
    if found["litter"]:
        yield f"left lying about: {found['litter']}"
    if any(found["unfolded"].values()):
        yield f"not folded: {found['unfolded']}"


def morning_of(path: Path) -> list[str]:
    """Return the report's lines but for those that are a run's own."""
    if not path.exists():
        return []
    text = path.read_text().partition("\n<!-- everest")[0]
    text = re.sub(r" \d problems? reported\.", "", text)
    return [line for line in text.splitlines() if line and not _OF_THE_RUN.search(line)]


def difference(wanted: Any, found: Any) -> str:
    """Return in what two values differ, as short as it can be told."""
    match wanted, found:
        case dict(), dict():
            keys = [key for key in {**wanted, **found} if wanted.get(key) != found.get(key)]
            return str({key: difference(wanted.get(key), found.get(key)) for key in keys})
        case list(), list():
            more = [one for one in found if one not in wanted]
            less = [one for one in wanted if one not in found]
            return f"{len(wanted)} -> {len(found)}; too many {more[:3]}, missing {less[:3]}"
        case _:
            return f"{wanted!r} -> {found!r}"


def _first_week(bench: Bench) -> None:
    """Transcripts, and no home yet."""
    material.first_week(bench.person.claude, utc_now())


def _after_a_night(bench: Bench) -> None:
    """A note, and a night four days ago."""
    bench.put("first week")
    bench.did("remember", "the crane is called Berta", "--everywhere")
    _call(bench, "night_at", iso(utc_now() - timedelta(days=4, hours=1)))


def _after_much(bench: Bench) -> None:
    """Everything that a person and an agent can do between two nights."""
    now, person = utc_now(), bench.person
    bench.put("after a night")
    _call(bench, "remembered_at", iso(now - timedelta(days=200)), material.FADED, "paperboat")
    material.second_week(person.claude, now)
    edited, deleted, index = material.touched_files(person.claude, material.PAPERBOAT)
    rejected, forgotten = _two_more(bench, {edited.stem, deleted.stem})
    bench.did("forget", forgotten, "--yes", at_terminal=True)  # at once, with a render of its own
    bench.did("reject", rejected, "--reason", "we moved on", at_terminal=True)
    edited.write_text(edited.read_text().replace("pnpm", "pnpm, pinned,"))
    deleted.unlink()
    index.write_text("My own first line.\n" + index.read_text())
    bench.did("remember", "the kiosk opens at nine", "--project", "tidewater")
    bench.did("recall", "pnpm", "--project", "paperboat")


def _two_more(bench: Bench, but: set[str]) -> Sequence[str]:
    lessons = json.loads(bench.did("lessons", "--json").out)
    ids = sorted(one["lesson_id"] for one in lessons if one["trust"] != "candidate")
    return [one for one in ids if f"everest-{one[:16]}" not in but][:2]


def _with_one_to_forget(bench: Bench) -> None:
    bench.put("after a night")
    (bench.person.cwd / _CHOSEN).write_text(_two_more(bench, set())[0])


def _with_a_backup(bench: Bench) -> None:
    """A backup from before a rejection, a note and a night."""
    bench.put("after a night")
    bench.did("backup", "kept.tar.gz")
    lesson = _two_more(bench, set())[0]
    bench.did("reject", lesson, "--reason", "we moved on", at_terminal=True)
    bench.did("remember", "the kiosk opens at nine", "--project", "tidewater")
    bench.did("night")


def _with_a_cut_record(bench: Bench) -> None:
    """What a power cut leaves: half a record in the ledger, half a turn in evidence."""
    bench.put("after much")
    (ledger,) = (bench.person.home / "ledger").glob("*.jsonl")
    with ledger.open("ab") as file:
        file.write(b'{"v":1,"tx":')
    for evidence in bench.person.home.glob("evidence/*/*.jsonl"):
        with evidence.open("ab") as file:
            file.write(b'{"v":1,"uuid":"ab')


def _call(bench: Bench, name: str, *words: str) -> None:
    bench.did(*words, function=f"tests.trust.material:{name}")


STATES: Final[dict[str, Callable[[Bench], None]]] = {
    "first week": _first_week,
    "after a night": _after_a_night,
    "after much": _after_much,
    "with one to forget": _with_one_to_forget,
    "with a backup": _with_a_backup,
    "with a cut record": _with_a_cut_record,
}

NIGHTS: Final = (
    Scenario("first night", "first week", ("night",)),
    Scenario("second night", "after much", ("night",)),
    Scenario("night after a power cut", "with a cut record", ("night",)),
)
UPKEEP: Final = (
    Scenario("backup", "after a night", ("backup",)),
    Scenario("rebuild", "after a night", ("rebuild",)),
    Scenario("compact", "after a night", ("compact",)),
    Scenario(
        "forget",
        "with one to forget",
        ("forget", _CHOSEN, "--yes"),
        (("night",),),
        at_terminal=True,
        again=(0, 2),
    ),
    Scenario("restore", "with a backup", ("restore", "kept.tar.gz", "--yes")),
    Scenario("first ingest", "first week", ("ingest",)),
    Scenario("ingest", "after much", ("ingest",)),
    Scenario("render", "after much", ("render",)),
    Scenario("sleep", "after much", ("sleep",)),
)
