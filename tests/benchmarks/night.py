"""Time a night after embedding at several sizes: every pass, then publish and render, and memory.

Run: `python tests/benchmarks/night.py [--sizes 1000,10000,100000] [--few 50] [--json]`.

A real store in a temporary folder, one project: half of its episodes are noise, half lie around
themes of eight at a mean cosine of 0.7. The vectors are drawn, so that no embedding is timed. The
first night meets everything at once, the second a few new episodes, the third nothing new. Each
size is built and slept on in processes of its own, so that peaks of memory do not mix. `exponent`
is the growth of CPU seconds between the last two sizes, as a power of n.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tasks.domain.ids import digest_of  # noqa: E402  the root is put on the path first
from tasks.domain.proposals import (  # noqa: E402
    Action,
    Actor,
    Change,
    Proposal,
    PutEpisode,
    PutProject,
    PutSession,
    SessionFacts,
)
from tasks.domain.scope import Scope  # noqa: E402
from tasks.domain.units import (  # noqa: E402
    Episode,
    EpisodeKind,
    Grounding,
    Project,
    Strength,
)
from tasks.embedding.choose import Chosen  # noqa: E402
from tasks.embedding.space import WORDS, Gauge  # noqa: E402
from tasks.night import Run  # noqa: E402
from tasks.sleep.run import PASSES, Slept  # noqa: E402
from tasks.steps import PLAIN  # noqa: E402
from tasks.store import gateway  # noqa: E402
from tests.store.build import home_in  # noqa: E402

DIM = 384
START = datetime(2026, 1, 1, tzinfo=UTC)
NIGHT = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCOPE = Scope("me", "user", "default", "bench-00000000")
PER_SESSION = 30
BATCH = 5_000
KINDS = ("session", "error", "correction", "surprise", "environment")
SHARES = (0.15, 0.35, 0.25, 0.2, 0.05)
STARTS = ("Always", "Please", "No, ", "From now on", "Never")
LIKELY = (0.4, 0.25, 0.1, 0.15, 0.1)
VERBS = ("format", "check", "rename", "wrap", "split", "cache", "log", "mock", "pin", "sort")
NOUNS = ("imports", "schema", "handlers", "routes", "fixtures", "queries", "workers", "styles")
PLACES = ("api", "billing", "search", "admin", "mobile", "infra", "docs", "reports", "auth")
STEPS = (*PASSES, "measure", "publish", "render")
NIGHTS = ("first", "second", "third")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A space whose vectors are drawn and not worked out."""

    name: str = f"drawn:{DIM}"
    dim: int = DIM
    join_cut: float = 0.62
    verify_cut: float = 0.62
    gauge: Gauge = WORDS

    def documents(
        self, texts: Sequence[str], progress: Callable[[int], None]
    ) -> NDArray[np.float32]:
        progress(len(texts))
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(digest_of("drawn", text).encode()[:4], "big")
        draw = np.random.default_rng(seed)
        return _unit(draw.standard_normal((1, DIM), dtype=np.float32)).ravel()


@dataclass(frozen=True, slots=True)
class Batch:
    """Some episodes, the sessions they are of, and their vectors in the same order."""

    sessions: list[SessionFacts]
    episodes: list[Episode]
    vectors: NDArray[np.float32]


def drawn(count: int, of: int, *, seed: int) -> Batch:
    """Return `count` episodes around the themes of a memory of `of` episodes."""
    draw = np.random.default_rng(seed)
    themes = max(of // 16, 1)
    theme = draw.integers(0, 2 * themes, count)
    kinds = draw.choice(KINDS, count, p=SHARES)
    names = [f"s{seed}-{n}" for n in range(max(count // PER_SESSION, 2))]
    episodes = [
        _episode(draw, n, EpisodeKind(kinds[n]), int(theme[n]), str(draw.choice(names)), seed)
        for n in range(count)
    ]
    return Batch([_session(name) for name in names], episodes, _vectors(draw, theme, themes))


def _vectors(
    draw: np.random.Generator, theme: NDArray[np.int64], themes: int
) -> NDArray[np.float32]:
    centres = _unit(np.random.default_rng(0).standard_normal((themes, DIM), dtype=np.float32))
    off = _unit(draw.standard_normal((len(theme), DIM), dtype=np.float32))
    themed = theme < themes
    off[themed] = centres[theme[themed]] + 0.65 * off[themed]
    return _unit(off)


def _unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return unit


def _episode(  # noqa: PLR0917  one place where an episode is made
    draw: np.random.Generator, n: int, kind: EpisodeKind, theme: int, session: str, seed: int
) -> Episode:
    noun, place = NOUNS[theme // 3 % len(NOUNS)], PLACES[theme // 7 % len(PLACES)]
    start = STARTS[int(draw.choice(len(STARTS), p=LIKELY))]
    words = f"{start} {VERBS[theme % len(VERBS)]} the {noun} of part {theme} in the {place} package"
    lasting = kind is EpisodeKind.CORRECTION and bool(draw.random() < 0.35)
    failed = kind is EpisodeKind.ERROR
    return Episode(
        id=digest_of("bench", seed, n),
        scope=SCOPE,
        agent="claude-code",
        session_id=session,
        kind=kind,
        anchor=f"{seed}-{n}",
        title=words,
        gist=words,
        words=words,
        at=START + timedelta(minutes=int(draw.integers(0, 200_000))),
        recorded_at=NIGHT,
        grounding=Grounding.TOOL if failed else Grounding.PERSON,
        strength=Strength(1.0, NIGHT),
        rule=words if lasting else "",
        lasting=lasting,
        tool="Bash" if failed else "",
        error_class=("timeout", "lint", "syntax", "other")[theme % 4] if failed else "",
        command=place,
        topic=("Bash", noun),
    )


def _session(name: str) -> SessionFacts:
    return SessionFacts(
        id=name,
        agent="claude-code",
        scope=SCOPE,
        path=f"/transcripts/{name}.jsonl",
        cwd="/bench",
        started=START,
        ended=START + timedelta(hours=1),
        title=name,
        turns=40,
        person_turns=(),
        offers=(),
        waits=0,
        refusals=(),
        topic=("Bash",),
        by_person=True,
        evidence_bytes=0,
    )


def put(run: Run, batch: Batch) -> None:
    """Store a batch and its vectors as ingest and embedding leave them."""
    project = PutProject(Project(SCOPE.project_id, "bench", "/bench", (), START))
    changes: list[Change] = [
        project,
        *map(PutSession, batch.sessions),
        *map(PutEpisode, batch.episodes),
    ]
    for start in range(0, len(changes), BATCH):
        proposals = [
            Proposal(change, Action.CREATE, SCOPE, Actor.TRANSCRIPT, "bench")
            for change in changes[start : start + BATCH]
        ]
        gateway.commit(run.store, proposals, at=run.at)
    for start in range(0, len(batch.episodes), BATCH):
        part = slice(start, start + BATCH)
        ids = [episode.id for episode in batch.episodes[part]]
        space = run.chosen.space.name
        gateway.put_vectors(run.store, SCOPE, space, ids, batch.vectors[part], at=run.at)


@contextlib.contextmanager
def opened(home: Path, at: datetime) -> Iterator[Run]:
    """Hold the store of a folder for one run."""
    with home_in(home).run(at=at) as run:
        run.chosen = Chosen(Drawn(), "drawn")
        yield run


def night(run: Run, tell: Callable[[str], None]) -> dict[str, Any]:
    """Run the steps after embedding in their order; return what each took and came to."""
    took: dict[str, Any] = {}
    for name in STEPS:
        tell(name)
        start, busy = time.perf_counter(), time.process_time()
        came_to = getattr(PLAIN, name)(run)
        counts = came_to.counts if isinstance(came_to, Slept) else {}
        took[name] = {**_since(start, busy), "counts": counts, "peak_mb": _peak()}
    return took


def _since(start: float, busy: float) -> dict[str, float]:
    return {"wall": time.perf_counter() - start, "cpu": time.process_time() - busy}


def make(home: Path, size: int, few: int) -> None:
    """Fill a store with `size` episodes; the few new ones wait for the second night."""
    del few
    with opened(home, NIGHT) as run:
        put(run, drawn(size, size, seed=1))


def sleep(home: Path, size: int, few: int) -> None:
    """Sleep three nights over a filled store, and print what they took as one line of JSON."""
    import sklearn.cluster  # noqa: F401, PLC0415  its second of loading is no part of any pass

    found: dict[str, Any] = {"size": size, "before_mb": _peak()}
    for n, name in enumerate(NIGHTS):
        at = NIGHT + n * DAY
        start, busy = time.perf_counter(), time.process_time()
        with opened(home, at) as run:
            opening = _since(start, busy)
            if name == "second":
                put(run, drawn(few, size, seed=2))
            steps = night(run, partial(_begin, name))
        found[name] = {"open": opening, **steps}
    _say({"found": found})


def _begin(night_: str, step: str) -> None:
    _say({"step": f"{night_} {step}"})


def _peak() -> int:
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale // 2**20


def _say(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure every size in processes of its own and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--few", type=int, default=50, help="new episodes in the second night")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        which, home, size = given.part
        {"make": make, "sleep": sleep}[which](Path(home), int(size), given.few)
        return
    found = _measured([int(size) for size in given.sizes.split(",")], given.few)
    if given.json:
        _say({"nights": found})
    else:
        Console(width=110).print(_table(found))


def _measured(sizes: Sequence[int], few: int) -> list[dict[str, Any]]:
    found = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as shown:
        bar = shown.add_task("", total=len(sizes) * (1 + len(NIGHTS) * len(STEPS)))
        for size in sizes:
            with tempfile.TemporaryDirectory(prefix="everest-night-") as folder:
                for part in ("make", "sleep"):
                    shown.update(bar, description=f"{size} {part}")
                    for told in _apart(part, folder, size, few):
                        shown.update(bar, description=f"{size} {told.get('step', '')}", advance=1)
                        found += [told["found"]] if "found" in told else []
    return found


def _apart(part: str, folder: str, size: int, few: int) -> Iterator[dict[str, Any]]:
    """Run one part in a process of its own; yield what it says."""
    command = [sys.executable, __file__, "--few", str(few), "--part", part, folder, str(size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield from (json.loads(line) for line in child.stdout)
    if child.returncode:
        sys.exit(f"{part} of {size} episodes ended with {child.returncode}")


def _table(found: list[dict[str, Any]]) -> Table:
    table = Table(title="A night after embedding, seconds")
    table.add_column("night")
    table.add_column("step")
    for each in found:
        table.add_column(f"{each['size']:,}\nCPU", justify="right")
        table.add_column("\nwall", justify="right")
    table.add_column("exponent", justify="right")
    for name in NIGHTS:
        for step, steps in _rows():
            taken = [[sum(n[name][s][of] for s in steps) for of in ("cpu", "wall")] for n in found]
            cells = [f"{value:.2f}" for pair in taken for value in pair]
            table.add_row(name, step, *cells, _exponent(found, [cpu for cpu, _ in taken]))
        table.add_section()
    for step, last in (("peak MB, passes", "predict"), ("peak MB, all", "render")):
        peaks = [f"{max(n[name][last]['peak_mb'] for name in NIGHTS)}" for n in found]
        table.add_row("", step, *(cell for peak in peaks for cell in ("", peak)), "")
    return table


def _rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "open", ("open",)
    yield from ((name, (name,)) for name in PASSES)
    yield "passes", tuple(PASSES)
    yield from ((name, (name,)) for name in STEPS if name not in PASSES)


def _exponent(found: list[dict[str, Any]], seconds: list[float]) -> str:
    if len(found) < 2 or min(seconds[-2:]) < 0.05:
        return "-"
    sizes = [float(each["size"]) for each in found[-2:]]
    return f"{math.log(seconds[-1] / seconds[-2]) / math.log(sizes[1] / sizes[0]):.2f}"


if __name__ == "__main__":
    main()
