"""Commands around Prefect: up, prefect and deploy. None of it is loaded until one is run."""

from __future__ import annotations

from typing import Annotated

import typer

from serving.cli.output import AsJson, put, say
from tasks.compose import setting


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(up)
    app.command(
        context_settings={
            "ignore_unknown_options": True,
            "allow_interspersed_args": False,  # `everest prefect flow-run --help` is Prefect's own
        }
    )(prefect)
    app.command()(deploy)


def up(as_json: AsJson = False) -> None:
    """Run everything in this terminal until Ctrl-C.

    That is the Prefect server, the schedules and the proxy. With --json the
    one value is printed as soon as everything runs.

    Example: everest up
    """
    from deployments.up import up as run_up  # noqa: PLC0415  heavy imports wait for their command

    where = setting()
    if as_json:
        run_up(where, tell=lambda _: None, runs=lambda found: put(found.as_data()))
    else:
        run_up(where, tell=say, runs=lambda found: say(found.in_words()))


def prefect(
    arguments: Annotated[list[str] | None, typer.Argument(help="What Prefect is to do.")] = None,
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
