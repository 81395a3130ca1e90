"""Measure recall on LoCoMo at turn level, and silence: what is found, and what is rightly not.

    python tests/benchmarks/recall.py [--data DIR] [--json]

Per conversation, over questions of categories 1 to 4 with evidence that resolves: the share of
evidence turns in the top 10 and how often all are there. Silence is measured on the same
questions asked of their own conversation (false silence) and of the four others with the speakers'
names taken out (right silence, which counts some that the other conversation could answer), and on
category 5, questions about the right people that have no answer.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tasks.embedding.choose import choose
from tasks.embedding.dense import Dense, build_dense
from tasks.embedding.hashed import Hashed
from tasks.embedding.index import Lexical, build_lexical, windows
from tasks.embedding.space import WORDS, Space
from tasks.ranking import Asked, Corpus, fused, rank

TOP = 10
ADVERSARIAL = 5
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    nameless: str
    evidence: frozenset[int]
    answerable: bool


@dataclass(frozen=True, slots=True)
class Conversation:
    turns: list[str]
    groups: list[int]
    questions: list[Question]


@dataclass(frozen=True, slots=True)
class Built:
    """One conversation, indexed; vectors of its questions with and without names."""

    of: Conversation
    turns: Lexical
    windows: Lexical
    dense: Dense
    asked: NDArray[np.float32]
    nameless: NDArray[np.float32]


def conversations(path: Path) -> list[Conversation]:
    return [conversation(one) for one in json.loads(path.read_text())]


def conversation(one: dict) -> Conversation:
    said = one["conversation"]
    numbers = sorted(int(m[1]) for key in said if (m := re.fullmatch(r"session_(\d+)", key)))
    turns = [(turn, number) for number in numbers for turn in said[f"session_{number}"]]
    rows = {turn["dia_id"]: row for row, (turn, _) in enumerate(turns)}
    names = re.compile(rf"\b({said['speaker_a']}|{said['speaker_b']})\b", re.IGNORECASE)
    return Conversation(
        [worded(turn) for turn, _ in turns],
        [number for _, number in turns],
        [question(qa, rows, names) for qa in one["qa"]],
    )


def worded(turn: dict) -> str:
    caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{caption}"


def question(qa: dict, rows: dict[str, int], names: re.Pattern[str]) -> Question:
    evidence = frozenset(rows[ref] for ref in qa["evidence"] if ref in rows)
    text = qa["question"]
    answerable = qa["category"] != ADVERSARIAL and bool(evidence)
    return Question(text, names.sub("they", text), evidence, answerable)


def build(of: Conversation, space: Space) -> Built:
    def quietly(_: int) -> None: ...

    return Built(
        of=of,
        turns=build_lexical(of.turns),
        windows=build_lexical(windows(of.turns, of.groups)),
        dense=build_dense(space.documents(of.turns, quietly)),
        asked=np.stack([space.query(q.text) for q in of.questions]),
        nameless=np.stack([space.query(q.nameless) for q in of.questions]),
    )


Scorer = Callable[[Built, int], NDArray[np.float64]]


def cosines(built: Built, at: int) -> NDArray[np.float64]:
    return (built.dense.matrix @ built.asked[at]).astype(np.float64)


def shares(lexical: Lexical, text: str) -> NDArray[np.float64]:
    found = lexical.scores(text)
    spread = np.zeros(lexical.count)
    spread[found.rows] = found.scores
    return spread


def arms(space: Space) -> dict[str, Scorer]:
    def on_turns(built: Built, at: int) -> NDArray[np.float64]:
        return shares(built.turns, built.of.questions[at].text)

    def on_windows(built: Built, at: int) -> NDArray[np.float64]:
        return shares(built.windows, built.of.questions[at].text)

    def both(built: Built, at: int) -> NDArray[np.float64]:
        return fused(space.gauge, cosines(built, at), on_windows(built, at))

    return {
        "dense alone": cosines,
        "BM25 over turns": on_turns,
        "BM25 over windows": on_windows,
        "fused": both,
    }


def top_of(scores: NDArray[np.float64]) -> set[int]:
    return set(np.argsort(-scores, kind="stable")[:TOP].tolist())


def recall_of(found: Callable[[Built, int], set[int]], built: list[Built]) -> dict[str, float]:
    marks = [
        len(q.evidence & found(one, at)) / len(q.evidence)
        for one in built
        for at, q in enumerate(one.of.questions)
        if q.answerable
    ]
    return {
        "recall": float(np.mean(marks)),
        "all": float(np.mean([mark == 1 for mark in marks])),
        "questions": len(marks),
    }


def answered(built: Built, asked: Asked) -> set[int]:
    """Return what recall returns as shipped, all turns being of one age and strength."""
    ones = np.ones(built.windows.count)
    dense = None if asked.vector is None else built.dense
    corpus = Corpus(built.windows, dense, at=ones, strength=ones)
    return {hit.row for hit in rank(asked, corpus, now=1.0, k=TOP)}


def shipped(space: Space, built: list[Built], *, vectors: bool) -> dict[str, float]:
    def ask(one: Built, q: Question, vector: NDArray[np.float32], text: str) -> set[int]:
        gauge = space.gauge if vectors else WORDS
        return answered(one, Asked(text, vector if vectors else None, gauge))

    def own(one: Built, at: int) -> set[int]:
        q = one.of.questions[at]
        return ask(one, q, one.asked[at], q.text)

    def foreign() -> Iterator[bool]:
        for one in built:
            for at, q in enumerate(one.of.questions):
                for other in built:
                    if other is not one and q.answerable:
                        yield not ask(other, q, one.nameless[at], q.nameless)

    mine = [(one, at, q) for one in built for at, q in enumerate(one.of.questions)]
    return recall_of(own, built) | {
        "rows": float(np.mean([len(own(one, at)) for one, at, q in mine if q.answerable])),
        "false_silence": float(np.mean([not own(one, at) for one, at, q in mine if q.answerable])),
        "right_silence": float(np.mean(list(foreign()))),
        "adversarial_silence": float(
            np.mean([not own(one, at) for one, at, q in mine if not q.answerable])
        ),
    }


def measure(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    parsed = conversations(path)
    model = choose("sentence-transformers", None, Path(tempfile.mkdtemp()) / "model.json").space
    report: dict[str, dict[str, dict[str, float]]] = {}
    for space in (model, Hashed()):
        built = [build(one, space) for one in parsed]
        scored = arms(space)
        report[space.name] = {
            name: recall_of(lambda one, at, by=by: top_of(by(one, at)), built)
            for name, by in scored.items()
        }
        report[space.name]["as shipped"] = shipped(space, built, vectors=True)
        report[space.name]["as shipped, words alone"] = shipped(space, built, vectors=False)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", action="store_true", help="print JSON as the last line")
    given = parser.parse_args()
    path = given.data / "locomo" / "locomo-dev.json"
    if not path.exists():
        parser.exit(0, f"nothing measured: {path} is not there\n")
    report = measure(path)
    for space, rows in report.items():
        print(space)
        for name, figures in rows.items():
            shown = "  ".join(f"{key} {value:.3f}" for key, value in figures.items())
            print(f"  {name:24} {shown}")
    if given.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
