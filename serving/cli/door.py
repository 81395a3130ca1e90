"""Commands of the door: the proxy, the relay, and the tokens that let apps in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Annotated

import typer

from serving.cli.context import reading_scope, writing_project
from serving.cli.output import AsJson, ProjectName, at_terminal, put, say
from tasks.compose import setting
from tasks.domain.clock import local_day, utc_now
from tasks.domain.events import Event
from tasks.domain.markers import one_line
from tasks.errors import UnknownProject, UsageError
from tasks.handoff import block, whose
from tasks.memory import Memory
from tasks.relay import Relay
from tasks.relays import Relays
from tasks.settings import Settings
from tasks.tell import project_named


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    tokens = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    tokens.command("add")(add)
    tokens.command("list")(list_)
    tokens.command("remove")(remove)
    app.command()(proxy)
    app.command()(relay)
    app.add_typer(
        tokens,
        name="token",
        help="Make, list and remove the tokens of apps.\n\nExample: everest token list",
    )


def proxy(as_json: AsJson = False) -> None:
    """Run the proxy that apps point at.

    It runs until it is stopped, and listens on this machine alone: on
    EVEREST_PROXY_PORT, and on a socket of your own.

    Example: everest proxy
    """
    from serving.run import run  # noqa: PLC0415

    def listening(told: dict[str, str]) -> None:
        if as_json:
            put(told)
        else:
            say(f"Listening on {told['url']} and {told['socket']}. Ctrl-C stops it.")

    run(setting(), listening)


def relay(
    project: ProjectName = None,
    tail: Annotated[
        int, typer.Option("--tail", metavar="NUMBER", min=1, help="How many events at most.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what was said and done in a project lately.

    It holds what every agent and model did there. For a person at a terminal
    it is a list; for a program, a fenced block of quoted data.

    Example: everest relay --project paperboat --tail 5
    """
    where = setting()
    memory, kept = Memory(where.places), Relays(where.places.relay).of(where.settings.app)
    of = _relayed(memory, where.settings, kept, project)
    events = kept.tail(of, most=tail)
    if as_json:
        put([one.record() for one in events])
    elif not events:
        say(f"Nothing was relayed in {of} yet.")
    elif at_terminal():
        say(line for one in events for line in _readable(one, where.settings.zone))
    else:
        say(block(events, lambda at: str(local_day(at, where.settings.zone))))


def _relayed(memory: Memory, settings: Settings, kept: Relay, project: str | None) -> str:
    """Return the project to show: one that the memory knows, or that only the relay does yet."""
    try:
        return reading_scope(memory, settings, project).project_id
    except UnknownProject:
        if project is not None:
            for found in (project, project_named(memory, project).project_id):
                if found in kept.projects():
                    return found
        raise


def _readable(one: Event, zone: tzinfo) -> Iterator[str]:
    """Yield what a person reads of an event: when, whose, then the words."""
    yield f"{one.at.astimezone(zone):%Y-%m-%d %H:%M}  {whose(one)}"
    yield f"    {one_line(one.text)}"


def add(
    project: Annotated[
        list[str] | None,
        typer.Option(
            "--project", metavar="PROJECT", help="A project that it opens; may be repeated."
        ),
    ] = None,
    every_project: Annotated[
        bool, typer.Option("--every-project", help="It opens all of your projects.")
    ] = False,
    app: Annotated[
        str | None,
        typer.Option(
            "--app", metavar="APP", help="Whose memory it opens; EVEREST_APP's if not given."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token for an app; it is shown once.

    Example: everest token add --project paperboat --app chat
    """
    from serving.grants import add_token  # noqa: PLC0415

    if bool(project) == every_project:
        raise UsageError("name what the token opens: --project, or --every-project")
    where = setting()
    memory = Memory(where.places)
    opened = [writing_project(memory, name).project_id for name in project or ()]
    words, token = add_token(
        where.places.tokens,
        app=app or where.settings.app,
        projects=None if every_project else opened,
        made=utc_now(),
    )
    if as_json:
        put({"id": token.shown, "token": words, "app": token.app, "projects": token.projects})
    else:
        say(words)


def list_(as_json: AsJson = False) -> None:
    """List tokens: their ids and what they open, never their words.

    Example: everest token list
    """
    from serving.grants import is_first, kept_in  # noqa: PLC0415

    places = setting().places
    kept = kept_in(places.tokens)
    if as_json:
        put(
            [
                {
                    "id": one.shown,
                    "app": one.app,
                    "projects": one.projects,
                    "made": one.made,
                    "by_setup": is_first(one, places.door_token),
                }
                for one in kept
            ]
        )
        return
    if not kept:
        say("No tokens yet: make one with `everest token add`.")
    for one in kept:
        opened = "every project" if one.projects is None else ", ".join(one.projects)
        own = is_first(one, places.door_token)
        made = "  (made by set-up, for the agents on this machine)" if own else ""
        say(f"{one.shown}  {one.app}  {opened}{made}")


def remove(
    token: Annotated[str, typer.Argument(metavar="ID", help="An id, or the beginning of one.")],
    as_json: AsJson = False,
) -> None:
    """Remove a token; it opens nothing from then on.

    Example: everest token remove 3fa2b81c
    """
    from serving.grants import remove_token  # noqa: PLC0415

    gone = remove_token(setting().places.tokens, token)
    if as_json:
        put({"removed": gone.shown})
    else:
        say(f"Removed {gone.shown}.")
