"""How fast redaction is beside a JSON parse of the same transcripts, and what it takes out of them.

    python tests/benchmarks/redaction.py [--data ../shared/data] [--show 50]

Texts are what appenders keep: what the person and the agent said, and the errors, at most 2 KB of
each. `--show` prints finds with what stands around them, to be read for false alarms.
"""

from __future__ import annotations

import argparse
import gc
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tasks.domain.redaction import redact  # noqa: E402  the repository is no installed package

MARK = re.compile(r"\[redacted:([a-z-]+)\]")
RESULT_KEPT = 2048


def main() -> None:
    """Measure, and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options.add_argument("--show", type=int, default=0)
    given = options.parse_args()
    lines = [
        line
        for file in sorted(given.data.glob("transcripts/**/*.jsonl"))
        for line in file.read_bytes().split(b"\n")
        if line.startswith(b"{")
    ]
    records = [record for line in lines if (record := _parsed(line)) is not None]
    every = [text for record in records for text in _strings(record)]
    kept = [text for record in records for text in _kept(record)]
    gc.collect()
    gc.freeze()
    parse = _best(lambda: [_parsed(line) for line in lines])
    size = sum(map(len, lines))
    print(f"parse        {size / 1e6:8.1f} MB {size / parse / 1e6:8.1f} MB/s")
    for name, texts in (("kept texts", kept), ("all strings", every)):
        spent = _best(lambda texts=texts: [redact(text) for text in texts])
        length = sum(map(len, texts))
        print(
            f"{name:12} {length / 1e6:8.1f} MB {length / spent / 1e6:8.1f} MB/s"
            f"   {spent / parse:.2f} of the parse of everything"
        )
    _report(every, given.show)


def _parsed(line: bytes) -> object | None:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def _best(work: Callable[[], object]) -> float:
    """Return the shortest of three times, in seconds: the others had company on the machine."""

    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(3))


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


def _kept(record: object) -> Iterator[str]:
    """Yield the texts of a Claude Code record that evidence keeps."""
    match record:
        case {"type": "user" | "assistant", "message": {"content": str(text)}}:
            yield text
        case {"type": "user" | "assistant", "message": {"content": list(blocks)}}:
            for block in blocks:
                match block:
                    case {"type": "text", "text": str(text)}:
                        yield text
                    case {"type": "tool_use", "input": {"command": str(command)}}:
                        yield command.partition("\n")[0]
                    case {"type": "tool_result", "is_error": True, "content": str(text)}:
                        yield text[:RESULT_KEPT]


def _report(texts: list[str], show: int) -> None:
    counts: Counter[str] = Counter()
    finds: list[str] = []
    for text in set(texts):
        clean = redact(text)
        if clean != text:
            counts.update(MARK.findall(clean))
            counts.subtract(MARK.findall(text))
            finds += [clean[max(m.start() - 70, 0) : m.end() + 20] for m in MARK.finditer(clean)]
    print("\ntaken out, over the distinct strings:", dict(counts.most_common()))
    for find in random.Random(1).sample(finds, min(show, len(finds))):
        print(repr(find))


if __name__ == "__main__":
    main()
