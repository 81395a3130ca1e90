"""Commands around Prefect: up, prefect and deploy. None of it is loaded until one is run."""

from __future__ import annotations

from typing import Annotated

import typer

from serving.cli.output import say
from tasks.compose import setting


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(up)
    app.command(
        context_settings={
            "allow_extra_args": True,
            "ignore_unknown_options": True,
            "help_option_names": [],  # `--help` is Prefect's own
        },
        help="Run Prefect's command line on Everest's server.\n\n"
        "Your own Prefect profile is not used.\n\n"
        "Example: everest prefect flow-run ls",
    )(prefect)
    app.command()(deploy)


def up() -> None:
    """Run the Prefect server and the schedules until Ctrl-C.

    Example: everest up
    """
    from deployments.up import up as run_up  # noqa: PLC0415  heavy imports wait for their command

    run_up(setting(), say)


def prefect(
    arguments: Annotated[list[str] | None, typer.Argument(help="What Prefect is to do.")] = None,
) -> None:
    """Run Prefect's command line in our home, against our server."""
    from deployments.client import become_prefect  # noqa: PLC0415

    become_prefect(setting(), arguments or [])


def deploy() -> None:
    """Register what prefect.yaml lists with the server of `everest up`, for workers to run.

    Example: everest deploy
    """
    from deployments.deploy import deploy as run_deploy  # noqa: PLC0415

    say(run_deploy(setting()))
