"""Say what a memory takes: bytes on the disk and where they lie, and what `everest up` uses idle.

Run: `python tests/benchmarks/footprint.py [--transcripts DIR] [--embed hashed] [--window 60]
[--json]`.

A person's first night and a second one with nothing new, in a temporary folder, by the shipped
command with the embedding that it would choose; the demo week unless a folder is named. Then all
that `everest up` runs is watched over a window: the private memory of each process, and its share
of one core. Only Linux tells these; elsewhere, or with `--window 0`, that part is left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tasks.settings import Places  # noqa: E402  the root is put on the path first
from tasks.store.view import View, current  # noqa: E402
from tests.deployments.running import running_up  # noqa: E402
from tests.serving.shipped import COMMAND, Everest  # noqa: E402

SETTLES = 30.0
"""Seconds after `up` says that it runs before the window opens."""
PARTS = ("store", "ledger", "view", "evidence", "journal", "memory", "prefect")
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes by place after the first night, and how many more after a quiet one."""

    places: dict[str, int]
    view: dict[str, int]
    ledger: dict[str, int]
    units: dict[str, int]
    quiet: dict[str, int]
    read: int


@dataclass(frozen=True, slots=True)
class Idle:
    """One process of `everest up`: its private memory and its share of one core over the window."""

    name: str
    private: int
    share: float


def disk(base: Path, transcripts: Path | None, embed: str | None) -> Disk:
    """Sleep two nights and return what they left."""
    person = Everest(base)
    if transcripts is None:
        person.works_a_week(datetime.now(UTC))
    else:
        shutil.copytree(transcripts, person.claude / "projects")
    read = sum(_bytes(path) for path in person.claude.rglob("*.jsonl"))
    places = Places(person.home)
    _night(person, embed)
    first = _by_place(places)
    view = current(places.view)
    assert view is not None
    found = Disk(first, _in_view(places), _in_ledger(places), dict(_units(view)), {}, read)
    _night(person, embed)
    after = _by_place(places)
    quiet = {name: after[name] - first[name] for name in after}
    return Disk(found.places, found.view, found.ledger, found.units, quiet, read)


def _night(person: Everest, embed: str | None) -> None:
    """Run a night however long it takes: the first one embeds everything."""
    env = person.env(EVEREST_EMBED=embed)
    subprocess.run(
        [str(COMMAND), "night", "--json"], env=env, check=True, stdout=subprocess.DEVNULL
    )


def _by_place(places: Places) -> dict[str, int]:
    found = {name: _bytes(getattr(places, name)) for name in PARTS}
    return {**found, "else": _bytes(places.home) - sum(found.values())}


def _bytes(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


def _in_view(places: Places) -> dict[str, int]:
    """Return the view's bytes by what they are: vectors, words, rows, numbers, catalog."""
    found: Counter[str] = Counter()
    for path in places.view.rglob("*"):
        if path.is_file():
            inside = path.relative_to(places.view).parts
            part = inside[2] if len(inside) > 3 else inside[0].partition("-")[0]
            found[_KINDS.get(path.name, part)] += path.stat().st_size
    return dict(found.most_common())


_KINDS = {"rows.jsonl": "rows", "rows-starts.npy": "numbers"} | dict.fromkeys(
    ("at.npy", "strength.npy", "as-of.npy", "tombstones.json", "current"), "numbers"
)


def _in_ledger(places: Places) -> dict[str, int]:
    """Return the ledger's bytes by op, with what stands around the ops."""
    found: Counter[str] = Counter()
    for segment in places.ledger.glob("*.jsonl"):
        for line in segment.read_bytes().splitlines():
            record = orjson.loads(line)
            for op in record["ops"]:
                found[op["op"]] += len(orjson.dumps(op))
            found["audit"] += len(orjson.dumps(record["audit"]))
            found["reading states"] += len(orjson.dumps(record["ingest"]))
    return dict(found.most_common())


def _units(view: View) -> Counter[str]:
    opened = (view.scope(entry.scope) for entry in view.manifest.scopes)
    return Counter(row["unit"] for scope in opened if scope for row in scope.rows)


def idle(base: Path, window: float) -> list[Idle]:
    """Watch all processes of `everest up` over a window, and return what each used."""
    with running_up(base) as up:
        up.ready()
        time.sleep(SETTLES)
        before = {pid: _ticks(pid) for pid in _family(up.process.pid)}
        time.sleep(window)
        per_second = os.sysconf("SC_CLK_TCK")
        return [
            Idle(
                _name(pid),
                _private(pid),
                (_ticks(pid) - before.get(pid, 0)) / per_second / window,
            )
            for pid in _family(up.process.pid)
        ]


def _family(pid: int) -> Iterator[int]:
    """Yield a process and all that it started, directly or not."""
    yield pid
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield from _family(int(child))


def _name(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    return "up: " + " ".join(word.decode().rpartition("/")[2] for word in words[-2:])


def _private(pid: int) -> int:
    """Return the bytes that only this process holds."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transcripts", type=Path, help="a folder of projects; else the demo week")
    parser.add_argument("--embed", help="EVEREST_EMBED; else what the memory would choose")
    parser.add_argument("--window", type=float, default=60.0, help="seconds to watch; 0 for none")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="everest-foot-") as folder,
        Progress(console=Console(stderr=True), transient=True) as shown,
    ):
        bar = shown.add_task("two nights", total=2)
        held = disk(Path(folder) / "nights", given.transcripts, given.embed)
        shown.update(bar, description="everest up", advance=1)
        watched = given.window > 0 and sys.platform == "linux"
        used = idle(Path(folder) / "up", given.window) if watched else []
    if given.json:
        sys.stdout.buffer.write(orjson.dumps({"disk": held, "idle": used}) + b"\n")
    else:
        Console(width=100).print(_table(held, used))


def _table(held: Disk, used: list[Idle]) -> Table:
    table = Table(title="What a memory takes")
    for name in ("what", "bytes", "of", "more after a quiet night"):
        table.add_column(name, justify="left" if name == "what" else "right")
    total = sum(held.places.values())
    for name, size in sorted(held.places.items(), key=lambda each: -each[1]):
        table.add_row(name, f"{size:,}", f"{size / total:.0%}", f"{held.quiet[name]:,}")
    quiet = sum(held.quiet.values())
    table.add_row("all", f"{total:,}", f"{total / held.read:.2f} x what was read", f"{quiet:,}")
    for title, parts in (("view", held.view), ("ledger", held.ledger)):
        table.add_section()
        whole = sum(parts.values())
        for name, size in parts.items():
            table.add_row(f"{title}: {name}", f"{size:,}", f"{size / whole:.0%}")
    table.add_section()
    for unit, count in held.units.items():
        table.add_row(f"all, a {unit}", f"{total // count:,}", f"{count:,}")
    if used:
        table.add_section()
        for one in used:
            table.add_row(one.name, f"{one.private / MIB:.0f} MB private", f"{one.share:.1%} CPU")
        private, share = sum(one.private for one in used), sum(one.share for one in used)
        table.add_row("all of `up`", f"{private / MIB:.0f} MB private", f"{share:.1%} of a core")
    return table


if __name__ == "__main__":
    main()
