"""Time each sleep pass on synthetic clustered vectors, with its peak memory and how it grows.

Run: `python tests/benchmarks/passes.py [--sizes 1000,10000,100000] [--json]`. Each size runs in a
process of its own, so that peaks do not mix; the first night meets everything at once, the second
night the same store with a twentieth more.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tasks.domain.frames import EPISODES  # noqa: E402
from tasks.domain.ids import digest_of  # noqa: E402  the root is put on the path first
from tasks.domain.scope import Scope  # noqa: E402
from tasks.sleep.decay import decay  # noqa: E402
from tasks.sleep.lessons import lessons  # noqa: E402
from tasks.sleep.material import Cuts, Material, PassResult, Vectors  # noqa: E402
from tasks.sleep.merge import merge  # noqa: E402
from tasks.sleep.predict import predict  # noqa: E402
from tasks.sleep.verify import verify  # noqa: E402
from tests.sleep.build import applied  # noqa: E402

DIM = 384
CUTS = Cuts(0.62, 0.62)
START = datetime(2026, 1, 1, tzinfo=UTC)
NIGHT = datetime(2026, 6, 1, tzinfo=UTC)
KINDS = ("session", "error", "correction", "surprise", "environment")
SHARES = (0.15, 0.35, 0.25, 0.2, 0.05)
VERBS = ("format", "check", "rename", "wrap", "split", "cache", "log", "mock", "pin", "sort")
NOUNS = ("imports", "schema", "handlers", "routes", "fixtures", "queries", "workers", "styles")
PLACES = ("api", "billing", "search", "admin", "mobile", "infra", "docs", "reports", "auth")
PASSES: dict[str, Callable[..., PassResult]] = {
    "decay": decay,
    "lessons": lessons,
    "merge": merge,
    "verify": verify,
    "predict": predict,
}


def material(count: int, *, seed: int = 0) -> Material:
    """Return `count` episodes: half of them noise, half around themes of eight, mean cosine 0.7."""
    draw = np.random.default_rng(seed)
    themes = max(count // 16, 1)
    theme = draw.integers(0, 2 * themes, count)
    vectors = _vectors(draw, theme, themes)
    kind = draw.choice(KINDS, count, p=SHARES)
    ids = [digest_of("bench", seed, n) for n in range(count)]
    rows = [_row(draw, ids[n], str(kind[n]), int(theme[n]), count) for n in range(count)]
    frame = pl.DataFrame(rows, schema=EPISODES).sort("at", "id")
    scope = Scope("me", "user", "default", "bench-00000000")
    index = Vectors({unit: n for n, unit in enumerate(ids)}, vectors)
    return Material(scope, frame, index, (), (), (), {})


def _vectors(draw: np.random.Generator, theme: np.ndarray, themes: int) -> np.ndarray:
    centres = _unit(draw.standard_normal((themes, DIM), dtype=np.float32))
    off = _unit(draw.standard_normal((len(theme), DIM), dtype=np.float32))
    themed = theme < themes
    off[themed] = centres[theme[themed]] + 0.65 * off[themed]
    return _unit(off)


def _unit(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def _row(
    draw: np.random.Generator, unit: str, kind: str, theme: int, count: int
) -> dict[str, object]:
    verb, noun = VERBS[theme % len(VERBS)], NOUNS[theme // 3 % len(NOUNS)]
    place = PLACES[theme // 7 % len(PLACES)]
    start = ("Always", "Please", "No, ", "From now on", "Never")[int(draw.choice(5, p=_STARTS))]
    words = f"{start} {verb} the {noun} of part {theme} in the {place} package."
    when = START + timedelta(minutes=int(draw.integers(0, 200_000)))
    lasting = kind == "correction" and bool(draw.random() < 0.35)
    return {
        "id": unit,
        "agent": "claude-code",
        "session_id": f"s{int(draw.integers(0, max(count // 30, 2)))}",
        "kind": kind,
        "anchor": unit[:12],
        "title": words[:80],
        "gist": words,
        "words": words,
        "rule": words if lasting else "",
        "at": when,
        "recorded_at": NIGHT,
        "grounding": "tool" if kind == "error" else "person",
        "lasting": lasting,
        "standing": False,
        "tool": "Bash" if kind == "error" else "",
        "error_class": "other" if theme % 2 else ("timeout", "lint", "syntax")[theme % 3],
        "command": PLACES[theme % len(PLACES)],
        "topic": ["Bash", noun],
        "strength": 1.0,
        "as_of": NIGHT,
        "recalls": 0,
        "archived_at": None,
    }


_STARTS = (0.4, 0.25, 0.1, 0.15, 0.1)


def night(given: Material, at: datetime) -> tuple[Material, dict[str, dict[str, object]]]:
    """Run the passes in their order and return the material they leave, and what each took."""
    took: dict[str, dict[str, object]] = {}
    for name, run in PASSES.items():
        start, busy = time.perf_counter(), time.process_time()
        result = run(given, at=at, cuts=CUTS)
        took[name] = {
            "seconds": time.perf_counter() - start,
            "cpu": time.process_time() - busy,
            "counts": result.report.counts,
        }
        given = applied(given, result.proposals)
    return given, took


def measured(count: int) -> dict[str, object]:
    """Return what both nights took at one size, with the peak memory of the process in MB."""
    first = material(count)
    before = _peak()
    after, one = night(first, NIGHT)
    more = material(count // 20, seed=1)
    grown = replace(
        after,
        episodes=pl.concat([after.episodes, more.episodes]).sort("at", "id"),
        vectors=_together(after.vectors, more.vectors),
    )
    _, two = night(grown, NIGHT + timedelta(days=1))
    return {"size": count, "material_mb": before, "peak_mb": _peak(), "first": one, "second": two}


def _together(one: Vectors, two: Vectors) -> Vectors:
    rows = dict(one.rows) | {unit: row + len(one.matrix) for unit, row in two.rows.items()}
    return Vectors(rows, np.concatenate([one.matrix, two.matrix]))


def _peak() -> int:
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale // 2**20


def main() -> None:
    """Measure each size in a process of its own and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.one)))
        return
    found = [_apart(int(size)) for size in given.sizes.split(",")]
    print(json.dumps(found) if given.json else _table(found))


def _apart(size: int) -> dict[str, dict[str, dict[str, float]]]:
    command = [sys.executable, __file__, "--one", str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, dict[str, float]]] = json.loads(done.stdout)
    return found


def _table(found: list[dict[str, dict[str, dict[str, float]]]]) -> str:
    lines = [f"{'':<24}" + "".join(f"{each['size']:>10}" for each in found) + "  exponent"]
    for which in ("first", "second"):
        for unit in ("seconds", "cpu"):
            for name in (*PASSES, "all") if unit == "seconds" else ("all",):
                times = [_took(each[which], name, unit) for each in found]
                row = "".join(f"{took:>10.2f}" for took in times)
                lines.append(f"{f'{which} {name} {unit}':<24}{row}{_exponent(found, times)}")
    lines += [
        f"{name:<24}" + "".join(f"{each[name]:>10}" for each in found)
        for name in ("material_mb", "peak_mb")
    ]
    lines += [
        f"{name}, largest: {found[-1]['first'][name]['counts']}" for name in ("lessons", "merge")
    ]
    return "\n".join(lines)


def _took(night_: dict[str, dict[str, float]], name: str, unit: str) -> float:
    if name == "all":
        return sum(each[unit] for each in night_.values())
    return night_[name][unit]


def _exponent(found: list[dict[str, dict[str, dict[str, float]]]], times: list[float]) -> str:
    """Return the growth between the last two sizes, as the power of n."""
    if len(found) < 2 or min(times[-2:]) < 0.05:
        return f"{'-':>10}"
    sizes = [float(str(each["size"])) for each in found[-2:]]
    return f"{math.log(times[-1] / times[-2]) / math.log(sizes[1] / sizes[0]):>10.2f}"


if __name__ == "__main__":
    main()
