"""Commands for a rest and for good: pause and resume."""

from __future__ import annotations

from typing import Annotated

import typer

from serving.cli.output import AsJson, put, say
from tasks import paused as pausing
from tasks.compose import setting
from tasks.domain.clock import iso, utc_now
from tasks.paused import Pause


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    for command in (pause, resume):
        app.command()(command)


def pause(
    for_: Annotated[
        str | None, typer.Option("--for", metavar="SPAN", help="How long: 30m, 2h, 3d.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let hooks, the proxy's additions and scheduled runs rest.

    What you run yourself works all the same. Transcripts of the meantime
    are read afterwards: to keep a project out, use `everest project ignore`.

    Example: everest pause --for 2h
    """
    where, now = setting(), utc_now().replace(microsecond=0)
    until = None if for_ is None else now + pausing.span(for_)
    pausing.pause(where.places.home, until)
    if as_json:
        put({"until": None if until is None else iso(until)})
    else:
        say(f"Everest is {Pause(until).in_words(where.settings.zone)}.")


def resume(as_json: AsJson = False) -> None:
    """End a pause.

    Example: everest resume
    """
    was = pausing.resume(setting().places.home)
    if as_json:
        put({"was_paused": was})
    else:
        say("Everest goes on." if was else "Everest was not paused.")
