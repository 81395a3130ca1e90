"""Measure a hook from the start of its process to its end, beside a python that does nothing.

    python tests/benchmarks/hooks.py [--runs N] [--lessons N …] [--json]

Every arm runs in turn within each round, so only ratios within a run mean something, and on a busy
machine those of the CPU time. `bare` is `python -c pass` with whatever `.pth` files the environment
has, `plain` the same of the python that it was made from; `isolated` has `-I -S`, as the hook is
started. The hook runs by the command line that is wired, `sh` included, with the warm process and
with none; its CPU time leaves out the warm process's. Each prompt is of a new session and holds the
words of a lesson, so that one is found and written down.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run by its path, not as a module

from tests.hooks.homes import Hooked, hooked
from tests.serving.running import running_proxy
from tests.serving.shipped import Everest

Arm = Callable[[], None]
_WORDS = 6_000
_numbers = count()


@dataclass(frozen=True, slots=True)
class Figures:
    """Milliseconds of an arm, and how many times a bare and a plain python's its medians are."""

    name: str
    p50: float
    p95: float
    bare: float
    plain: float
    cpu: float
    cpu_bare: float
    cpu_plain: float


def main() -> None:
    """Run and print."""
    options = _options()
    rows: list[Figures] = []
    for lessons in options.lessons:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            rows += _measured(stack, folder, lessons, options.runs)
    if options.json:
        print(
            json.dumps([{name: getattr(row, name) for name in Figures.__slots__} for row in rows])
        )
        return
    print(f"{'':34} {'p50 ms':>8} {'p95 ms':>8} {'x bare':>8} {'x plain':>8}", end="")
    print(f" {'cpu ms':>8} {'x bare':>8} {'x plain':>8}")
    for row in rows:
        print(
            f"{row.name:34} {row.p50:8.1f} {row.p95:8.1f} {row.bare:8.2f} {row.plain:8.2f}", end=""
        )
        print(f" {row.cpu:8.1f} {row.cpu_bare:8.2f} {row.cpu_plain:8.2f}")


def _measured(stack: ExitStack, folder: Path, lessons: int, runs: int) -> Iterator[Figures]:
    texts = list(_texts(lessons))
    alone = hooked(folder / "alone", texts)
    warm = hooked(folder / "warm", texts)
    person = Everest(folder / "person")
    person.home = warm.place
    stack.enter_context(running_proxy(person))
    arms: dict[str, Arm] = {
        "bare python -c pass": lambda: _run([sys.executable, "-c", "pass"]),
        "plain python -c pass": lambda: _run([_base(), "-c", "pass"]),
        "isolated python -I -S -c pass": lambda: _run([sys.executable, "-I", "-S", "-c", "pass"]),
        f"hook, warm, {lessons} lessons": lambda: _prompt(warm, texts),
        f"hook, alone, {lessons} lessons": lambda: _prompt(alone, texts),
    }
    _until_told(warm, texts)
    times = _times(arms, runs)
    middle = {
        name: [statistics.median(each) for each in zip(*took, strict=True)]
        for name, took in times.items()
    }
    bare, plain, *_ = middle.values()
    for name, (wall, cpu) in middle.items():
        p95 = statistics.quantiles([one for one, _ in times[name]], n=20)[-1]
        walls = wall / bare[0], wall / plain[0]
        yield Figures(name, wall, p95, *walls, cpu, cpu / bare[1], cpu / plain[1])
    for one in (alone, warm):
        if one.failures():
            print(f"{len(one.failures())} hooks failed: {one.failures()[-1]}", file=sys.stderr)


def _times(arms: dict[str, Arm], runs: int) -> dict[str, list[tuple[float, float]]]:
    """Return the wall and the CPU time of each run of each arm."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
    for _ in range(runs):
        for name, arm in arms.items():
            begun, spent = time.perf_counter(), _spent()
            arm()
            wall, cpu = time.perf_counter() - begun, _spent() - spent
            times[name].append((wall * 1_000, cpu * 1_000))
    return times


def _spent() -> float:
    """Return the CPU time of the processes that ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _until_told(warm: Hooked, texts: list[str]) -> None:
    """Wait until the warm process has opened what was published."""
    end = time.monotonic() + 60
    while time.monotonic() < end and not warm.prompted(texts[0], session_id=_session()).out:
        time.sleep(0.2)


def _prompt(one: Hooked, texts: list[str]) -> None:
    words = texts[next(_numbers) % len(texts)]
    prompt = f"In this folder we were about to do what was asked for: {words} Then go on with it."
    one.prompted(prompt, session_id=_session())


def _session() -> str:
    return f"session-{next(_numbers)}"


def _base() -> str:
    return str(Path(sys.executable).resolve())


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _texts(number: int) -> Iterator[str]:
    """Yield rules of a dozen words; a few words stand in many of them, as in any language."""
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(4, 9))) for _ in range(_WORDS)]
    weights = [1 / (rank + 10) for rank in range(_WORDS)]
    for _ in range(number):
        yield f"Always {' '.join(chance.choices(words, weights, k=12))}."


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--lessons", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
