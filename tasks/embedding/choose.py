"""Decides which space this memory uses, and can say why. Choosing loads no model.

Order: the setting EVEREST_EMBED, then `model.json`, then MiniLM while its weights are the known
ones, then hashed. A space that was asked for by name is given or refused, never replaced.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tasks.embedding.hashed import Hashed
from tasks.embedding.minilm import MiniLM
from tasks.embedding.space import Space
from tasks.embedding.weights import Model, Unusable, local, shipped
from tasks.errors import SettingInvalid
from tasks.settings import absolute

HASHED: Final = "hashed"
MODEL: Final = "sentence-transformers"
SEALS: Final = "weights.json"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The space to embed in, and a sentence for `everest status`.

    Attributes:
        instead: the model was wanted and cannot be used, so that this space stands in for it.
    """

    space: Space
    why: str
    instead: bool = False


def choose(embed: str | None, model_dir: Path | None, model_json: Path) -> Chosen:
    """Return the space that the settings, the person's choice and this machine lead to.

    Args:
        embed: EVEREST_EMBED, if set.
        model_dir: EVEREST_EMBED_MODEL, if set.
        model_json: the file in which `everest model` keeps its choice; hashes of weights are
            remembered beside it.

    Raises:
        SettingInvalid: for an unknown name, or a model asked for by name that cannot be used.
    """
    asked, by = _asked(embed, model_json)
    if asked == HASHED:
        return Chosen(Hashed(), f"hashed words, because {by} says so")
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


def _asked(embed: str | None, model_json: Path) -> tuple[str | None, str]:
    if embed is not None:
        return _known(embed, "EVEREST_EMBED"), "EVEREST_EMBED"
    try:
        kept = json.loads(model_json.read_bytes())
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError) as error:
        raise SettingInvalid(str(model_json), f"cannot be read as JSON ({error})") from None
    if not isinstance(kept, dict) or kept.get("embed") is None:
        return None, ""
    return _known(kept["embed"], f"{model_json}: embed"), str(model_json)


def _known(value: object, where: str) -> str:
    if value in (HASHED, MODEL):
        return str(value)
    raise SettingInvalid(where, f"{value!r} is no embedding space; use {MODEL} or {HASHED}")
