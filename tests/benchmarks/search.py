"""Measure what a search costs: building, opening and asking an index, and encoding a query.

    python tests/benchmarks/search.py [--rows 100000] [--json]

Texts of 40 words drawn by Zipf's law, vectors in clusters as texts make them (a random centre plus
noise), queries of five words. Figures are medians in milliseconds of this thread's own time, so
that a busy machine does not blur them; set OPENBLAS_NUM_THREADS=1 to have all of it in one thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.dense import Dense, build_dense
from tasks.embedding.encoder import Encoder
from tasks.embedding.hashed import Hashed
from tasks.embedding.index import Lexical, build_lexical
from tasks.embedding.minilm import MiniLM
from tasks.embedding.weights import Model, shipped
from tasks.ranking import Asked, Corpus, rank

DIM = 384
WORDS = 40
VOCABULARY = 30_000
COMMON = ("the", "to", "a", "and", "of", "in", "it", "is", "that", "for", "you", "this", "on", "be")


def drawn_texts(rows: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    words = [*COMMON, *(f"{spelled(n)}" for n in range(VOCABULARY - len(COMMON)))]
    chances = 1 / np.arange(1, VOCABULARY + 1)
    chances /= chances.sum()
    picked = rng.choice(VOCABULARY, size=(rows, WORDS), p=chances)
    asked = rng.choice(VOCABULARY, size=(100, 5), p=chances)
    return [" ".join(words[i] for i in row) for row in picked], [
        " ".join(words[i] for i in row) for row in asked
    ]


def spelled(number: int) -> str:
    letters = "bcdfghjklmnpqrtvwz"
    return "".join(letters[number // len(letters) ** at % len(letters)] for at in range(4)) + "o"


def drawn_vectors(rows: int, rng: np.random.Generator) -> NDArray[np.float32]:
    centres = rng.standard_normal((200, DIM)).astype(np.float32)
    matrix = centres[rng.integers(200, size=rows)]
    matrix += rng.standard_normal((rows, DIM)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix


def spent(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def median_ms(works: list[Callable[[], object]]) -> float:
    return statistics.median(spent(work) for work in works) * 1000


def searching(rows: int, folder: Path) -> dict[str, float]:
    rng = np.random.default_rng(1)
    texts, queries = drawn_texts(rows, rng)
    start = time.thread_time()
    build_lexical(texts).save(folder)
    built = time.thread_time() - start
    build_dense(drawn_vectors(rows, rng)).save(folder)
    opened = median_ms([lambda: (Lexical.load(folder), Dense.load(folder))] * 20)
    lexical, dense = Lexical.load(folder), Dense.load(folder)
    vectors = [np.array(dense.matrix[i]) + 0.05 * rng.standard_normal(DIM) for i in range(100)]
    vectors = [(v / np.linalg.norm(v)).astype(np.float32) for v in vectors]
    corpus = Corpus(lexical, dense, rng.uniform(0, 1e7, rows), rng.uniform(0, 2, rows))

    def ranked(text: str, vector: NDArray[np.float32]) -> Callable[[], object]:
        return lambda: rank(Asked(text, vector, MiniLM.gauge), corpus, now=1e7, k=10)

    asks = [ranked(q, v) for q, v in zip(queries, vectors, strict=True)]
    median_ms(asks)
    return {
        "lexical build and save, s": built,
        "open both arms": opened,
        "lexical query": median_ms([lambda q=q: lexical.scores(q) for q in queries]),
        "dense query, top 200": median_ms([lambda v=v: dense.nearest(v, 200) for v in vectors]),
        "recall of the exact top 10 in the sifted": kept(dense, vectors),
        "rank, both arms": median_ms(asks),
    }


def kept(dense: Dense, vectors: list[NDArray[np.float32]]) -> float:
    shares = []
    for vector in vectors[:30]:
        exact = set(np.argsort(-(dense.matrix @ vector))[:10].tolist())
        shares.append(len(exact & set(dense.nearest(vector, 200).rows.tolist())) / 10)
    return float(np.mean(shares))


def encoding(seals: Path) -> dict[str, float]:
    model = shipped(seals)
    if not isinstance(model, Model):
        return {}
    ready = spent(lambda: Encoder(model.folder).encode("ready?"))
    encoder = Encoder(model.folder)
    encoder.encode("warm")

    def asks(words: int) -> list[Callable[[], object]]:
        return [lambda: encoder.encode("how do we deploy this " * (words // 5))] * 15

    texts = [
        f"text {i} says something about item {i % 97} in forty words or so" for i in range(10**4)
    ]
    return {
        "encoder ready, s": ready,
        "encode 10 words": median_ms(asks(10)),
        "encode 50 words": median_ms(asks(50)),
        "encode 250 words": median_ms(asks(250)),
        "hash 10,000 texts, s": spent(lambda: Hashed().documents(texts, lambda _: None)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="print JSON as the last line")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = searching(given.rows, Path(folder)) | encoding(Path(folder) / "weights.json")
    for name, value in report.items():
        print(f"{name:42} {value:9.3f}")
    if given.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
