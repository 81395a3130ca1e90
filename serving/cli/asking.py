"""Commands that ask the memory: recall and lessons. They load no engine of the night."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Annotated, Any

import typer

from serving.cli.context import reading_scope, reading_scopes
from serving.cli.output import AsJson, ProjectName, at_terminal, put, say
from tasks.compose import setting
from tasks.domain.clock import instant, local_day, utc_now
from tasks.domain.ids import shown
from tasks.domain.markers import one_line
from tasks.domain.proposals import Actor
from tasks.learned import listed, stands
from tasks.memory import Memory
from tasks.recall import DEFAULT_K, Recalled, fenced, label, recall, touch
from tasks.render.phrases import count


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command("recall")(recall_)
    app.command()(lessons)


def recall_(
    query: Annotated[str, typer.Argument(help="What to look for, in words.")],
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many at most.")] = DEFAULT_K,
    project: ProjectName = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each stands where.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find what a project's memory holds on a question.

    For a person at a terminal it is a list; for a program, a fenced block of quoted data.

    Example: everest recall "how do we run the tests" -k 3 --explain
    """
    where = setting()
    memory = Memory(where.places)
    scope = reading_scope(memory, where.settings, project)
    now = utc_now()
    found = recall(memory, query, scope=scope, space=where.space().space, k=k, now=now)
    touch(memory, found, actor=Actor.PERSON if at_terminal() else Actor.AGENT, at=now)
    if as_json:
        put([_as_data(one) for one in found])
    elif not found:
        say(f"Nothing in {scope.project_id} bears on that.")
    elif at_terminal():
        say(line for one in found for line in _readable(one, where.settings.zone, explain=explain))
    else:
        say(fenced(found, lambda at: str(local_day(at, where.settings.zone))))
        if explain:
            say(f"{shown(one.row['id'])}  {_why(one)}" for one in found)


def lessons(
    project: Annotated[
        str | None, typer.Option("--project", help="Only those of this project.")
    ] = None,
    rejected: Annotated[
        bool, typer.Option("--rejected", help="Show those rejected, disputed or retired instead.")
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


def _readable(one: Recalled, zone: tzinfo, *, explain: bool) -> Iterator[str]:
    """Yield what a person reads of one unit: its words, then what it is, of when, and its id."""
    row = one.row
    day = local_day(instant(row["at"]), zone)
    yield f"- {one_line(row['text'])}"
    told = [label(row), str(day), one.scope.project_id]
    if row["unit"] != "passage":  # a passage is no unit: nothing can be done to it by its id
        told.append(shown(row["id"]))
    yield f"    {', '.join(told)}"
    if explain:
        yield f"    {_why(one)}"


def _why(one: Recalled) -> str:
    hit = one.hit
    cosine = "no vector" if hit.cosine is None else f"cosine {hit.cosine:.2f}"
    return (
        f"{hit.score:.3f} = 0.6 x {hit.relevance:.2f} ({cosine}, words "
        f"{hit.lexical:.2f}) + 0.25 x {hit.recency:.2f} + 0.15 x {hit.strength_part:.2f}"
    )
