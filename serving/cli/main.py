"""The `everest` command: finds the command, turns our errors into exit codes, imports late.

Exit codes: 0 done, 1 a fault of ours, 2 the request cannot be carried out as put, 3 refused, 4 the
store cannot be used, 5 the disk refused a write, 6 the Prefect server cannot run, 7 the doctor
found something wrong, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from serving.cli.output import error, misused
from tasks.errors import EverestError, ViewGone, WriteFailed

_MODULES: Final = {
    **dict.fromkeys(("night", "demo", "morning"), "nights"),
    **dict.fromkeys(("ingest", "sleep", "render", "measure", "rebuild"), "running"),
    **dict.fromkeys(("recall", "lessons"), "asking"),
    **dict.fromkeys(("remember", "reject", "forget"), "saying"),
    **dict.fromkeys(("proxy", "relay", "token"), "door"),
    **dict.fromkeys(("serve", "tools", "call", "context"), "agents"),
    **dict.fromkeys(("prime", "hook"), "hooking"),
    "model": "models",
    **dict.fromkeys(("up", "down", "logs", "prefect", "deploy"), "watching"),
    "setup": "wiring",
    "doctor": "doctoring",
    **dict.fromkeys(("project", "status", "paths"), "housekeeping"),
    **dict.fromkeys(("compact", "check"), "keeping"),
    **dict.fromkeys(("pause", "resume", "uninstall"), "leaving"),
    **dict.fromkeys(("backup", "restore", "export"), "safekeeping"),
}
"""The module of each command, in the order of the help; a module is loaded for its commands."""
_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""What the system says when a disk is full, may not be written, or is failing."""


def _version(asked: bool) -> None:  # noqa: FBT001  the shape of an option's callback
    if asked:
        from importlib import metadata  # noqa: PLC0415  only here is it needed

        typer.echo(f"everest {metadata.version('everest-memory')}")
        raise typer.Exit


class _Late(Mapping[str, Any]):
    """Commands by name; the module of one is loaded when it is looked up, and not when listed."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            group = typer.Typer(rich_markup_mode=None)
            import_module(f"serving.cli.{_MODULES[name]}").add_to(group)
            self._loaded |= typer.main.get_group(group).commands
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


class _Everest(TyperGroup):
    """The command with its sub-commands, loaded late."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = _Late()


app = typer.Typer(
    name="everest",
    cls=_Everest,
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
    """A memory for AI agents that learns from being corrected.

    Begin with `everest demo`, or with `everest night` on your own transcripts;
    then `everest setup` has your agents told, and `everest up` keeps it running.
    Each command's --help has an example.
    """


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
