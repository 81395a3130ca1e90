"""The command that wires agents: setup. It shows what it would change before it does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from serving.cli.output import AsJson, at_terminal, put, say
from tasks.compose import Setting, setting
from tasks.domain.clock import utc_now
from tasks.errors import EverestError, UsageError
from tasks.render.phrases import count

if TYPE_CHECKING:
    from deployments.wiring.carry import Change, Plan
    from deployments.wiring.machine import Agent

Names = Annotated[
    list[str] | None,
    typer.Option("--agent", metavar="NAME", help="This agent alone; may be repeated."),
]
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_NEXT = (
    "Next: `everest up` runs what hooks and tools ask, and the night; keep it running. "
    "Then `everest doctor` tries every wiring out."
)


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(setup)


def setup(
    agent: Names = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change; change nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take everything of ours out.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Wire the agents that are here: their hooks and tools.

    It shows what it changes and asks first. All else in their files stays as
    it is, and a copy of each is kept.

    Example: everest setup --dry-run
    """
    where, named = setting(), agent or []
    agents, plan = _undoing(where, named) if undo else _wiring(where, named)
    changes = [one for one in plan.changes if one.changes]
    if not as_json:
        say(_found(agents, named) if not undo else [])
        _show(changes)
    failures = list(plan.failures)
    if not dry_run:
        if changes and not yes:
            _confirm(changes)
        failures += _carried_out(where, plan)
    done = [one for one in changes if not dry_run]
    if as_json:
        put(_as_data(agents, changes, failures, done=not dry_run))
    else:
        say(_in_words(agents, changes, done, undo=undo))
    _fail(failures)


def _wiring(where: Setting, named: Sequence[str]) -> tuple[list[Agent], Plan]:
    from deployments.wiring.carry import plan_wiring  # noqa: PLC0415
    from deployments.wiring.machine import machine_of, ours_of  # noqa: PLC0415
    from deployments.wiring.setup import agents_of, chosen  # noqa: PLC0415

    agents = agents_of(machine_of(os.environ), ours_of(where, os.environ))
    picked = chosen(agents, named)
    return picked or agents, plan_wiring(where.places, picked)


def _undoing(where: Setting, named: Sequence[str]) -> tuple[list[Agent], Plan]:
    from deployments.wiring.setup import planned_undoing  # noqa: PLC0415

    return [], planned_undoing(where, named)


def _carried_out(where: Setting, plan: Plan) -> list[EverestError]:
    from deployments.wiring.setup import wire  # noqa: PLC0415

    return wire(where.places, plan.changes, at=utc_now())


def _found(agents: Sequence[Agent], named: Sequence[str]) -> Iterator[str]:
    """Yield which agents are here, or where they were looked for."""
    here = [one for one in agents if one.found]
    if here:
        yield f"Found: {', '.join(one.title for one in here)}."
    elif not named:
        yield "No agent was found. Looked for:"
    for one in agents if named or not here else ():
        if not one.found:
            yield f"{one.title} was not found: looked for {', '.join(one.looked)}"


def _show(changes: Iterable[Change]) -> None:
    """Print what would change, in colours at a terminal."""
    from deployments.wiring.show import diff_of  # noqa: PLC0415

    console = Console(soft_wrap=True, highlight=False, markup=False)
    for change in changes:
        for line in diff_of(change):
            bold = line.startswith(("+++", "---"))
            console.print(Text(line, style="bold" if bold else _STYLES.get(line[:1], "")))


def _confirm(changes: Sequence[Change]) -> None:
    """Ask the person before files are changed.

    Raises:
        UsageError: when nobody can be asked.
    """
    if not at_terminal():
        raise UsageError("there is nobody to ask whether to change these files; give --yes")
    typer.confirm(f"Change {count(len(changes), 'file')}?", default=True, abort=True)


def _in_words(
    agents: Sequence[Agent], changes: Sequence[Change], done: Sequence[Change], *, undo: bool
) -> Iterator[str]:
    """Yield what was done, what to know about it, and what to do next."""
    if not changes:
        yield "Nothing of Everest's is there." if undo else "Nothing to change."
    elif not done:
        yield f"{count(len(changes), 'file')} would change; none was."
    else:
        yield f"{count(len(done), 'file')} changed."
    for one in agents:
        yield from (f"{one.title}: {note}" for note in one.notes if one.found)
    if not undo and any(one.found for one in agents):
        yield _NEXT


def _as_data(
    agents: Sequence[Agent],
    changes: Sequence[Change],
    failures: Sequence[EverestError],
    *,
    done: bool,
) -> dict[str, Any]:
    from deployments.wiring.show import diff_of  # noqa: PLC0415

    return {
        "agents": [
            {"name": one.name, "found": one.found, "looked_for": one.looked, "notes": one.notes}
            for one in agents
        ],
        "files": [
            {"agent": one.agent, "path": str(one.path), "diff": list(diff_of(one)), "done": done}
            for one in changes
        ],
        "failed": [str(one) for one in failures],
    }


def _fail(failures: Sequence[EverestError]) -> None:
    """End with the first failure when there are any; the others are told before it."""
    for failure in failures[1:]:
        typer.echo(f"everest: {failure}", err=True)
    if failures:
        raise failures[0]
