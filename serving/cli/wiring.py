"""The command that wires agents: setup. It shows what it would change before it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from serving.cli.output import AsJson, confirm, put, say
from serving.cli.scheduling import set_nights
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
    "Next: `everest up` runs what hooks and tools ask, and the night; keep it running.",
    "Then `everest doctor` tries every wiring out.",
)


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(setup)


def setup(  # noqa: PLR0913, PLR0917  each is an option of the command line
    agent: Names = None,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Also lead their requests through the proxy.")
    ] = False,
    cron: Annotated[
        bool, typer.Option("--cron", help="Wire no agent: let cron run the nights, with no server.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change; change nothing.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take it all out again.")] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Also wire those that are wired for another home.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> int:
    """Wire the agents that are here: their hooks and tools.

    It shows what it changes and asks first. All else in their files stays as
    it is, and a copy of each is kept. While the proxy is down, an agent led
    through it stops; --undo --proxy takes out that alone.

    Example: everest setup --dry-run
    """
    from deployments.wiring.carry import is_carried_out  # noqa: PLC0415  heavy imports wait

    where, named = setting(), agent or []
    if cron and (named or proxy):
        raise UsageError("--cron goes without --agent and --proxy: it wires no agent")
    if cron:
        set_nights(where, undo=undo, dry_run=dry_run, as_json=as_json)
        return 0
    over = _every() if take_over else ()
    agents, plan = _planned(where, named, proxy=proxy, undo=undo, over=over)
    changes = [one for one in plan.changes if one.changes]
    if not as_json:
        say(_found(agents, named))
        _show(agents, changes)
    failures = list(plan.failures)
    if not dry_run:
        if changes and not yes:
            confirm(
                f"Change {count(len(changes), 'file')}?",
                nobody="there is nobody to ask whether to change these files",
                default=True,
            )
        if proxy and not undo and changes:
            agents, plan = _with_token(where, named, over)
        failures = [*plan.failures, *_carried_out(where, plan)]
    done = [one for one in changes if not dry_run and is_carried_out(one)]
    if as_json:
        put(_as_data(agents, changes, done, failures))
    else:
        say(_in_words(agents, changes, None if dry_run else done, undo=undo))
    return _ended(failures)


def _every() -> Sequence[str]:
    from deployments.wiring.setup import NAMES  # noqa: PLC0415

    return NAMES


def _planned(
    where: Setting, named: Sequence[str], *, proxy: bool, undo: bool, over: Sequence[str]
) -> tuple[list[Agent], Plan]:
    """Return the agents that it is about, none for an undo, and what is to be changed."""
    from deployments.wiring import setup as wiring  # noqa: PLC0415

    if undo:
        plan = wiring.planned_leaving if proxy else wiring.planned_undoing
        return [], plan(where, named)
    led = named or wiring.NAMES if proxy else ()
    return wiring.planned_wiring(where, named, proxy=led, over=over)


def _with_token(
    where: Setting, named: Sequence[str], over: Sequence[str]
) -> tuple[list[Agent], Plan]:
    """Make the token that agents get, and plan again with it."""
    from serving.grants import first_token  # noqa: PLC0415

    places = where.places
    first_token(places.tokens, places.door_token, app=where.settings.app, made=utc_now())
    return _planned(where, named, proxy=True, undo=False, over=over)


def _carried_out(where: Setting, plan: Plan) -> list[EverestError]:
    from deployments.wiring.setup import wire  # noqa: PLC0415

    return wire(where.places, plan.changes, at=utc_now())


def _found(agents: Sequence[Agent], named: Sequence[str]) -> Iterator[str]:
    """Yield which agents are here, or where they were looked for."""
    here = [one for one in agents if one.found]
    if here:
        yield f"Found: {', '.join(one.title for one in here)}."
    elif agents and not named:
        yield "No agent was found. Looked for:"
    for one in agents if named or not here else ():
        if not one.found:
            yield f"{one.title} was not found: looked for {', '.join(one.looked)}"


def _show(agents: Sequence[Agent], changes: Sequence[Change]) -> None:
    """Print what would change, in colours at a terminal: line by line, then in short."""
    from rich.console import Console  # noqa: PLC0415  slow to load
    from rich.text import Text  # noqa: PLC0415

    from deployments.wiring.summary import in_short, lean_diff  # noqa: PLC0415

    if not changes:
        return
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for line in lean_diff(changes):
        bold = line.startswith(("+++", "---"))
        console.print(Text(line, style="bold" if bold else _STYLES.get(line[:1], "")))
    titles = {one.name: one.title for one in agents}
    say(["", "In short:", *(titles.get(line, line) for line in in_short(changes)), ""])


def _in_words(
    agents: Sequence[Agent], changes: Sequence[Change], done: Sequence[Change] | None, *, undo: bool
) -> Iterator[str]:
    """Yield what was done, None for a dry run, what to know about it, and what to do next."""
    if not changes:
        yield "Nothing of Everest's is there." if undo else "Nothing to change."
    elif done is None:
        yield f"{count(len(changes), 'file')} would change; none was."
    else:
        yield f"{count(len(done), 'file')} changed."
    for one in agents:
        yield from (f"{one.title}: {told}" for told in (*one.obstacles, *one.notes) if one.found)
    if not undo and any(one.found for one in agents):
        yield from _NEXT


def _as_data(
    agents: Sequence[Agent],
    changes: Sequence[Change],
    done: Sequence[Change],
    failures: Sequence[EverestError],
) -> dict[str, Any]:
    from deployments.wiring.show import diff_of  # noqa: PLC0415

    return {
        "agents": [
            {
                "name": one.name,
                "found": one.found,
                "looked_for": one.looked,
                "notes": one.notes,
                "obstacles": one.obstacles,
            }
            for one in agents
        ],
        "files": [
            {
                "agent": one.agent,
                "path": str(one.path),
                "diff": list(diff_of(one)),
                "done": one in done,
            }
            for one in changes
        ],
        "failed": [str(one) for one in failures],
    }


def _ended(failures: Sequence[EverestError]) -> int:
    """Tell what failed; return the exit code of the first of it."""
    for failure in failures:
        typer.echo(f"everest: {failure}", err=True)
    return failures[0].exit_code if failures else 0
