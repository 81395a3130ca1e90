"""Decides which space this memory uses, and can say why. Choosing loads no model and asks none.

Order: the setting EVEREST_EMBED, then `model.json`, then MiniLM while its weights are the known
ones, then hashed. A space that was asked for by name is given or refused, never replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tasks.embedding.hashed import Hashed
from tasks.embedding.minilm import MiniLM
from tasks.embedding.served import Served, remeasured
from tasks.embedding.space import Space
from tasks.embedding.weights import Model, Unusable, local, shipped
from tasks.errors import SettingInvalid
from tasks.llm.choice import read_choice, read_json, write_choice
from tasks.llm.server import Server
from tasks.settings import SEALS, absolute

HASHED: Final = "hashed"
MODEL: Final = "sentence-transformers"
SERVED: Final = "served"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The space to embed in, and a sentence for `everest status`.

    Attributes:
        instead: the model was wanted and cannot be used, so that this space stands in for it.
    """

    space: Space
    why: str
    instead: bool = False


def choose(
    embed: str | None,
    model_dir: Path | None,
    model_json: Path,
    *,
    key: Callable[[], str | None] = lambda: None,
    timeout: float = 1.0,
) -> Chosen:
    """Return the space that the settings, the person's choice and this machine lead to.

    Args:
        embed: EVEREST_EMBED, if set.
        model_dir: EVEREST_EMBED_MODEL, if set.
        model_json: the file in which `everest model` keeps its choice; hashes of weights are
            remembered beside it.
        key: gives the credential of the server named there; asked only when one is.
        timeout: seconds that a served model may take to read a question.

    Raises:
        SettingInvalid: for an unknown name, or a model asked for by name that cannot be used.
    """
    asked, by = _asked(embed, model_json)
    if asked == HASHED:
        return Chosen(Hashed(), f"hashed words, because {by} says so")
    if asked == SERVED:
        return _served(by, model_json, key, timeout)
    model, of = _model(model_dir, model_json.with_name(SEALS))
    match model:
        case Model():
            return Chosen(MiniLM(model), f"the model {model.name}, {of}")
        case Unusable(why) if model_dir is not None:
            raise SettingInvalid("EVEREST_EMBED_MODEL", why)
        case Unusable(why) if asked == MODEL:
            raise SettingInvalid(by, f"{MODEL} cannot be used: {why}")
        case Unusable(why):
            return Chosen(Hashed(), f"hashed words, because {why}", instead=True)


def _model(model_dir: Path | None, seals: Path) -> tuple[Model | Unusable, str]:
    if model_dir is None:
        return shipped(seals), "as shipped, its weights checked"
    folder = absolute(model_dir)
    return local(folder, seals), "which EVEREST_EMBED_MODEL names"


def renewed(chosen: Chosen, model_json: Path) -> Chosen:
    """Return the space after a look at its server: a model that was replaced there is taken up.

    Its new measure is kept in `model.json`, which the flow that embeds alone writes so; while the
    server is away everything stays as it is.
    """
    space = chosen.space
    choice = read_choice(model_json) if isinstance(space, Served) else None
    if choice is None or not isinstance(space, Served) or choice.embedding != space.embedding:
        return chosen
    found = remeasured(space)
    if found is space.embedding:
        return chosen
    write_choice(model_json, replace(choice, embedding=found))
    return replace(chosen, space=space.of(found), why=_why(space.server, found.name))


def _served(by: str, model_json: Path, key: Callable[[], str | None], timeout: float) -> Chosen:
    choice = read_choice(model_json)
    if choice is None or choice.embedding is None:
        why = "no embedding model is chosen; choose one with `everest model`"
        raise SettingInvalid(by, f"{SERVED} cannot be used: {why}")
    server = Server(choice.server, choice.api, key())
    space = Served(server, choice.embedding, timeout=timeout)
    return Chosen(space, _why(server, space.name))


def _why(server: Server, name: str) -> str:
    return f"the model {name}, served at {server.base}"


def _asked(embed: str | None, model_json: Path) -> tuple[str | None, str]:
    if embed is not None:
        return _known(embed, "EVEREST_EMBED"), "EVEREST_EMBED"
    kept = read_json(model_json)
    if kept is None or kept.get("embed") is None:
        return None, ""
    return _known(kept["embed"], f"{model_json}: embed"), str(model_json)


def _known(value: object, where: str) -> str:
    if value in (HASHED, MODEL, SERVED):
        return str(value)
    known = f"{MODEL}, {HASHED} or {SERVED}"
    raise SettingInvalid(where, f"{value!r} is no embedding space; use {known}")
