"""The command that chooses models: it has a server fetch them, and runs none itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from serving.cli.output import AsJson, put, say
from tasks.compose import Setting, setting
from tasks.errors import UsageError

if TYPE_CHECKING:
    from tasks.llm.choice import Choice
    from tasks.llm.choose import Pulled, Wanted
    from tasks.llm.server import Server

_NONE: Final = "none"


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(model)


def model(  # noqa: PLR0913, PLR0917  one option each
    server: Annotated[
        str | None,
        typer.Option(
            "--server", metavar="URL", help="A server's URL, if not this machine's Ollama."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="MODEL", help="The writing model; `none` for no writing."),
    ] = None,
    embedding: Annotated[
        str | None,
        typer.Option(
            "--embedding",
            metavar="MODEL",
            help="The embedding model; `none` for the one that ships.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Say what is chosen, and stop.")] = False,
    off: Annotated[bool, typer.Option("--off", help="Use no served model any more.")] = False,
    as_json: AsJson = False,
) -> None:
    """Choose a model that words lessons, and one that embeds.

    With no option, models that fit this machine's memory are fetched by its
    Ollama. With --server and --name, any OpenAI-compatible server is used.

    Example: everest model --name qwen2.5:7b
    """
    where = setting()
    if show or off:
        if (show and off) or server or name or embedding:
            raise UsageError("--show and --off stand alone")
        _forget(where, as_json=as_json) if off else _tell(where, as_json=as_json)
        return
    if server and not name:
        raise UsageError("--server needs the name of a model there: add --name MODEL")
    from tasks.llm.choice import write_choice  # noqa: PLC0415  heavy imports wait for their command
    from tasks.llm.choose import chosen  # noqa: PLC0415

    asked = _server(where, server)
    wanted = _wanted(server, name, embedding)
    if not as_json:
        say(_announced(asked, wanted))
    with _bar() as pulled:
        choice = chosen(asked, wanted, pulled)
    write_choice(where.places.model, choice)
    if as_json:
        put(_as_data(choice))
    else:
        say(_in_words(choice))
        if choice.embedding:
            say("The next night embeds everything anew; until then words alone find things.")


def _server(where: Setting, named: str | None) -> Server:
    from tasks.llm.choose import ollama_at, server_at  # noqa: PLC0415
    from tasks.llm.keys import key_of_choice  # noqa: PLC0415
    from tasks.llm.server import base_of, ollama_of  # noqa: PLC0415

    if named is None:
        return ollama_at(ollama_of(os.environ.get("OLLAMA_HOST")))
    return server_at(base_of(named, "--server"), key_of_choice(where.settings, where.places))


def _wanted(server: str | None, name: str | None, embedding: str | None) -> Wanted:
    from tasks.llm.choose import Wanted, memory_of_machine, picked  # noqa: PLC0415

    fits = Wanted(None, None) if server else picked(memory_of_machine())
    return Wanted(_named(name, fits.writer), _named(embedding, fits.embedding))


def _named(asked: str | None, otherwise: str | None) -> str | None:
    return otherwise if asked is None else None if asked == _NONE else asked


def _announced(server: Server, wanted: Wanted) -> Iterator[str]:
    from tasks.llm.choose import memory_of_machine, size_of  # noqa: PLC0415
    from tasks.llm.server import on_this_machine  # noqa: PLC0415

    memory = f"{memory_of_machine() / 1e9:.0f} GB of memory"
    for what, one in (("writing", wanted.writer), ("embedding", wanted.embedding)):
        size = size_of(one) if one else None
        about = f" ({size / 1e9:.1f} GB to fetch, if it is not there)" if size else ""
        yield f"{what}: {one or 'no model'}{about}"
    yield f"server: {server.base}; this machine has {memory}"
    if not on_this_machine(server.base):
        yield "It is another machine: what people said to agents will be sent there."


@contextmanager
def _bar() -> Iterator[Pulled]:
    """Show bytes on standard error while it is a terminal."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def pulled(model: str, done: int, total: int) -> None:
            if model not in tasks:
                tasks[model] = progress.add_task(model, total=None)
            progress.update(tasks[model], completed=done, total=total or None)

        yield pulled


def _tell(where: Setting, *, as_json: bool) -> None:
    from tasks.llm.choice import read_choice  # noqa: PLC0415
    from tasks.llm.choose import standing  # noqa: PLC0415
    from tasks.llm.keys import key_of_choice  # noqa: PLC0415
    from tasks.llm.server import Server  # noqa: PLC0415

    choice = read_choice(where.places.model)
    if choice is None:
        text = (
            "No model is chosen: lessons are worded by rule, and the small one that ships embeds."
        )
        put(None) if as_json else say(text)
        return
    key = key_of_choice(where.settings, where.places)
    now = standing(Server(choice.server, choice.api, key), choice)
    if as_json:
        put({**_as_data(choice), "now": now})
    else:
        say(_in_words(choice))
        say(f"{what:<10} now: {how}" for what, how in now.items())


def _forget(where: Setting, *, as_json: bool) -> None:
    chosen = where.places.model.exists()
    where.places.model.unlink(missing_ok=True)
    if as_json:
        put(None)
    else:
        say("No model is used any more." if chosen else "No model was chosen.")


def _as_data(choice: Choice) -> dict[str, Any]:
    embedding = choice.embedding
    return {
        "server": choice.server,
        "api": choice.api.value,
        "writer": choice.writer,
        "embedding": embedding.name if embedding else None,
        "dim": len(embedding.probe) if embedding else None,
        "embed": choice.embed,
    }


def _in_words(choice: Choice) -> Iterator[str]:
    yield f"server     {choice.server} ({choice.api.value})"
    yield f"writing    {choice.writer or 'no model: lessons are worded by rule'}"
    if choice.embedding:
        yield f"embedding  {choice.embedding.name}, {len(choice.embedding.probe)} numbers a text"
    else:
        yield "embedding  the small model that ships"
