"""The prime index: a scope's lessons as a hook without a warm process searches them.

It is written with the scope's folder and read by `tasks.hooks.published`, in pure Python: arrays
to be bisected where they lie, and a short line a lesson. The warm process maps the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from tasks.domain.clock import instant
from tasks.durable import make_folder
from tasks.embedding.index import build_lexical
from tasks.prime import said, searched

NAME: Final = "prime"
"""The folder, in that of the scope."""


def save(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the index of a scope's lessons into its folder; durability is the publisher's business.

    Args:
        folder: the scope's, which exists.
        rows: the lessons as published, in the order of `ScopeView.lessons`.
    """
    place = make_folder(folder / NAME)
    build_lexical([searched(row) for row in rows]).save(place)
    starts = [0]
    with (place / "lessons.jsonl").open("wb") as file:
        for row in rows:
            starts.append(starts[-1] + file.write(orjson.dumps(_line(row)) + b"\n"))
    np.save(place / "lessons-starts.npy", np.array(starts, dtype=np.int64), allow_pickle=False)


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a hook needs of a lesson; its text is worded already, but for the day."""
    return {
        "id": row["id"],
        "kind": row["kind"],
        "trust": row["trust"],
        "at": instant(row["at"]).timestamp(),
        "said": said(row),
    }
