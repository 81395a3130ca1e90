"""Commands for a rest and for good: pause, resume and uninstall."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from serving.cli.output import AsJson, confirm, put, say
from tasks import paused as pausing
from tasks.compose import Setting, setting
from tasks.domain.clock import iso, utc_now
from tasks.paused import Pause

if TYPE_CHECKING:
    from deployments.leaving import Left

_PROGRAM = "The program itself goes with `pip uninstall everest-memory`."


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    for command in (pause, resume, uninstall):
        app.command()(command)


def pause(
    for_: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="SPAN", help="As 30m, 2h or 3d; until `everest resume` if not given."
        ),
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


def uninstall(
    keep_data: Annotated[
        bool, typer.Option("--keep-data", help="Leave the memory itself where it is.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take everything of Everest's off this machine.

    It stops what runs, undoes every wiring, takes lesson files out of your
    agents' folders, and removes the memory unless told to keep it. It asks
    first.

    Example: everest uninstall --keep-data
    """
    from deployments.leaving import uninstall as leave  # noqa: PLC0415  heavy imports wait

    where = setting()
    if not yes:
        _confirm(where, keep_data=keep_data)
    left = leave(where, keep_data=keep_data, at=utc_now())
    if as_json and not left.failed:
        put(
            {
                "done": left.done,
                "by_hand": left.by_hand,
                "left": [str(path) for path in left.stays],
                "copies": [str(path) for path in left.copies],
            }
        )
    elif not as_json:
        say(_in_words(where, left, keep_data=keep_data))
    for failure in left.failed[1:]:
        typer.echo(f"everest: {failure}", err=True)
    if left.failed:
        raise left.failed[0]


def _confirm(where: Setting, *, keep_data: bool) -> None:
    """Ask the person before anything is undone."""
    home = where.places.home
    if keep_data:
        asked = f"Undo every wiring of Everest's on this machine? The memory stays in {home}."
    else:
        asked = (
            f"Undo every wiring of Everest's on this machine and remove the memory in {home} for "
            "good? (`everest backup` and `everest export` keep it in a file.)"
        )
    confirm(asked, nobody="there is nobody to ask whether to uninstall")


def _in_words(where: Setting, left: Left, *, keep_data: bool) -> Iterator[str]:
    yield from (f"{line[:1].upper()}{line[1:]}." for line in left.done)
    yield from (f"What you had edited is kept in {path}" for path in left.copies)
    yield from (
        f"{path} was left: Everest does not know it as its own, or it was edited."
        for path in left.stays
    )
    if left.by_hand:
        yield "The service manager does not answer in this session. In one where it does, run:"
        yield from (f"  {command}" for command in left.by_hand)
    if left.failed:
        yield f"Not all could be undone, so {where.places.home} stays; mend this and run it again."
        return
    if keep_data:
        yield f"The memory stays in {where.places.home}."
    yield _PROGRAM
