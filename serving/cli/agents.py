"""Commands for agents: the tools over MCP, as functions, or one call; what to begin with."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Annotated, Any

import typer

from serving.cli.context import named, writing_project
from serving.cli.output import AsJson, ProjectName, at_terminal, put, say
from tasks.compose import setting
from tasks.errors import UsageError
from tasks.memory import Memory


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(serve)
    app.command()(tools)
    app.command("call")(call_)
    app.command()(context)


def serve(project: ProjectName = None) -> None:
    """Serve the memory's tools over MCP.

    An agent starts it and speaks on its standard input; it ends with that.
    While `everest proxy` runs it only hands messages on to that.

    Example: everest serve --project paperboat
    """
    from serving.bridge import serve as answer  # noqa: PLC0415  what an agent waits for loads late
    from serving.endpoints import Own, Warm  # noqa: PLC0415
    from serving.grants import Grant  # noqa: PLC0415

    where, told = setting(), named(project)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="everest: %(message)s")

    def own() -> Any:
        from serving.cold import bound_here  # noqa: PLC0415
        from serving.mcp import McpEndpoint  # noqa: PLC0415
        from tasks.tell import project_named  # noqa: PLC0415

        return McpEndpoint(lambda _: bound_here(where, project_named(Memory(where.places), told)))

    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # whatever else is printed in this process is no message
        here = Own(own, Grant(where.settings.app, None, "stdio"))
        try:
            answer(sys.stdin.buffer, out, [Warm(where.places.socket, told), here])
        finally:
            here.close()


def tools(as_json: AsJson = False) -> None:
    """Print the tools as functions, for agents without MCP.

    The form is that in which OpenAI's models take them; for a person at a
    terminal it is a list.

    Example: everest tools --json
    """
    from serving.tools import TOOLS  # noqa: PLC0415

    if as_json or not at_terminal():
        put([tool.as_function() for tool in TOOLS])
        return
    for tool in TOOLS:
        say(f"{tool.name:<10}{tool.title}")


def call_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool's name.")],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="Its arguments, one JSON object.")
    ] = "{}",
    project: ProjectName = None,
    as_json: AsJson = False,
) -> None:
    """Call one tool as an agent would.

    Its result is printed as JSON; for a person at a terminal, the words alone.

    Example: everest call recall '{"query": "how do we run the tests"}'
    """
    from serving.cold import bound_here  # noqa: PLC0415
    from serving.tools import run  # noqa: PLC0415

    where = setting()
    bound = bound_here(where, writing_project(Memory(where.places), project))
    told = run(name, _object(arguments), bound).model_dump(mode="json")
    if as_json or not at_terminal():
        put(told)
    else:
        say(told.get("memory") or told.get("note") or told["now"])


def context(
    prompt: Annotated[
        str,
        typer.Option(
            "--prompt", metavar="TEXT", help="What the agent is asked: only lessons on that."
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="MODEL", help="Who is to work; its own last work is left out."
        ),
    ] = "",
    project: ProjectName = None,
    as_json: AsJson = False,
) -> None:
    """Print what an agent is told when it begins.

    It is the handoff and lessons, each a fenced block of quoted data. With
    nothing to tell, nothing is printed.

    Example: everest context --model qwen3-coder
    """
    from serving.briefing import briefing  # noqa: PLC0415
    from serving.cold import bound_here  # noqa: PLC0415

    where = setting()
    bound = bound_here(where, writing_project(Memory(where.places), project))
    told = briefing(bound, model=model, prompt=prompt)
    if as_json:
        put({"project": bound.project.project_id, "context": told})
    elif told:
        say(told)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError('the arguments are one JSON object, as \'{"query": "tests"}\'')
    return found
