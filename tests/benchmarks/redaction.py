"""What redaction takes out of real transcripts: counts by kind, and finds to be read.

    python tests/benchmarks/redaction.py [--data ../shared/data] [--show 50]

Over every string of every record. `--show` prints finds with what stands around them, to be read
for false alarms. How fast it is stands in `ingest.py`.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tasks.domain.redaction import redact  # noqa: E402  the repository is no installed package

MARK = re.compile(r"\[redacted:([a-z-]+)\]")


def main() -> None:
    """Redact every string, and print what was taken out."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options.add_argument("--show", type=int, default=0)
    given = options.parse_args()
    _report(set(_every_string(given.data)), given.show)


def _every_string(data: Path) -> Iterator[str]:
    for file in sorted(data.glob("transcripts/**/*.jsonl")):
        for line in file.read_bytes().split(b"\n"):
            try:
                yield from _strings(orjson.loads(line))
            except orjson.JSONDecodeError:
                continue


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)


def _report(texts: set[str], show: int) -> None:
    counts: Counter[str] = Counter()
    finds: list[str] = []
    for text in texts:
        clean = redact(text)
        if clean != text:
            counts.update(MARK.findall(clean))
            counts.subtract(MARK.findall(text))
            finds += [clean[max(m.start() - 70, 0) : m.end() + 20] for m in MARK.finditer(clean)]
    print("taken out, over the distinct strings:", dict(counts.most_common()))
    for find in random.Random(1).sample(finds, min(show, len(finds))):
        print(repr(find))


if __name__ == "__main__":
    main()
