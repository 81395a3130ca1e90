"""Commands behind hooks: what an agent's hook is answered, and why.

They run what a wired hook runs, so what is seen here is what the agent gets. Invariant: but for
`--dry-run`, which changes nothing, they exit with 0 and say nothing else, whatever goes wrong: an
agent takes other exit codes for a refusal.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from serving.cli.output import AsJson, error, put, say
from tasks.compose import setting
from tasks.errors import EverestError, UsageError
from tasks.hooks.contract import Agent, Happening, happening
from tasks.hooks.wired import CLIENT

if TYPE_CHECKING:
    from serving.explaining import Explained  # what only a dry run needs

_Agent = Annotated[
    str,
    typer.Option(
        "--agent",
        metavar="NAME",
        show_default=False,  # it would be broken at its hyphen
        help=f"Whose hook: {', '.join(one.value for one in Agent)}; the first if not given.",
    ),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be shown and why; change nothing.")
]
_PROMPT = "UserPromptSubmit"


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(prime)
    app.command()(hook)


def prime(
    agent: _Agent = Agent.CLAUDE_CODE.value,
    dry_run: _DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Answer the hook whose JSON is on standard input.

    The input says which event it is; where it does not, it is a prompt. What
    the agent is to read is printed; with nothing to show, nothing is.

    Example: echo '{"session_id": "s", "cwd": "'$PWD'", "prompt": "run tests"}' | everest prime
    """
    data = sys.stdin.buffer.read()
    _answer(agent, _event_in(data) or _PROMPT, data, dry_run=dry_run, as_json=as_json)


def hook(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="The event, as the agent calls it.")
    ],
    agent: _Agent = Agent.CLAUDE_CODE.value,
    dry_run: _DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Answer one event of an agent, its JSON on standard input.

    For agents that can only run a command, and to try one by hand; hooks that
    `everest setup` wires start faster.

    Example: echo '{"session_id": "s", "cwd": "/home/me/boat"}' | everest hook SessionStart
    """
    _answer(agent, event, sys.stdin.buffer.read(), dry_run=dry_run, as_json=as_json)


def _answer(agent: str, event: str, data: bytes, *, dry_run: bool, as_json: bool) -> None:
    if dry_run:
        _explain(agent, event, data, as_json=as_json)
        return
    try:
        places = setting().places
    except EverestError as failure:
        error(failure, as_json=False)
        return
    given = [agent, event, str(places.home), str(places.socket)]
    subprocess.run(  # noqa: S603  our own client
        [sys.executable, "-I", "-S", str(CLIENT), *given], input=data, check=False
    )


def _explain(agent: str, event: str, data: bytes, *, as_json: bool) -> None:
    from serving.explaining import explain  # noqa: PLC0415

    if not data.strip():
        raise UsageError("there is no JSON on standard input")
    one = happening(agent, event, data)
    if one is None:
        raise UsageError(f"{event!r} of {agent!r} is no event that anything is done at")
    where = setting()
    told = explain(where.settings, where.places, one)
    if as_json:
        put(asdict(told))
        return
    say(f"{name:<10} {text}" for name, text in _in_words(one, told))
    say(f"  {lesson.relevance:.2f}  {lesson.verdict}: {lesson.text}" for lesson in told.considered)
    if told.text:
        say(told.text)


def _in_words(one: Happening, told: Explained) -> Iterator[tuple[str, str]]:
    from serving.explaining import BEGINNING  # noqa: PLC0415

    yield "session", f"{one.session or 'none'}{', held out' if told.held_out else ''}"
    yield "project", told.project or "none"
    yield "moment", told.moment or "none"
    yield "outcome", told.outcome
    if told.considered:
        how = "meanings and words" if told.by_meaning else "words alone: no warm process runs"
        yield "compared", how
    if told.moment and told.moment != BEGINNING and not told.considered:
        yield "lessons", "none that this project reads: there was nothing to choose from"


def _event_in(data: bytes) -> str:
    """Return the event that a hook's input names, "" for none."""
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    event = told.get("hook_event_name") if isinstance(told, dict) else None
    return event if isinstance(event, str) else ""
