"""How fast transcripts are read: against a bare JSON parse of the same bytes, and per append.

    python tests/benchmarks/transcripts.py [--data DIR] [--rounds N] [--json]

The ratio is the time of `orjson.loads` over every line divided by ours, file by file, the best of
the rounds of each; the aim is 0.4 and above. An append is measured on a transcript of 50 MB.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tasks.evidence.claude_code import read_session
from tasks.evidence.reading import Resume, SessionRead
from tasks.evidence.roots import find_transcripts
from tests.evidence.writing import Transcript

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def bare(path: Path) -> None:
    """Parse every line and keep nothing."""
    with path.open("rb") as stream:
        for line in stream:
            try:
                orjson.loads(line)
            except orjson.JSONDecodeError:
                continue


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of one run."""
    began = time.process_time()
    run()
    return time.process_time() - began


def ratio(files: tuple[Path, ...], rounds: int) -> dict[str, float]:
    """Return the seconds of both over all files, and their ratio."""
    parse = ours = 0.0
    for file in files:
        parse += min(seconds(lambda file=file: bare(file)) for _ in range(rounds))
        ours += min(seconds(lambda file=file: read_session(file)) for _ in range(rounds))
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    return {"megabytes": megabytes, "parse_s": parse, "ours_s": ours, "ratio": parse / ours}


def appending(folder: Path) -> dict[str, float]:
    """Return the seconds of a whole reading of 50 MB and of one reading after an append."""
    transcript = Transcript(folder / "s1.jsonl")
    while transcript.made < 50_000:
        transcript.user(f"prompt {transcript.made}")
        transcript.calls(f"c{transcript.made}", command="make all")
        transcript.result(f"c{transcript.made - 1}", "x" * 3000)
        transcript.says("Done.")
    path = transcript.write()
    whole = seconds(lambda: read_session(path))
    before = read_session(path)
    assert isinstance(before, SessionRead)
    assert before.mark is not None
    resume = Resume(before.mark, before.session.turns)
    transcript.user("next")
    transcript.write()
    append = min(seconds(lambda: read_session(path, resume=resume)) for _ in range(3))
    return {"megabytes": path.stat().st_size / 1e6, "whole_s": whole, "append_s": append}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=SHARED)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    files = find_transcripts(given.data / "transcripts" / "claude").transcripts
    with tempfile.TemporaryDirectory() as folder:
        found = {"reading": ratio(files, given.rounds), "append": appending(Path(folder))}
    for name, row in found.items():
        print(name, "  ".join(f"{key} {value:.4f}" for key, value in row.items()))
    if given.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
