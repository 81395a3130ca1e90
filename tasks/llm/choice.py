"""What `everest model` chose, as `model.json` keeps it.

Invariant: the file is swapped whole; it holds names, sizes and measured numbers, and no credential.
A file that cannot be understood is refused by name and never overruled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tasks.durable import swap_file
from tasks.errors import SettingInvalid
from tasks.llm.server import Api, base_of

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Embedding:
    """An embedding model as it was measured when it was chosen.

    Attributes:
        label: what the server calls it.
        digest: what tells it from another model of that name: Ollama's own digest, else one of
            the probe's vector; in hex.
        probe: the unit vector of a text of ours: an answer that has another one is of another
            model.
        offset, slope: the straight line that brings its cosines to the scale of MiniLM's.
    """

    label: str
    digest: str
    probe: tuple[float, ...]
    offset: float
    slope: float

    @property
    def name(self) -> str:
        """Return the tag of its vectors."""
        return f"{self.label}@{self.digest[:12]}"

    @property
    def vector(self) -> NDArray[np.float32]:
        """Return the probe's vector, shape (dim,)."""
        return np.array(self.probe, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Choice:
    """A server, and the models on it.

    Attributes:
        writer: the model that words lessons; None for none.
        embedding: the model that embeds; None for none.
        embed: the embedding space in use; None leaves that to the default.
    """

    server: str
    api: Api
    writer: str | None = None
    embedding: Embedding | None = None
    embed: str | None = None


def read_choice(path: Path) -> Choice | None:
    """Return what `model.json` says, None when there is none or it names no server.

    Raises:
        SettingInvalid: when it cannot be understood.
    """
    kept = read_json(path)
    if kept is None or "server" not in kept:
        return None
    try:
        found = kept.get("embedding")
        return Choice(
            base_of(_text(kept["server"]), str(path)),
            Api(kept["api"]),
            None if kept.get("writer") is None else _text(kept["writer"]),
            None if found is None else _embedding(found),
            None if kept.get("embed") is None else _text(kept["embed"]),
        )
    except SettingInvalid as error:
        raise unreadable(path, str(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise unreadable(path, f"{type(error).__name__} {error}") from None


def read_json(path: Path) -> Mapping[str, Any] | None:
    """Return the file's object, None when there is no file.

    Raises:
        SettingInvalid: when it holds no JSON object.
    """
    try:
        kept = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise unreadable(path, str(error)) from None
    if not isinstance(kept, dict):
        raise unreadable(path, "it holds no object")
    return kept


def unreadable(path: Path, why: str) -> SettingInvalid:
    """Return the error that tells of a `model.json` which cannot be used, and the way out."""
    return SettingInvalid(
        str(path),
        f"cannot be read as JSON that `everest model` wrote ({why}); run `everest model` again, "
        "or `everest model --off`",
    )


def write_choice(path: Path, choice: Choice) -> None:
    """Keep a choice.

    Raises:
        WriteFailed: when the disk refuses; what was chosen before stands.
    """
    kept = {"v": _VERSION, **asdict(choice)}
    swap_file(path, (json.dumps(kept, indent=1) + "\n").encode())


def _embedding(found: Mapping[str, Any]) -> Embedding:
    made = Embedding(
        _text(found["label"]),
        _text(found["digest"]),
        tuple(float(number) for number in found["probe"]),
        float(found["offset"]),
        float(found["slope"]),
    )
    numbers = [*made.probe, made.offset, made.slope]
    if not made.probe or not np.isfinite(numbers).all() or made.slope <= 0:
        raise ValueError("its numbers cannot be those of a model")
    return made


def _text(found: object) -> str:
    if not isinstance(found, str) or not found:
        raise TypeError(f"{found!r} is no name")
    return found
