"""The embed pass's decision: which episodes still need a vector in the space now in use.

Vectors of two spaces are never compared, so one of another space counts as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from tasks.domain.units import EpisodeKind


@dataclass(frozen=True, slots=True)
class Pending:
    """Texts to embed: `texts[i]` is the meaning of the episode `ids[i]`; sorted by id."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]


def pending(episodes: pl.DataFrame, spaces: Mapping[str, str], *, space: str) -> Pending:
    """Return what to embed so that every episode has a vector in `space`.

    Args:
        episodes: frame of schema `material.EPISODES`.
        spaces: episode id -> the space its stored vector is in; no entry when it has none.
        space: the space in use.

    An episode whose meaning is blank has nothing to embed and is left out.
    """
    done = [unit for unit, found in spaces.items() if found == space]
    wanted = (
        episodes.select("id", meaning().alias("text"))
        .filter(~pl.col("id").is_in(done), pl.col("text").str.strip_chars() != "")
        .sort("id")
    )
    return Pending(tuple(wanted.get_column("id")), tuple(wanted.get_column("text")))


def meaning() -> pl.Expr:
    """Return `Episode.meaning` as an expression over the episodes frame."""
    spoken = pl.col("kind").is_in([EpisodeKind.CORRECTION.value, EpisodeKind.NOTE.value])
    told = pl.concat_str("title", "gist", separator="\n")
    return pl.when(spoken).then(pl.col("words")).otherwise(told)
