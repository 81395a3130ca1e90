"""Watch `everest up` with its schedules set to every minute: memory, CPU, handles, processes.

Run: `python tests/benchmarks/idle.py [--minutes 30] [--every 5] [--embed hashed] [--plot FILE.svg]
[--json]`.

A person with the demo week, the shipped command, a real server. Every few seconds each process is
looked at: what memory it holds alone (private) and by its share (PSS), CPU time, open handles.
Between runs the sum should stay under 500 MB and 3 % of a core, and what stands all the time should
not grow: its drift is a straight line through the second half of the samples. Linux only.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from deployments.server import client  # noqa: E402  the root is put on the path first
from tests.deployments.running import Up, running_up  # noqa: E402
from tests.prefect_server import until  # noqa: E402

MIB = 2**20
SETTLES = 60.0
"""Seconds after the schedules were set before the first sample."""
STANDING = ("up", "server", "schedules", "proxy")
COLOURS = {
    "up": "#8a8d94",
    "server": "#3f72af",
    "schedules": "#c2552f",
    "proxy": "#4d8a57",
    "sum": "#2b2d31",
}
EVERY_MINUTE = ("nightly", "ingest")


@dataclass(frozen=True, slots=True)
class Process:
    """One process in one sample: its part, bytes, CPU seconds since its start, open handles."""

    pid: int
    part: str
    private: int
    pss: int
    cpu: float
    handles: int


@dataclass(frozen=True, slots=True)
class Sample:
    """All processes of `everest up` at one time, in seconds since the first sample."""

    at: float
    processes: tuple[Process, ...]

    @property
    def between_runs(self) -> bool:
        """Tell whether no run is at work."""
        return all(one.part in STANDING for one in self.processes)

    def of(self, part: str) -> list[Process]:
        """Return the processes of a part; of `sum` all that stand."""
        parts = STANDING if part == "sum" else (part,)
        return [one for one in self.processes if one.part in parts]


def watch(base: Path, minutes: float, every: float, embed: str | None) -> tuple[list[Sample], int]:
    """Return the samples of a window, and how many runs completed in it."""
    with running_up(base, EVEREST_EMBED=embed) as up:
        up.ready()
        up.person.works_a_week(datetime.now(UTC))
        until(lambda: set_times(up), lambda: up.told)
        time.sleep(SETTLES)
        before, samples = _completed(up), []
        begin = time.monotonic()
        with Progress(console=Console(stderr=True), transient=True) as shown:
            bar = shown.add_task("watching", total=minutes * 60)
            while (at := time.monotonic() - begin) < minutes * 60:
                samples.append(Sample(at, tuple(_family(up.process.pid))))
                shown.update(bar, completed=at)
                time.sleep(max(0.0, every - (time.monotonic() - begin - at)))
        return samples, _completed(up) - before


def set_times(up: Up) -> bool:
    """Have nights and ingests run every minute, whether due or not."""
    with client(up.ready().watched) as api:
        found = {one["name"]: one for one in api.post("/deployments/filter", json={}).json()}
        if not found.keys() >= set(EVERY_MINUTE):
            return False
        for name in EVERY_MINUTE:
            path = f"/deployments/{found[name]['id']}/schedules"
            for old in found[name]["schedules"]:
                api.delete(f"{path}/{old['id']}").raise_for_status()
            cron = {"cron": "* * * * *", "timezone": "UTC"}
            wanted = [{"active": True, "schedule": cron, "parameters": {}}]
            api.post(path, json=wanted).raise_for_status()
    return True


def _completed(up: Up) -> int:
    return sum(run["state"]["type"] == "COMPLETED" for run in up.ready().runs())


def _family(root: int) -> Iterator[Process]:
    """Yield the processes of `up` and of all that it started; one that ends meanwhile is missed."""
    for pid, part in _named(root, "up"):
        try:
            memory = _fields(Path(f"/proc/{pid}/smaps_rollup"))
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            handles = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        except (OSError, ValueError):
            continue
        ticks = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        private = sum(size for name, size in memory.items() if name.startswith("Private_"))
        yield Process(pid, part, private, memory.get("Pss", 0), ticks, handles)


def _named(pid: int, part: str) -> Iterator[tuple[int, str]]:
    yield pid, part
    for child in _children(pid):
        yield from _named(child, _part_of(child) if part == "up" else "run")


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []


def _part_of(pid: int) -> str:
    known = {
        "deployments.prefect_server": "server",
        "deployments.schedules": "schedules",
        "serving": "proxy",
    }
    return next((known[word] for word in _words(pid) if word in known), "run")


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


def _fields(path: Path) -> dict[str, int]:
    """Return the sizes that a file of the kernel's tells, in bytes."""
    lines = (line.split() for line in path.read_text().splitlines()[1:])
    return {words[0].rstrip(":"): 1024 * int(words[1]) for words in lines}


def idle_share(samples: Sequence[Sample], part: str) -> float:
    """Return the share of a core that a part took in the stretches in which no run was at work."""
    spent = seconds = 0.0
    for one, two in itertools.pairwise(samples):
        if one.between_runs and two.between_runs:
            known = {process.pid: process.cpu for process in one.of(part)}
            spent += sum(p.cpu - known.get(p.pid, p.cpu) for p in two.of(part))
            seconds += two.at - one.at
    return spent / seconds if seconds else float("nan")


def drift(samples: Sequence[Sample], part: str) -> float:
    """Return by how many bytes an hour a part grew over the second half."""
    late = [one for one in samples if one.of(part)][len(samples) // 2 :]
    if len(late) < 3:
        return float("nan")
    sizes = [float(_sum(one.of(part))) for one in late]
    return statistics.linear_regression([one.at for one in late], sizes).slope * 3600


def _sum(processes: Iterable[Process]) -> int:
    return sum(one.private for one in processes)


def table_of(samples: Sequence[Sample], runs: int) -> Table:
    """Return one row for each part that stands, one for all of them, one for runs."""
    told = f"{samples[-1].at / 60:.0f} minutes, {runs} runs completed"
    table = Table(title=f"everest up, schedules set to every minute: {told}")
    names = ("part", "private first", "median", "last", "most", "PSS last", "MB an hour")
    for name in (*names, "handles", "processes", "CPU between runs"):
        table.add_column(name, justify="left" if name == "part" else "right")
    for part in (*STANDING, "sum"):
        there = [one for one in samples if one.of(part)]
        sizes = [_sum(one.of(part)) for one in there]
        table.add_row(
            part,
            *(_mib(size) for size in (sizes[0], statistics.median(sizes), sizes[-1], max(sizes))),
            _mib(sum(process.pss for process in there[-1].of(part))),
            f"{drift(samples, part) / MIB:+.1f}",
            " to ".join(str(sum(p.handles for p in one.of(part))) for one in (there[0], there[-1])),
            " to ".join(str(len(one.of(part))) for one in (there[0], there[-1])),
            f"{idle_share(samples, part):.1%}",
            end_section=part in ("proxy", "sum"),
        )
    at_work = [one for one in samples if not one.between_runs]
    most = max((_sum(one.of("run")) for one in at_work), default=0)
    share = len(at_work) / len(samples)
    table.add_row("runs", "", "", "", _mib(most), "", "", "", "", f"{share:.0%} of the time")
    return table


def _mib(size: float) -> str:
    return f"{size / MIB:.0f} MB"


def plot_of(samples: Sequence[Sample]) -> str:
    """Return a picture of the private memory of each part over time, as SVG."""
    wide, tall, left, top = 760, 300, 48, 16
    most = max(_sum(one.of("sum")) for one in samples) * 1.1
    end = samples[-1].at or 1.0
    drawn = []
    for step in range(6):
        size = most * step / 5
        y = top + tall - tall * step / 5
        drawn.append(f'<line x1="{left}" x2="{left + wide}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        drawn.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{size / MIB:.0f}</text>')
    for number, (part, colour) in enumerate(COLOURS.items()):
        points = " ".join(
            f"{left + wide * one.at / end:.1f},{top + tall - tall * _sum(one.of(part)) / most:.1f}"
            for one in samples
            if one.of(part)
        )
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        x, y = left + 110 * number, top + tall + 36
        drawn.append(f'<text x="{x}" y="{y}" fill="{colour}">{part}</text>')
    said = f"MB private, {end / 60:.0f} minutes"
    drawn.append(f'<text x="{left}" y="{top + tall + 18}">{said}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide + 16}" height="{tall + 64}" '
        f'font-family="sans-serif" font-size="12">{"".join(drawn)}</svg>\n'
    )


def main() -> None:
    """Watch, print one table, draw one picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between samples")
    parser.add_argument("--embed", help="EVEREST_EMBED; else what the memory would choose")
    parser.add_argument("--plot", type=Path, default=Path("idle.svg"))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="everest-idle-") as folder:
        samples, runs = watch(Path(folder) / "up", given.minutes, given.every, given.embed)
    given.plot.write_text(plot_of(samples))
    if given.json:
        sys.stdout.buffer.write(orjson.dumps({"samples": samples, "runs": runs}) + b"\n")
    else:
        Console(width=150).print(table_of(samples, runs))


if __name__ == "__main__":
    main()
