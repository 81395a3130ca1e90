"""Measure the gate of prime on labelled moments: what is shown in vain, and what is kept back.

    python tests/benchmarks/prime.py [--data DIR] [--json]

False alarms: the share of moments on which nothing bears at which a lesson is shown all the same.
False silences: the share of lessons that bear on a moment which are not shown. Both on the half of
the projects that the weights were chosen on, on the other, and on two projects whose moments are
harder and were labelled later, before anything was changed; per space and moment. With `--data`
also on moments of real transcripts (`tests/prime_real.py`): few lessons bear there. `strangers` is
the share of moments at which a lesson of another project of the half would be shown, were they one
(a little of it is right: some habits are of no one project). Then what a moment costs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run by its path, not as a module

from tasks.embedding.choose import choose
from tasks.embedding.space import WORDS, Space
from tasks.prime import Lessons, Moment, profile_of
from tasks.ranking import Asked
from tests.prime_cases import Project, errors, projects
from tests.prime_real import real_projects

MANY = 1_000
HALVES = ("fit", "measure", "fresh", "real fit", "real measure")


def figures(known: list[Project], spaces: dict[str, Space | None]) -> list[dict[str, object]]:
    """Return a row a space, moment and half of the projects."""
    rows = []
    for half in HALVES:
        found = [one for one in known if one.half == half]
        for name, space in spaces.items():
            for moment in Moment if space is None else [Moment.PROMPT]:
                own = errors(found, moment, space)
                if not own.quiet:
                    continue
                strangers = errors(found, moment, space, strange=True)
                told = {"half": half, "space": name, "moment": moment.value}
                rows.append({**told, **asdict(own), "strangers": strangers.false_alarms})
    return rows


def cost(found: list[Project]) -> dict[str, float]:
    """Return milliseconds a moment among many lessons, by words alone, at the median."""
    known = [row for one in found for row in one.rows]
    rows = tuple(replace_words(known[at % len(known)], at // len(known)) for at in range(MANY))
    empty = np.zeros((MANY, 0), dtype=np.float32)
    lessons = Lessons(rows, tuple(profile_of(row, {}) for row in rows), empty)
    spent: dict[str, list[float]] = {}
    for one in found:
        for case in one.cases:
            asked = Asked(case.words, None, WORDS)
            lessons.candidates(asked, case.moment)
            start = time.perf_counter()
            lessons.candidates(asked, case.moment)
            spent.setdefault(case.moment.value, []).append(time.perf_counter() - start)
    return {moment: float(np.median(times)) * 1000 for moment, times in spent.items()}


def replace_words(row: dict[str, object], copy: int) -> dict[str, object]:
    """Return a lesson of the same make about something else: of 98 texts a thousand are made."""
    words = str(row["text"]).split()
    return {
        **row,
        "text": " ".join(
            w + "qxz"[: copy % 4] + str(copy) * (n % 3 > 0) for n, w in enumerate(words)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON as the last line")
    parser.add_argument("--data", type=Path, help="a folder of labelled transcripts")
    given = parser.parse_args()
    model = choose("sentence-transformers", None, Path(tempfile.mkdtemp()) / "model.json").space
    known = [*projects(), *(real_projects(given.data) if given.data else [])]
    rows = figures(known, {"words alone": None, model.name: model})
    for row in rows:
        print(
            f"{row['half']:12} {row['moment']:12} {row['space']!s:34.34} "
            f"false alarms {row['alarms']:2}/{row['quiet']:<3} "
            f"false silences {row['silences']:2}/{row['bearing']:<3} "
            f"strangers {row['strangers']:.3f}"
        )
    spent = cost(projects())
    for moment, took in spent.items():
        print(f"{moment}: {took:.2f} ms among {MANY} lessons, by words")
    if given.json:
        print(json.dumps({"rows": rows, "milliseconds": spent}))


if __name__ == "__main__":
    main()
