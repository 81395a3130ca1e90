"""Commands that say something to the memory: remember, reject, forget. Appended at once."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from serving.cli.context import writing_project
from serving.cli.output import AsJson, ProjectName, at_terminal, confirm, cut, put, say
from tasks.compose import Setting, setting
from tasks.domain.clock import instant, local_day, utc_now
from tasks.domain.ids import shown
from tasks.domain.proposals import Actor
from tasks.domain.scope import GLOBAL
from tasks.errors import UsageError
from tasks.going import going
from tasks.memory import Found, Memory
from tasks.render.phrases import count
from tasks.said import MAX_NOTE, Accepted, decide, logs_with_words, remember
from tasks.store.lock import writer_at_work

_INDENT = " " * 4

Unit = Annotated[str, typer.Argument(metavar="ID", help="An id, or the beginning of one.")]


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command("remember")(remember_)
    app.command()(reject)
    app.command()(forget)


def remember_(
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="What to remember; standard input if not given."),
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
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why it is wrong; it is kept.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Reject a lesson or a note: it is not learned again.

    Example: everest reject 3fa2b81c --reason "we moved to pnpm"
    """
    memory, found = _found(setting(), unit)
    accepted = decide(memory, "reject", found, reason=reason, actor=_actor(), at=utc_now())
    _told(accepted, as_json=as_json)
    if at_terminal() and not as_json:
        say(_INDENT + cut(found.row["text"], beside=len(_INDENT)))


def forget(
    unit: Unit,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget a lesson, a note or an episode, for good.

    What it rests on goes with it, and every lesson that rests on that. At a
    terminal it shows all of it and asks first; then rows, files and bytes in
    the store's file go right away, or with the next night if a run is writing.
    From a program it is only withheld, until you decide.

    Example: everest forget 3fa2b81c
    """
    where = setting()
    memory, found = _found(where, unit)
    if at_terminal() and not yes:
        _confirm(where, memory, found)
    accepted = decide(memory, "forget", found, reason=reason, actor=_actor(), at=utc_now())
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


def _confirm(where: Setting, memory: Memory, found: Found) -> None:
    """Show the person what would go, and ask."""
    rows = going(memory, found)
    records = count(len(rows), "record")
    confirm(
        f"Forget {records} for good? Nothing brings them back.",
        nobody="there is nobody to ask",
        told=["This would go, with its lesson files:", *_in_lines(rows, where)],
    )


def _in_lines(rows: Iterable[dict[str, Any]], where: Setting) -> Iterator[str]:
    from tasks.recall import label  # noqa: PLC0415  the search waits for who asks

    for row in rows:
        at = row.get("at")
        day = str(local_day(instant(at), where.settings.zone)) if at else "day not known"
        what = label(row) if "kind" in row else "withheld until you decide"
        yield f"  {shown(row['id'])}  {what}, {day}"
        yield _INDENT + cut(row["text"], beside=len(_INDENT))


def _found(where: Setting, unit: str) -> tuple[Memory, Found]:
    memory = Memory(where.places)
    return memory, memory.find(unit, where.settings.scope(GLOBAL))


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
