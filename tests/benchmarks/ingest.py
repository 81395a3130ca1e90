"""How fast the world is read: against a bare JSON parse of the same bytes, in one run.

    python tests/benchmarks/ingest.py [--data DIR] [--rounds N] [--megabytes N] [--json]

Every stage takes each file in turn, round after round, so that all of them meet the same company
on the machine; the best round of each file counts. A ratio is the time of `orjson.loads` over
every line divided by the stage's; the aim is 0.4 for parse, redact and detect together. What
memory does beside that (embed, commit, a whole ingest, an append) is timed apart.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tasks.domain.proposals import Action, Actor, Proposal, PutEpisode, PutSession  # noqa: E402
from tasks.domain.redaction import redact  # noqa: E402  the path above makes it importable
from tasks.domain.session import Session  # noqa: E402
from tasks.embedding.choose import choose  # noqa: E402
from tasks.evidence.claude_code import read_session  # noqa: E402
from tasks.evidence.detectors import detect  # noqa: E402
from tasks.evidence.episodes import episodes_of, facts_of  # noqa: E402
from tasks.evidence.folders import probe  # noqa: E402
from tasks.evidence.reading import Resume, SessionRead  # noqa: E402
from tasks.evidence.roots import find_transcripts  # noqa: E402
from tasks.evidence.words import evidence_form  # noqa: E402
from tasks.ingest import ingest  # noqa: E402
from tasks.store import gateway  # noqa: E402
from tests.evidence.writing import Transcript  # noqa: E402
from tests.store.build import NOW, SCOPE, home_in  # noqa: E402

BARE = "bare parse"
AT_ONCE = 256 * 1024
STAGES = ("parse", "redact", "detect")
MOST_TEXTS = 128
Row = dict[str, float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one run, of the processor and by the clock."""

    cpu: float
    wall: float


@dataclass(slots=True)
class Best:
    """The least that each stage took of each file."""

    took: dict[tuple[str, Path], Took] = field(default_factory=dict)

    def run(self, stage: str, file: Path, work: Callable[[], T]) -> T:
        """Run and time a stage over a file; return what it gives."""
        result, now = timed(work)
        least = self.took.get((stage, file), now)
        self.took[stage, file] = Took(min(least.cpu, now.cpu), min(least.wall, now.wall))
        return result

    def total(self, *stages: str) -> Took:
        """Return the sum over all files."""
        chosen = [took for (stage, _), took in self.took.items() if stage in stages]
        return Took(sum(one.cpu for one in chosen), sum(one.wall for one in chosen))


def timed(work: Callable[[], T]) -> tuple[T, Took]:
    """Return what `work` gives, and how long it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, Took(time.process_time() - cpu, time.perf_counter() - wall)


def bare(path: Path) -> None:
    """Parse every line and keep nothing; read as much at once as the reader does."""
    with path.open("rb", AT_ONCE) as stream:
        for line in stream:
            try:
                orjson.loads(line)
            except orjson.JSONDecodeError:
                continue


def stages(files: tuple[Path, ...], rounds: int) -> dict[str, Row]:
    """Return each stage's speed over all files, and that of the three together."""
    best = Best()
    for _ in range(rounds):
        for file in files:
            best.run(BARE, file, lambda file=file: bare(file))
            reading = best.run("parse", file, lambda file=file: read_session(file))
            if isinstance(reading, SessionRead):
                whole = reading.session
                kept = best.run("redact", file, lambda whole=whole: evidence_form(whole, redact))
                best.run("detect", file, lambda kept=kept: detect(kept))
    size = sum(file.stat().st_size for file in files) / 1e6
    base = best.total(BARE)
    rows = {name: best.total(name) for name in (BARE, *STAGES)}
    return {
        name: {
            "mb_per_s": size / took.cpu,
            "cpu_s": took.cpu,
            "wall_s": took.wall,
            "ratio": base.cpu / took.cpu,
            "ratio_wall": base.wall / took.wall,
        }
        for name, took in {**rows, "together": best.total(*STAGES)}.items()
    }


def apart(files: tuple[Path, ...], folder: Path) -> dict[str, Row]:
    """Return the speed of committing every session, and of embedding some of the episodes."""
    sessions = [_proposals(session) for session in _sessions(files)]
    episodes = [
        one.change.episode
        for each in sessions
        for one in each
        if isinstance(one.change, PutEpisode)
    ]
    with home_in(folder / "apart").opened() as store:
        _, took = timed(lambda: [gateway.commit(store, each, at=NOW) for each in sessions])
    commits = {
        "files": len(sessions),
        "episodes": len(episodes),
        "cpu_ms_per_file": 1e3 * took.cpu / len(sessions),
        "wall_ms_per_file": 1e3 * took.wall / len(sessions),
        "files_per_s": len(sessions) / took.wall,
    }
    texts = list(dict.fromkeys(one.meaning for one in episodes))
    return {"commit, one a file": commits, **_embedding(texts, folder)}


def _embedding(texts: list[str], folder: Path) -> dict[str, Row]:
    rows, texts = {}, texts[:MOST_TEXTS]
    for asked in ("hashed", None):
        space = choose(asked, None, folder / "model.json").space
        space.documents(texts[:1], lambda _more: None)  # what loads a model is not embedding
        _, took = timed(lambda space=space: space.documents(texts, lambda _more: None))
        rows[f"embed, {space.name}"] = {
            "texts": len(texts),
            "texts_per_s": len(texts) / took.wall,
            "wall_s": took.wall,
        }
    return rows


def _sessions(files: tuple[Path, ...]) -> Iterator[Session]:
    for file in files:
        reading = read_session(file)
        if isinstance(reading, SessionRead):
            yield evidence_form(reading.session, redact)


def _proposals(session: Session) -> list[Proposal]:
    found = detect(session)
    changes = [
        PutSession(facts_of(session, found, SCOPE, 0)),
        *(PutEpisode(episode) for episode in episodes_of(session, found, SCOPE, NOW)),
    ]
    return [Proposal(one, Action.CREATE, SCOPE, Actor.TRANSCRIPT, "ingest") for one in changes]


def whole(root: Path, folder: Path) -> dict[str, Row]:
    """Return what an ingest into an empty store takes, and one that finds nothing new."""
    home = home_in(folder / "whole")
    rows = {}
    for name in ("ingest", "again"):
        with home.opened() as store:
            found, took = timed(
                lambda store=store: ingest(
                    store, [root], settings=home.settings, probe=probe, at=NOW
                )
            )
        rows[name] = {"lines": found.counts.read, "cpu_s": took.cpu, "wall_s": took.wall}
    scale = 1 if sys.platform == "darwin" else 1024
    rows["ingest"]["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6
    return rows


def append(folder: Path) -> dict[str, Row]:
    """Return what an append to 50 MB takes beside its first reading: read alone, and ingested."""
    transcript = Compact(folder / "long" / "projects" / "-home-me-shop" / "s1.jsonl")
    write_session(transcript, random.Random(7), 50_000_000)
    path, home = transcript.path, home_in(folder / "append")
    reading, first_read = timed(lambda: read_session(path))
    assert isinstance(reading, SessionRead)
    assert reading.mark is not None
    before = path.stat().st_size
    with home.opened() as store:

        def take() -> object:
            return ingest(
                store, [folder / "long"], settings=home.settings, probe=probe, at=NOW
            ).counts

        _, first = timed(take)
        transcript.user("One more thing: rename the helper.")
        transcript.says("Renamed.")
        with path.open("ab") as stream:
            stream.write(b"".join(transcript.lines[-2:]))
        _, again = timed(take)
    kept = evidence_form(reading.session, redact).turns
    _, read_again = timed(lambda: read_session(path, resume=Resume(reading.mark, kept)))
    size = path.stat().st_size
    bytes_share = (size - before) / size
    return {
        name: {
            "mb": size / 1e6,
            "whole_s": one.cpu,
            "append_s": two.cpu,
            "time_share": two.cpu / one.cpu,
            "bytes_share": bytes_share,
        }
        for name, one, two in (
            ("append, read", first_read, read_again),
            ("append, ingested", first, again),
        )
    }


class Compact(Transcript):
    """Writes records as hosts do: with no blank between a name and its value."""

    def bare(self, **given: Any) -> dict[str, Any]:
        self.lines.append(orjson.dumps(given) + b"\n")
        return given


PROMPTS = (
    "No, always use pnpm here, never npm.",
    "Add a test for the empty basket.",
    "Why does the build fail on the second run?",
    "Please commit that, and push it to the branch.",
    "That's wrong, the migration has to run before the seed.",
)
ERRORS = (
    "Exit code 1\nbash: npm: command not found",
    "Exit code 2\nTypeError: 'NoneType' object is not subscriptable",
    "<tool_use_error>File has not been read yet.</tool_use_error>",
)
SOURCE = 'def total(self) -> int:\n    return sum(line.price for line in self.lines)  # "net"\n'


def write_session(transcript: Transcript, draw: random.Random, size: int) -> None:
    """Write a session of about `size` bytes whose kinds of record weigh what real ones do."""
    written = 0
    while written < size:
        begin = len(transcript.lines)
        _exchange(transcript, draw)
        written += sum(map(len, transcript.lines[begin:]))
    transcript.write()


def _exchange(transcript: Transcript, draw: random.Random) -> None:
    transcript.user(draw.choice(PROMPTS))
    for _ in range(draw.randint(2, 12)):
        call, body = f"c{transcript.made}", SOURCE * draw.randint(1, 80)
        transcript.says("I will look at the module, then change what is wrong there.")
        if draw.random() < 0.3:
            transcript.calls(call, "Write", file_path="src/basket.py", content=body)
        else:
            transcript.calls(call, command="pnpm test --filter basket")
        for _ in range(draw.randint(0, 3)):
            transcript.record("progress", data={"type": "bash_progress", "output": body})
        if draw.random() < 0.05:
            transcript.result(call, draw.choice(ERRORS), is_error=True)
        else:
            transcript.result(call, body, is_error=False, toolUseResult={"stdout": body})
    transcript.says("Done: all tests pass. Shall I commit this?")


@contextmanager
def synthetic(megabytes: int) -> Iterator[Path]:
    """Give a root of transcripts of a megabyte each, made from one seed."""
    with tempfile.TemporaryDirectory() as name:
        for number in range(megabytes):
            path = Path(name) / "projects" / "-home-me-shop" / f"s{number:03}.jsonl"
            write_session(Compact(path), random.Random(number), 1_000_000)
        yield Path(name)


def measured(root: Path, rounds: int) -> dict[str, Row]:
    """Return every row of one corpus."""
    files = find_transcripts(root).transcripts
    folder = Path(tempfile.mkdtemp())
    try:  # the whole ingest first: the peak of memory is then its own
        return {**whole(root, folder), **stages(files, rounds), **apart(files, folder)}
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Measure and print; with --json nothing but one value."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--megabytes", type=int, default=40, help="of the synthetic corpus")
    options.add_argument("--json", action="store_true")
    options.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one:
        print(json.dumps(measured(given.one, given.rounds)))
        return
    real, found = given.data / "transcripts" / "claude", {}
    if real.is_dir():
        found["real transcripts"] = _in_own_process(real, given.rounds)
    else:
        print(f"real transcripts: skipped, {real} is not there", file=sys.stderr)
    with synthetic(given.megabytes) as root:
        found[f"synthetic, {given.megabytes} MB"] = _in_own_process(root, given.rounds)
    with tempfile.TemporaryDirectory() as name:
        found["an append to a long transcript"] = append(Path(name))
    print(json.dumps(found) if given.json else _table(found))


def _in_own_process(root: Path, rounds: int) -> dict[str, Row]:
    """Measure one corpus where no other has left its caches and its peak of memory."""
    command = [sys.executable, __file__, "--one", str(root), "--rounds", str(rounds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows: dict[str, Row] = json.loads(done.stdout)
    return rows


def _table(found: dict[str, dict[str, Row]]) -> str:
    lines: list[str] = []
    for corpus, rows in found.items():
        lines.append(f"\n{corpus}")
        for name, row in rows.items():
            shown = "  ".join(f"{key} {value:.4g}" for key, value in row.items())
            lines.append(f"  {name.partition(':')[0]:<24}{shown}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
