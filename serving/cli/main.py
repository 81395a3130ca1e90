"""The `everest` command: finds the command, turns our errors into exit codes, imports late.

Exit codes: 0 done, 1 a fault of ours, 2 the request cannot be carried out as put, 3 refused, 4 the
store cannot be used, 5 the disk refused a write, 6 the Prefect server cannot run, 7 the doctor
found something wrong, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Final

import typer
from typer.exceptions import TyperException

from serving.cli import (
    agents,
    asking,
    doctoring,
    door,
    hooking,
    housekeeping,
    keeping,
    leaving,
    models,
    nights,
    running,
    safekeeping,
    saying,
    watching,
    wiring,
)
from serving.cli.output import error, misused
from tasks.errors import EverestError, ViewGone, WriteFailed

_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""What the system says when a disk is full, may not be written, or is failing."""


def _version(asked: bool) -> None:  # noqa: FBT001  the shape of an option's callback
    if asked:
        typer.echo(f"everest {metadata.version('everest-memory')}")
        raise typer.Exit


app = typer.Typer(
    name="everest",
    help="A memory for AI agents that learns from being corrected.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
)


@app.callback()
def everest(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """A memory for AI agents that learns from being corrected."""


for group in (
    nights,
    running,
    asking,
    saying,
    door,
    agents,
    hooking,
    models,
    watching,
    wiring,
    doctoring,
    housekeeping,
    keeping,
    leaving,
    safekeeping,
):
    group.add_to(app)


def main() -> None:
    """Run the command line and exit with its code."""
    os.umask(0o077)  # whatever we write is the person's alone
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; return its exit code. Our errors are told in one line on standard error."""
    try:
        result = _carried_out(arguments)
    except EverestError as failure:
        return error(failure, as_json="--json" in arguments)
    except TyperException as misuse:
        return misused(misuse, arguments)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:  # the reader of our output went away: no fault, and nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as failure:
        if failure.errno not in _DISK:
            raise
        place = Path(str(failure.filename or "the disk"))
        refused = WriteFailed(place, failure.strerror or str(failure))
        return error(refused, as_json="--json" in arguments)
    return result if isinstance(result, int) else 0


def _carried_out(arguments: list[str]) -> object:
    try:
        return app(arguments, standalone_mode=False)
    except ViewGone:  # a command reads before it says or writes anything
        return app(arguments, standalone_mode=False)
