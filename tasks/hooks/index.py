"""The prime index: a scope's lessons as a hook without a warm process looks them up.

It is written with the scope's folder and read by `tasks.hooks.published` in pure Python: arrays to
be bisected where they lie, and a line a lesson with its profile and its words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from tasks.domain.clock import instant
from tasks.durable import make_folder
from tasks.prime import looked_up, profile_of, said
from tasks.profiles import worn_by
from tasks.store.view import PRIME

_HISTORY: Final = 1000
"""The prompts, the newest, that tell which words are worn in a scope."""


def save(folder: Path, rows: Sequence[Mapping[str, Any]], prompts: Sequence[str]) -> None:
    """Write the index of a scope's lessons into its folder; durability is the publisher's business.

    Args:
        folder: the scope's, which exists.
        rows: the lessons as published.
        prompts: what the person said in the scope, oldest first.
    """
    place = make_folder(folder / PRIME)
    worn = worn_by(prompts[-_HISTORY:]) if rows else {}
    profiles = [profile_of(row, worn) for row in rows]
    _save_postings(place, sorted(_postings(profiles)))
    starts = [0]
    with (place / "lessons.jsonl").open("wb") as file:
        for row, profile in zip(rows, profiles, strict=True):
            line = orjson.dumps(_line(row, profile)) + b"\n"
            starts.append(starts[-1] + file.write(line))
    _save(place, "lessons-starts", np.array(starts, dtype=np.int64))


def _postings(profiles: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int, float]]:
    """Yield of each term of each lesson its hash, the lesson's row and the term's weight there."""
    for row, profile in enumerate(profiles):
        for term, weight in looked_up(profile).items():
            yield _hash(term), row, weight


def _save_postings(place: Path, postings: Sequence[tuple[int, int, float]]) -> None:
    hashes = np.array([one[0] for one in postings], dtype=np.uint64)
    vocabulary, starts = np.unique(hashes, return_index=True)
    _save(place, "vocabulary", vocabulary)
    _save(place, "starts", np.append(starts, len(hashes)).astype(np.int64))
    _save(place, "rows", np.array([one[1] for one in postings], dtype=np.int32))
    _save(place, "weights", np.array([one[2] for one in postings], dtype=np.float64))


def _save(place: Path, name: str, values: Any) -> None:
    np.save(place / f"{name}.npy", values, allow_pickle=False)


def _hash(term: str) -> int:
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _line(row: Mapping[str, Any], profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a hook needs of a lesson; its text is worded already, but for the day."""
    return {
        "id": row["id"],
        "kind": row["kind"],
        "trust": row["trust"],
        "at": instant(row["at"]).timestamp(),
        "said": said(row),
        "profile": profile,
    }
