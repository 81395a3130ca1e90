"""How commands speak: one value as JSON, or lines for a person; errors in a line, by exit code."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from tasks.domain.markers import one_line
from tasks.errors import EverestError, UsageError

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
ProjectName = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="PROJECT",
        help="Its id, name or folder; the one you stand in if not given.",
    ),
]


def say(lines: Iterable[str] | str) -> None:
    """Print lines on standard output."""
    for line in [lines] if isinstance(lines, str) else lines:
        typer.echo(line)


def put(value: Any) -> None:
    """Print one value as JSON on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def error(failure: EverestError, *, as_json: bool) -> int:
    """Tell an error on standard error, and as JSON if that was asked for; return its exit code."""
    if as_json:
        put({"error": str(failure), "kind": type(failure).__name__, "code": failure.exit_code})
    typer.echo(f"everest: {failure}", err=True)
    return failure.exit_code


def misused(misuse: TyperException, arguments: Sequence[str]) -> int:
    """Tell how a command was misused and where its help is; return the exit code."""
    message = misuse.format_message()
    if "--json" in arguments:
        put({"error": message, "kind": "Misuse", "code": misuse.exit_code})
    if message.startswith("Usage:"):  # a group without its command explains itself
        typer.echo(message, err=True)
    else:
        context = getattr(misuse, "ctx", None)
        command = context.command_path if context else "everest"
        typer.echo(f"everest: {message} See `{command} --help`.", err=True)
    return misuse.exit_code


def at_terminal() -> bool:
    """Tell whether a person sits at both ends: only then does the command line speak for one."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def cut(text: str, *, beside: int) -> str:
    """Return as much of a text as a line of the terminal holds beside so many characters."""
    room, line = shutil.get_terminal_size().columns - beside, one_line(text)
    return line if len(line) <= room else f"{line[: room - 1]}…"


def confirm(question: str, *, nobody: str, told: Iterable[str] = (), default: bool = False) -> None:
    """Ask the person before what cannot be had again goes, or what is not ours changes.

    Args:
        question: to be answered by yes or no.
        nobody: what it means that nobody can be asked; how to go on is added.
        told: lines shown before the question. They may be a memory's words: only a terminal, at
            which this asks at all, ever gets them.
        default: what Enter alone means.

    Raises:
        UsageError: when nobody can be asked.
        Abort: when the answer is no.
    """
    if not at_terminal():
        raise UsageError(f"{nobody}; give --yes")
    err = sys.stderr.isatty()  # so that with --json standard output keeps to its one value
    for line in told:
        typer.echo(line, err=err)
    if not typer.confirm(question, default=default, err=err):
        typer.echo("Nothing was changed.", err=err)
        raise typer.Abort
