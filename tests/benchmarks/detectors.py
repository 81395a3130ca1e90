"""Score the shipped parser and detectors on labelled messages, by label, with Wilson intervals.

The labels are split by file: the half whose SHA-256 of the file name begins with an even byte was
looked at while the tables were written. Of the other half no miss and no label was looked at, but
its scores were seen during the work, its cue counts once, and its lasting hits were read several
times, as the lessons of real nights, to judge how they read, after which rules changed. So what it
says of the precision of lasting rules is no longer blind; the rest is nearly so. About half of the
rows were picked because they looked like corrections, so precision here is not precision in the
field.

    python tests/benchmarks/detectors.py --labels TSV --data DIR [--json] [--show correction]
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tasks.domain.session import Session  # noqa: E402  the path above makes it importable
from tasks.evidence.claude_code import read_session  # noqa: E402
from tasks.evidence.detectors import (  # noqa: E402
    Answer,
    Exchange,
    Reading,
    answered,
    exchanges,
    offered,
    read,
)
from tasks.evidence.reading import SessionRead  # noqa: E402

Row = dict[str, str]


@dataclass(frozen=True)
class Judged:
    """A labelled row beside what the detectors say of it."""

    row: Row
    exchange: Exchange
    reading: Reading

    @property
    def seen(self) -> bool:
        """Tell whether the row's file is of the half that was looked at."""
        return hashlib.sha256(self.row["file"].encode()).digest()[0] % 2 == 0

    @property
    def waited(self) -> bool:
        return offered(self.exchange.before, self.exchange.turn) is not None

    @property
    def answer(self) -> Answer | None:
        before = self.exchange.before
        if before is None or not self.waited:
            return None
        return answered(self.reading, self.exchange.turn, before)


Test = tuple[Callable[[Judged], bool], Callable[[Judged], bool]]


def _answer(name: str) -> Test:
    return (
        lambda one: one.row["answer_kind"] == name,
        lambda one: one.answer is not None and one.answer.value == name,
    )


TESTS: dict[str, Test] = {
    "correction": (
        lambda one: one.row["label"] == "correction",
        lambda one: one.reading.correction,
    ),
    "lasting": (lambda one: one.row["lasting"] == "yes", lambda one: bool(one.reading.rule)),
    "lasting_correction": (
        lambda one: one.row["lasting"] == "yes" and one.row["label"] == "correction",
        lambda one: bool(one.reading.rule) and one.reading.correction,
    ),
    "standing": (
        lambda one: one.row["lasting"] == "yes" and one.row["label"] != "correction",
        lambda one: one.reading.standing,
    ),
    "refusal": (
        lambda one: one.row["label"] == "refusal",
        lambda one: one.answer is Answer.DECLINED,
    ),
    "offer": (lambda one: one.row["offer"] == "yes", lambda one: one.waited),
    **{f"answer_{kind.value}": _answer(kind.value) for kind in Answer},
}


def main() -> None:
    """Print the scores; with --json the last line holds those on all rows."""
    asked = _arguments()
    rows = list(_rows(asked.labels or asked.data / "labels" / "labels.tsv"))
    judged, missing = _judge(rows, asked.data)
    print(f"{len(rows)} labelled rows, {len(judged)} found, {len(missing)} not found")
    for row in missing:
        print(f"  not found: {row['file']}:{row['line']} {row['label']}")
    halves = {
        "all": judged,
        "seen": [one for one in judged if one.seen],
        "unseen": [one for one in judged if not one.seen],
    }
    for name, part in halves.items():
        print(f"\n{name} ({len(part)} rows)")
        names = f"{'tp':>4}{'fp':>4}{'fn':>4}  {'precision':<20}{'recall':<20}F1"
        print(f"  {'label':<20}{names}")
        for label, test in TESTS.items():
            print(_line(label, _counts(part, test)))
        right = sum(
            one.answer is not None and one.answer.value == one.row["answer_kind"] for one in part
        )
        offers = sum(one.row["offer"] == "yes" for one in part)
        print(f"  answer_kind: {right} of {offers} offers answered as labelled")
    if asked.show:
        _show(asked.show, halves["unseen"] if asked.unseen else halves["seen"])
    if asked.json:
        print(json.dumps({label: _scores(_counts(judged, test)) for label, test in TESTS.items()}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Score the detectors on labelled messages.")
    parser.add_argument("--labels", type=Path, help="default: labels/labels.tsv under --data")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    parser.add_argument("--show", choices=TESTS, help="print what is wrong for one label")
    parser.add_argument(
        "--unseen", action="store_true", help="show the unseen half: it is then seen"
    )
    return parser.parse_args()


def _rows(labels: Path) -> Iterator[Row]:
    with labels.open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)


def _judge(rows: Iterable[Row], data: Path) -> tuple[list[Judged], list[Row]]:
    """Return the rows found, judged, and those whose turn the parser does not hand over."""
    by_file: dict[str, list[Row]] = {}
    for row in rows:
        by_file.setdefault(row["file"], []).append(row)
    judged: list[Judged] = []
    missing: list[Row] = []
    for name, of_file in by_file.items():
        session = _session(data / name)
        known = {one.turn.uuid: one for one in exchanges(session)} if session else {}
        for row in of_file:
            exchange = known.get(row["uuid"])
            if exchange is None:
                missing.append(row)
            else:
                judged.append(Judged(row, exchange, read(exchange)))
    return judged, missing


def _session(path: Path) -> Session | None:
    found = read_session(path)
    return found.session if isinstance(found, SessionRead) else None


def _counts(part: Iterable[Judged], test: Test) -> tuple[int, int, int]:
    """Return true positives, false positives, false negatives."""
    is_so, said_so = test
    pairs = [(is_so(one), said_so(one)) for one in part]
    return (
        sum(truth and said for truth, said in pairs),
        sum(said and not truth for truth, said in pairs),
        sum(truth and not said for truth, said in pairs),
    )


def _scores(counts: tuple[int, int, int]) -> dict[str, float | list[float] | int]:
    tp, fp, fn = counts
    precision, recall = tp / (tp + fp) if tp + fp else 0.0, tp / (tp + fn) if tp + fn else 0.0
    both = precision + recall
    return {
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(2 * precision * recall / both, 4) if both else 0.0,
        "precision_interval": [round(bound, 4) for bound in wilson(tp, tp + fp)],
        "recall_interval": [round(bound, 4) for bound in wilson(tp, tp + fn)],
        "tp": tp,
        "fp": fp,
        "fn": fn,
    }


def wilson(hits: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % score interval of a share (Wilson 1927)."""
    if not of:
        return (0.0, 1.0)
    share = hits / of
    middle = share + z * z / (2 * of)
    spread = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return (max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale))


def _line(label: str, counts: tuple[int, int, int]) -> str:
    tp, fp, fn = counts
    scores = _scores(counts)
    shown = [
        f"{hits / of if of else 0:.2f} [{low:.2f}, {high:.2f}]"
        for hits, of, (low, high) in (
            (tp, tp + fp, wilson(tp, tp + fp)),
            (tp, tp + fn, wilson(tp, tp + fn)),
        )
    ]
    return f"  {label:<20}{tp:>4}{fp:>4}{fn:>4}  {shown[0]:<20}{shown[1]:<20}{scores['f1']:.2f}"


def _show(label: str, part: Iterable[Judged]) -> None:
    is_so, said_so = TESTS[label]
    for one in part:
        truth, said = is_so(one), said_so(one)
        if truth != said:
            kind = "missed" if truth else "wrong "
            words = " / ".join(one.reading.words.split("\n"))[:300]
            print(f"{kind} {one.reading.score:5.1f} {one.row['label']:<10} {words}")


if __name__ == "__main__":
    main()
