"""Commands around what runs by itself: up, down, logs, prefect, deploy.

Nothing of Prefect is loaded until one is run that needs it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from serving.cli.output import AsJson, put, say
from tasks.compose import Setting, setting
from tasks.errors import UsageError

if TYPE_CHECKING:
    from deployments.logs import Line, Part
    from deployments.units.installing import Removed
    from deployments.units.managers import Units
    from deployments.units.start import Start


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    for command in (up, down, logs):
        app.command()(command)
    app.command(
        context_settings={
            "ignore_unknown_options": True,
            "allow_interspersed_args": False,  # `everest prefect flow-run --help` is Prefect's own
        }
    )(prefect)
    app.command()(deploy)


def up(
    install: Annotated[
        bool, typer.Option("--install", help="Have the system start it, now and at each login.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --install: show what would be done.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run everything in this terminal until Ctrl-C.

    That is the Prefect server, the schedules and the proxy. With --json the
    one value is printed as soon as everything runs.

    Example: everest up
    """
    if install or dry_run:
        _install(dry_run=dry_run, as_json=as_json)
        return
    from deployments.up import up as run_up  # noqa: PLC0415  heavy imports wait for their command

    where = setting()
    if as_json:
        run_up(where, tell=lambda _: None, runs=lambda found: put(found.as_data()))
    else:
        run_up(where, tell=say, runs=lambda found: say(found.in_words()))


def down(
    uninstall: Annotated[
        bool, typer.Option("--uninstall", help="Remove what `everest up --install` wrote, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Stop what `everest up` runs, here or as a service.

    Example: everest down
    """
    from deployments.down import down as stop  # noqa: PLC0415
    from deployments.units import installing  # noqa: PLC0415
    from tasks.prefect_home import PrefectHome  # noqa: PLC0415

    where = setting()
    units = _units(where)
    stopped = stop(PrefectHome(where.places.prefect), units)
    removed = installing.uninstall(units) if uninstall else None
    if as_json:
        put(
            {
                "stopped": stopped.by_manager or stopped.pid is not None,
                "removed": [str(path) for path in removed.removed] if removed else [],
                "left": [str(path) for path in removed.left] if removed else [],
            }
        )
        return
    if stopped.by_manager or stopped.pid is not None:
        say("Stopped." if stopped.pid is None else f"Stopped process {stopped.pid}.")
    else:
        say("Nothing ran.")
    if removed is not None:
        say(_removed(removed))
    elif installing.is_installed(units):
        say("It starts again at your next login; `everest down --uninstall` ends that.")


def logs(
    part: Annotated[
        str | None,
        typer.Argument(
            metavar="PART", help="up, server, schedules, proxy or hooks; all if not given."
        ),
    ] = None,
    many: Annotated[int, typer.Option("-n", metavar="NUMBER", min=0, help="How many lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the services wrote, and which hooks failed.

    Example: everest logs proxy -n 20
    """
    from deployments import logs as reading  # noqa: PLC0415

    where, parts = setting(), _parts(part)
    if follow:
        for line in reading.follow(where.places, parts, many):
            say(json.dumps(asdict(line), ensure_ascii=False) if as_json else _in_a_row(line))
        return
    lines = reading.last(where.places, parts, many)
    if as_json:
        put([asdict(line) for line in lines])
    elif lines:
        say(_in_a_row(line) for line in lines)
    else:
        say(_nothing(where, parts))


def _nothing(where: Setting, parts: tuple[Part, ...]) -> str:
    """Return what it means that some parts logged nothing."""
    from deployments.logs import Part  # noqa: PLC0415
    from tasks.prefect_home import PrefectHome, holder_of  # noqa: PLC0415

    if parts == (Part.HOOKS,):
        return "No hook has failed."
    whose = "Nothing is logged" if len(parts) > 1 else f"{parts[0].value} wrote nothing"
    runs = holder_of(PrefectHome(where.places.prefect))
    return f"{whose} yet: `everest up` {'runs' if runs else 'does not run'} here."


def _parts(part: str | None) -> tuple[Part, ...]:
    from deployments.logs import Part  # noqa: PLC0415

    if part is None:
        return tuple(Part)
    try:
        return (Part(part),)
    except ValueError:
        known = ", ".join(one.value for one in Part)
        raise UsageError(f"there is no log of {part!r}; there are {known}") from None


def _in_a_row(line: Line) -> str:
    return f"{line.at or '-':<20} {line.part:<9} {line.text}"


def _install(*, dry_run: bool, as_json: bool) -> None:
    from deployments.units import installing  # noqa: PLC0415
    from tasks.errors import AlreadyUp  # noqa: PLC0415
    from tasks.prefect_home import PrefectHome, holder_of  # noqa: PLC0415
    from tasks.timezone import zone_name  # noqa: PLC0415

    where = setting()
    zone_name(where.settings.timezone)  # refused here rather than by the service in its log
    units = _units(where)
    holder = holder_of(PrefectHome(where.places.prefect))
    if holder and not dry_run and not installing.runs(units):
        raise AlreadyUp(where.places.home, holder)
    done = installing.planned(units) if dry_run else installing.install(units)
    withheld = _start(where).withheld
    if as_json:
        put(
            {
                "written": [str(path) for path in done.written],
                "unchanged": [str(path) for path in done.unchanged],
                "ran": [" ".join(one) for one in done.ran],
                "by_hand": [" ".join(one) for one in done.by_hand],
                "withheld": list(withheld),
            }
        )
        return
    if dry_run:
        for file in units.files:
            say([f"{file.path}:", file.data.decode()])
    say(f"{'Would write' if dry_run else 'Wrote'} {path}" for path in done.written)
    say(f"{path} is as it should be" for path in done.unchanged)
    say(f"{'Would run' if dry_run else 'Ran'}: {' '.join(one)}" for one in done.ran)
    if done.by_hand:
        say("The service manager does not answer in this session. In one where it does, run:")
        say(f"  {' '.join(one)}" for one in done.by_hand)
    if withheld:
        env = _start(where).credentials
        say(f"Not written, as they may be credentials: {', '.join(withheld)}. Lines NAME=value in")
        say(f"{env}, for you alone to read, are given to the service (on Linux).")
    say(units.hint)


def _removed(done: Removed) -> Iterator[str]:
    yield from (f"Removed {path}" for path in done.removed)
    yield from (f"{path} was left: it is not as Everest wrote it." for path in done.left)
    if done.by_hand:
        yield "The service manager does not answer in this session. In one where it does, run:"
        yield from (f"  {' '.join(one)}" for one in done.by_hand)
    if not done.removed and not done.left:
        yield "No service was installed."


def _start(where: Setting) -> Start:
    from deployments.units.start import start_of  # noqa: PLC0415

    return start_of(where, os.environ)


def _units(where: Setting) -> Units:
    from deployments.units import managers  # noqa: PLC0415

    kind = managers.kind_of(sys.platform)
    user_home = Path("~").expanduser()
    return managers.units(
        _start(where), kind, managers.Part.UP, environ=os.environ, user_home=user_home
    )


def prefect(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENTS", help="What Prefect is to do.")
    ] = None,
) -> None:
    """Run Prefect's own command line on Everest's server.

    Your own Prefect profile is not used. What follows is Prefect's: its commands, its options.

    Example: everest prefect flow-run ls
    """
    from deployments.client import become_prefect  # noqa: PLC0415

    become_prefect(setting(), arguments or [])


def deploy(as_json: AsJson = False) -> None:
    """Hand every flow to Prefect workers, by prefect.yaml.

    `everest up` must be running.

    Example: everest deploy
    """
    from deployments.deploy import deploy as run_deploy  # noqa: PLC0415

    done = run_deploy(setting())
    if as_json:
        put({"zone": done.zone, "next": done.next_runs, "pool": done.pool})
        return
    say(
        f"{name}/{name}: next run {at or 'when you start it'}"
        for name, at in done.next_runs.items()
    )
    say(
        f"Times are in {done.zone}. Start a worker: everest prefect worker start --pool {done.pool}"
    )
    say("Until one runs, or `everest up` is started again, no night runs by itself.")
