"""Commands that say something to the memory: remember, reject, forget. Appended at once."""

from __future__ import annotations

import codecs
import sys
from typing import Annotated

import typer

from serving.cli.context import writing_project
from serving.cli.output import AsJson, ProjectName, at_terminal, put, say
from tasks.compose import Setting, setting
from tasks.domain.clock import utc_now
from tasks.domain.ids import shown
from tasks.domain.proposals import Actor
from tasks.domain.scope import GLOBAL, Scope
from tasks.errors import UsageError
from tasks.memory import Memory
from tasks.said import MAX_NOTE, Accepted, decide, logs_with_words, remember
from tasks.store.lock import writer_at_work

Unit = Annotated[str, typer.Argument(metavar="ID", help="An id, or the beginning of one.")]


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command("remember")(remember_)
    app.command()(reject)
    app.command()(forget)


def remember_(
    text: Annotated[
        str | None, typer.Argument(help="What to remember; standard input if not given.")
    ] = None,
    project: ProjectName = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="In every project, not in this one alone.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Keep a note; it can be recalled at once.

    Example: everest remember "the staging database is refreshed on Mondays"
    """
    where = setting()
    words = _typed() if text is None else _readable(text)  # it may take minutes, the view be gone
    memory = Memory(where.places)
    found = writing_project(memory, project)
    scope = where.settings.scope(GLOBAL if everywhere else found.project_id)
    accepted = remember(memory, words, scope=scope, project=found, actor=_actor(), at=utc_now())
    _told(accepted, as_json=as_json)


def reject(
    unit: Unit,
    reason: Annotated[str, typer.Option("--reason", help="Why it is wrong; kept.")] = "",
    as_json: AsJson = False,
) -> None:
    """Reject a lesson or a note: it is not learned again.

    Example: everest reject 3fa2b81c --reason "we moved to pnpm"
    """
    _decide("reject", unit, reason, as_json=as_json)


def forget(
    unit: Unit,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept.")] = "",
    as_json: AsJson = False,
) -> None:
    """Forget a unit and what it rests on.

    It is hidden at once. For a person at a terminal its rows, its files and its bytes in the
    store's file go right away; while another run is writing, the next night deletes the rows.

    Example: everest forget 3fa2b81c
    """
    where = setting()
    accepted = _decided(where, "forget", unit, reason)
    busy = writer_at_work(where.places.lock)
    if not at_terminal() or busy:
        _told(accepted, as_json=as_json)
        if busy and not as_json:
            say(f"The store is being written by {busy}; run `everest compact` when that is done.")
        return
    if not as_json:
        say(f"accepted {shown(accepted.unit_id)}: hidden from now on and kept out for good")
    _erase(where, accepted, as_json=as_json)


def _erase(where: Setting, accepted: Accepted, *, as_json: bool) -> None:
    """Carry out the forgetting, and say where words may still stand."""
    from flows import forget as flow  # noqa: PLC0415  heavy imports wait for their command
    from serving.cli.keeping import as_data, in_words  # noqa: PLC0415
    from serving.cli.wherever import run_flow  # noqa: PLC0415

    compacted = run_flow(where, flow.forget, flow.erase)
    left = [str(path) for path in logs_with_words(where.places)]
    if as_json:
        gone = {"accepted": True, "id": accepted.unit_id, "now": "erased from the store"}
        put({**gone, "erased": as_data(compacted), "words_left_in": left})
        return
    say("Its rows, its lesson files and its bytes in the store's file are gone.")
    say(in_words(compacted))
    say(
        "The words may still stand where they were said or written down before, which no command "
        f"clears yet: {', '.join(left)}, backups, and the agents' own transcripts."
    )


def _decide(verb: str, unit: str, reason: str, *, as_json: bool) -> None:
    _told(_decided(setting(), verb, unit, reason), as_json=as_json)


def _decided(where: Setting, verb: str, unit: str, reason: str) -> Accepted:
    memory = Memory(where.places)
    found = memory.find(unit, _owner(where))
    return decide(memory, verb, found, reason=reason, actor=_actor(), at=utc_now())


def _owner(where: Setting) -> Scope:
    return where.settings.scope(GLOBAL)


def _actor() -> Actor:
    """Whoever has a terminal at both ends is taken for the person; anything else is an agent."""
    return Actor.PERSON if at_terminal() else Actor.AGENT


def _typed() -> str:
    """Return what stands on standard input, or as much of it as shows that it is too long."""
    if sys.stdin.isatty():
        typer.echo("Type the note; Ctrl-D on a line of its own ends it.", err=True)
    most = 4 * MAX_NOTE + 4  # bytes of one character more than a note may have
    data = sys.stdin.buffer.read(most)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        return decoder.decode(data, final=len(data) < most)
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is no UTF-8 text (byte {error.start})") from None


def _readable(text: str) -> str:
    """Return a word of the command line; what is no UTF-8 reaches Python as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the text is no UTF-8 (character {error.start})") from None
    return text


def _told(accepted: Accepted, *, as_json: bool) -> None:
    if as_json:
        put({"accepted": True, "id": accepted.unit_id, "now": accepted.now})
    else:
        say(f"accepted {shown(accepted.unit_id)}: {accepted.now}")
