"""The space that needs no model: words and pairs of words, hashed with a sign into 256 numbers.

Invariant: the same text gives the same vector on every machine and in every batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.space import Gauge, Progress
from tasks.embedding.words import FUNCTION_WORDS, terms_of, tokens

_BLOCK: Final = 1024
_QUIET: Final = 0.3  # weight of a word that carries no subject


class Hashed:
    """Signed hashing of words and bigrams, sublinear in how often each stands, unit norm."""

    name = "hashed-256-v1"
    dim = 256
    join_cut = 0.55
    verify_cut = 0.5
    gauge = Gauge(base=0.13, by_cosine=0.154, by_words=0.616, of_words=True)

    def documents(self, texts: Sequence[str], progress: Progress) -> NDArray[np.float32]:
        """Return one unit row a text; takes about 0.1 ms a text of 40 words."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            rows[start : start + len(block)] = _embed(block, self.dim)
            progress(len(block))
        return rows

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a query: queries and documents are read alike."""
        row: NDArray[np.float32] = _embed([text], self.dim)[0]
        return row


def _embed(texts: Sequence[str], dim: int) -> NDArray[np.float32]:
    keys: list[int] = []
    weights: list[float] = []
    ends: list[int] = []
    for text in texts:
        for key, weight in _features(text):
            keys.append(key)
            weights.append(weight)
        ends.append(len(keys))
    owners = np.repeat(np.arange(len(texts)), np.diff(np.array([0, *ends])))
    return _unit(
        _summed(np.array(keys, dtype=np.int64), np.array(weights), owners, (len(texts), dim))
    )


def _summed(
    keys: NDArray[np.int64],
    weights: NDArray[np.float64],
    owners: NDArray[np.int64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """Add up 1 + ln(count) of every distinct feature of a text in the cell its hash names."""
    pairs = np.stack([owners, keys], axis=1) if len(keys) else np.zeros((0, 2), dtype=np.int64)
    distinct, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
    values = weights[first] * (1.0 + np.log(counts)) if len(keys) else np.zeros(0)
    signs = np.where(distinct[:, 1] & 1, 1.0, -1.0)
    cells = distinct[:, 0] * shape[1] + (distinct[:, 1] >> 1) % shape[1]
    sums = np.bincount(cells, values * signs, minlength=shape[0] * shape[1])
    return sums.astype(np.float64, copy=False).reshape(shape)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    norms[norms == 0] = 1.0
    unit: NDArray[np.float32] = (rows / norms).astype(np.float32)
    return unit


def _features(text: str) -> Iterator[tuple[int, float]]:
    words = [term for token in tokens(text) for term in terms_of(token)]
    for word in words:
        yield _hash(word), _QUIET if word in FUNCTION_WORDS else 1.0
    for first, second in islice(pairwise(words), None):
        yield _hash(f"{first} {second}"), 0.5


@lru_cache(maxsize=1 << 17)
def _hash(feature: str) -> int:
    """Return 63 stable bits; Python's own hash differs from process to process."""
    digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
