"""The search index of one scope: vectors and postings as plain arrays, mapped and never loaded.

Reading needs numpy alone. Invariants: the same texts give the same bytes; row i of every array is
row i of the texts it was built from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.words import FUNCTION_WORDS, terms, terms_of, tokens

K1: Final = 1.2
B: Final = 0.75
_DENSE_BLOCK: Final = 16_384


@dataclass(frozen=True, slots=True)
class Found:
    """Rows an arm found and how well each fits, in [0, 1] for words, a cosine for vectors."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Lexical:
    """BM25 over terms (Robertson and Zaragoza 2009), with the weights worked out beforehand.

    Attributes:
        vocabulary: sorted 64-bit hashes of the terms.
        starts: postings of term i are `rows[starts[i]:starts[i + 1]]`.
        rows: texts in which a term stands, ascending.
        weights: saturated, length-normalised frequency of the term there, times its idf.
        size: number of texts and their mean length in terms, as float64.
    """

    vocabulary: NDArray[np.uint64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]
    size: NDArray[np.float64]

    @property
    def count(self) -> int:
        """Return the number of texts."""
        return int(self.size[0])

    def scores(self, query: str) -> Found:
        """Return the texts that share a term with `query`, and the share of it that each holds.

        A score is BM25 over the most that any text could get for this query, words found nowhere
        included: so it is absolute, and may be compared between indexes.
        """
        sums = np.zeros(self.count, dtype=np.float32)
        best = 0.0
        for term in asked_terms(query):
            found = self._postings(term)
            best += self._idf(found.stop - found.start) * (K1 + 1)
            sums[self.rows[found]] += self.weights[found]
        rows = np.flatnonzero(sums)
        return Found(rows, sums[rows] / np.float32(best or 1.0))

    def save(self, folder: Path) -> None:
        """Write the arrays into `folder`, which exists; durability is the publisher's business."""
        for name in self.__slots__:
            np.save(folder / f"lexical-{name}.npy", getattr(self, name), allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> Lexical:
        """Map the arrays that `save` wrote; nothing is read until a query needs it."""
        return cls(**{name: _mapped(folder / f"lexical-{name}.npy") for name in cls.__slots__})

    def _postings(self, term: str) -> slice:
        key = np.uint64(_hash(term))
        at = int(np.searchsorted(self.vocabulary, key))
        if at == len(self.vocabulary) or self.vocabulary[at] != key:
            return slice(0, 0)
        return slice(int(self.starts[at]), int(self.starts[at + 1]))

    def _idf(self, texts: int) -> float:
        return float(_idf(np.array([texts]), self.count)[0])


def asked_terms(query: str) -> list[str]:
    """Return the distinct terms a query is about; its function words only when it has no others."""
    distinct = list(dict.fromkeys(terms(query)))
    return [term for term in distinct if term not in FUNCTION_WORDS] or distinct


def build_lexical(texts: Sequence[str]) -> Lexical:
    """Return the index of `texts`; about 5 s for 100,000 texts of 40 words."""
    keys, owners = _occurrences(texts)
    vocabulary, terms_at = np.unique(keys, return_inverse=True)
    pairs, counts = np.unique(terms_at * max(1, len(texts)) + owners, return_counts=True)
    which, rows = np.divmod(pairs, max(1, len(texts)))
    lengths = np.bincount(owners, minlength=len(texts))
    mean = float(lengths.mean()) if len(texts) else 0.0
    starts = np.searchsorted(which, np.arange(len(vocabulary) + 1))
    idf = _idf(np.diff(starts), len(texts))[which]
    norm = K1 * (1 - B + B * lengths[rows] / (mean or 1.0))
    weights = idf * counts * (K1 + 1) / (counts + norm)
    return Lexical(
        vocabulary,
        starts,
        rows.astype(np.int32),
        weights.astype(np.float32),
        np.array([len(texts), mean]),
    )


def nearest(matrix: NDArray[np.float32], vector: NDArray[np.float32], top: int) -> Found:
    """Return the `top` rows of `matrix` (unit rows, mapped) by cosine with `vector`, exactly."""
    cosines = np.empty(len(matrix), dtype=np.float32)
    for start in range(0, len(matrix), _DENSE_BLOCK):
        cosines[start : start + _DENSE_BLOCK] = matrix[start : start + _DENSE_BLOCK] @ vector
    return best(Found(np.arange(len(matrix)), cosines), top)


def best(found: Found, top: int) -> Found:
    """Return the `top` of what was found, in the order of the rows."""
    if len(found.rows) <= top:
        return found
    kept = np.sort(np.argpartition(-found.scores, top - 1)[:top])
    return Found(found.rows[kept], found.scores[kept])


def _occurrences(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    known: dict[str, tuple[int, ...]] = {}
    keys: list[int] = []
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    for row, text in enumerate(texts):
        for token in tokens(text):
            hashes = known.get(token)
            if hashes is None:
                hashes = known[token] = tuple(_hash(term) for term in terms_of(token))
            keys.extend(hashes)
        ends[row + 1] = len(keys)
    return np.array(keys, dtype=np.uint64), np.repeat(np.arange(len(texts)), np.diff(ends))


def _idf(texts_with: NDArray[np.int64], texts: int) -> NDArray[np.float64]:
    return np.log1p((texts - texts_with + 0.5) / (texts_with + 0.5))


def _hash(term: str) -> int:
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _mapped(path: Path) -> Any:
    return np.load(path, mmap_mode="r", allow_pickle=False)
