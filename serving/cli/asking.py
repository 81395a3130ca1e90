"""Commands that ask the memory: recall and lessons. They load no engine of the night."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, Any

import typer

from serving.cli import reasons
from serving.cli.context import reading_scope, reading_scopes
from serving.cli.output import AsJson, ProjectName, at_terminal, cut, put, say
from tasks.compose import Setting, setting
from tasks.domain.clock import instant, local_day, utc_now
from tasks.domain.ids import shown
from tasks.domain.markers import one_line
from tasks.domain.proposals import Actor
from tasks.domain.scope import Scope
from tasks.domain.units import DEFAULT_K
from tasks.learned import listed, stands
from tasks.memory import Memory
from tasks.render.phrases import count

if TYPE_CHECKING:
    from tasks.explain import Explained  # the search waits for who asks
    from tasks.recall import Recalled


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command("recall")(recall_)
    app.command()(lessons)


def recall_(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in words.")],
    k: Annotated[
        int, typer.Option("-k", metavar="NUMBER", min=1, max=100, help="How many at most.")
    ] = DEFAULT_K,
    project: ProjectName = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why: words, meaning, age, what was left out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find what a project's memory holds on a question.

    For a person at a terminal it is a list; for a program, a fenced block of
    quoted data. With --explain it tells what each rests on, what came nearest
    of the rest, and what that lacks.

    Example: everest recall "how do we run the tests" -k 3 --explain
    """
    from tasks.explain import explain as why  # noqa: PLC0415  what searches loads arrays
    from tasks.recall import recall, touch  # noqa: PLC0415

    where = setting()
    memory = Memory(where.places)
    scope = reading_scope(memory, where.settings, project)
    space, now = where.space().space, utc_now()
    if explain:
        told = why(memory, query, scope=scope, space=space, k=k, now=now)
        found = [one.one for one in told.listed]
    else:
        found = recall(memory, query, scope=scope, space=space, k=k, now=now)
    touch(memory, found, actor=Actor.PERSON if at_terminal() else Actor.AGENT, at=now)
    if explain:
        _explain(where, memory, told, scope, now, as_json=as_json)
    elif as_json:
        put([_as_data(one) for one in found])
    elif not found:
        say(f"Nothing in {scope.project_id} bears on that.")
    elif at_terminal():
        say(line for one in found for line in _readable(one, where.settings.zone))
    else:
        say(_fenced(found, where.settings.zone))


def lessons(
    project: Annotated[
        str | None,
        typer.Option(
            "--project", metavar="PROJECT", help="Of this project alone, by id, name or folder."
        ),
    ] = None,
    rejected: Annotated[
        bool, typer.Option("--rejected", help="List the rejected, disputed and retired instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List what was learned, in every project or in one.

    Example: everest lessons --project my-app
    """
    where = setting()
    memory = Memory(where.places)
    scopes = set(reading_scopes(memory, where.settings, project))
    chosen = [row for row in listed(memory, scopes) if stands(memory, row) != rejected]
    if as_json:
        put(chosen)
        return
    if not chosen:
        say("No lessons yet: `everest night` learns them." if not rejected else "None.")
    for row in chosen:
        seen = len(row["sessions"])
        state = row["trust"] if row["lifecycle"] == "live" else row["lifecycle"]
        day = local_day(instant(row["valid_from"]), where.settings.zone)
        told = f"{state}, {count(seen, 'session')}, {day}"
        say(f"{shown(row['lesson_id'])}  {row['project_id']}  {told}")
        say(f"    {one_line(memory.overlay.replaced.get(row['lesson_id'], row['text']))}")


def _as_data(one: Recalled) -> dict[str, Any]:
    hit = one.hit
    return {
        **one.row,
        "project": one.scope.project_id,
        "score": hit.score,
        "relevance": hit.relevance,
        "cosine": hit.cosine,
        "lexical": hit.lexical,
        "recency": hit.recency,
        "strength_part": hit.strength_part,
    }


def _readable(one: Recalled, zone: tzinfo) -> Iterator[str]:
    """Yield what a person reads of one unit: its words, then what it is, of when, and its id."""
    yield f"- {one_line(one.row['text'])}"
    yield f"    {_named(one, zone)}"


def _named(one: Recalled, zone: tzinfo) -> str:
    from tasks.recall import label  # noqa: PLC0415

    row = one.row
    told = [label(row), str(local_day(instant(row["at"]), zone)), one.scope.project_id]
    if row["unit"] != "passage":  # a passage is no unit: nothing can be done to it by its id
        told.append(shown(row["id"]))
    return ", ".join(told)


def _fenced(found: list[Recalled], zone: tzinfo) -> str:
    from tasks.recall import fenced  # noqa: PLC0415

    return fenced(found, lambda at: str(local_day(at, zone)))


def _explain(  # noqa: PLR0913  what was answered, from which memory, of what, and when
    where: Setting, memory: Memory, told: Explained, scope: Scope, now: datetime, *, as_json: bool
) -> None:
    """Tell an answer with everything that it rests on."""
    if as_json:
        put(reasons.as_data(told, _as_data))
        return
    zone, seen = where.settings.zone, at_terminal()
    found = [one.one for one in told.listed]
    if not found:
        say(f"Nothing in {scope.project_id} bears on that.")
    elif not seen:
        say(_fenced(found, zone))
    say([*reasons.preface(told, scope.project_id), *([""] if found else [])])
    for one in told.listed:
        say(_readable(one.one, zone) if seen else [f"- {_named(one.one, zone)}"])
        say(f"    {line}" for line in reasons.of_listed(told, one, where, now))
    if told.left_out:
        say(["", "Nearest of what was left out:" if found else "Nearest to it:"])
    for one in told.left_out:  # a program is given no words that are not fenced
        if seen:
            say(f"- {cut(one.one.row['text'], beside=2)}")
        say(f"{'    ' if seen else '- '}{_named(one.one, zone)}")
        say(f"    {line}" for line in reasons.of_left_out(told, one))
    lessons_here = listed(memory, {scope, scope.everywhere()})
    kept_back = sum(not stands(memory, row) for row in lessons_here)
    if end := [*reasons.afterword(told, kept_back)]:
        say(["", *end])
