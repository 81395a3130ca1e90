"""The journal: appended at once by anyone, never torn, never lost, never fatal."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.domain.proposals import Actor
from tasks.errors import WriteFailed
from tasks.store import journal
from tasks.store.journal import Line, append, read_segment, retire, unfolded
from tests.store.build import DAY, NOW, SCOPE, told

TODAY = NOW.strftime("%Y-%m-%d")
SHARED = f"{TODAY}-cli.jsonl"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def say(folder: Path, text: str = "words", *, at: datetime = NOW, **body: Any) -> Line:
    return append(
        folder, "remember", {"text": text, **body}, scope=SCOPE, actor=Actor.PERSON, at=at
    )


def lines(folder: Path, offsets: Mapping[str, int] | None = None) -> list[Line]:
    return [line for read in unfolded(folder, offsets or {}) for line in read.lines]


def texts(folder: Path) -> list[str]:
    return [line.body["text"] for line in lines(folder)]


def test_what_was_said_is_read_back(tmp_path: Path) -> None:
    said = [say(tmp_path, text) for text in ("one", "two\nlines", "日本 \u2028 'quoted'")]
    assert lines(tmp_path) == said
    assert len({line.id for line in said}) == 3
    segment = tmp_path / SHARED
    assert segment.read_bytes().count(b"\n") == 3
    assert segment.stat().st_mode & 0o777 == 0o600


def test_reading_goes_on_where_it_ended(tmp_path: Path) -> None:
    say(tmp_path, "one")
    (read,) = unfolded(tmp_path, {})
    second = say(tmp_path, "two")
    assert lines(tmp_path, {SHARED: read.end}) == [second]
    (rest,) = unfolded(tmp_path, {SHARED: read.end})
    assert rest.end == (tmp_path / SHARED).stat().st_size
    assert list(unfolded(tmp_path, {SHARED: rest.end})) == []


def test_a_secret_is_redacted_before_it_reaches_the_disk(tmp_path: Path) -> None:
    line = say(tmp_path, f"use {SECRET}", nested={"deep": [f"and {SECRET}"]})
    assert SECRET not in str(line)
    assert SECRET.encode() not in (tmp_path / SHARED).read_bytes()


def test_text_without_bytes_of_its_own_is_still_accepted(tmp_path: Path) -> None:
    say(tmp_path, "half a pair: \ud800, and a byte that was none: \udcff")
    assert texts(tmp_path) == ["half a pair: ?, and a byte that was none: ?"]


APPENDER = """
import random, sys
from datetime import UTC, datetime
from pathlib import Path
from tasks.domain.proposals import Actor
from tasks.store.journal import append
from tests.store.build import NOW, SCOPE
number, folder = int(sys.argv[1]), Path(sys.argv[2])
chance = random.Random(number)
for n in range(200):
    size = int(200 * 500 ** chance.random())
    body = {"text": f"{number} {n} " + "word " * (size // 5)}
    append(folder, "remember", body, scope=SCOPE, actor=Actor.AGENT, at=NOW)
"""


def test_six_processes_append_and_no_line_is_torn_or_lost(tmp_path: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(number), str(tmp_path)],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONPATH": "."},
        )
        for number in range(6)
    ]
    assert [process.wait() for process in running] == [0] * 6
    (read,) = unfolded(tmp_path, {})
    assert (read.bad, read.cut) == (0, 0)
    numbered = [tuple(map(int, line.body["text"].split()[:2])) for line in read.lines]
    assert Counter(numbered) == Counter((p, n) for p in range(6) for n in range(200))
    for process in range(6):
        mine = [n for p, n in numbered if p == process]
        assert mine == sorted(mine)
    sizes = [len(line.body["text"]) for line in read.lines]
    assert min(sizes) < 300
    assert max(sizes) > 60_000


@pytest.mark.parametrize("lost", [1, 7, 60])
def test_a_line_cut_by_a_crash_is_counted_and_spoils_no_later_one(
    tmp_path: Path, lost: int
) -> None:
    first = say(tmp_path, "one")
    say(tmp_path, "cut")
    segment = tmp_path / SHARED
    segment.write_bytes(segment.read_bytes()[:-lost])
    (read,) = unfolded(tmp_path, {})
    assert read.lines == (first,)
    assert read.cut > 0
    last = say(tmp_path, "three")
    (read,) = unfolded(tmp_path, {})
    assert read.cut == 0
    assert [line.body["text"] for line in read.lines] in (["one", "three"], ["one", "cut", "three"])
    assert read.lines[-1] == last
    assert read.bad + len(read.lines) == 3
    assert read.bad == (lost > 1)


KILLED = """
import os, sys
from pathlib import Path
from tests.store.build import NOW, SCOPE
from tasks.domain.proposals import Actor
from tasks.store.journal import append
n = 0
while True:
    n += 1
    line = append(Path(sys.argv[1]), "remember", {"text": f"{n} " + "w " * 20_000},
                  scope=SCOPE, actor=Actor.AGENT, at=NOW)
    os.write(1, f"{n}\\n".encode())
"""


def test_no_acknowledged_line_is_lost_to_a_kill(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": "."},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(5)]
    process.send_signal(signal.SIGKILL)
    acknowledged += [int(rest) for rest in process.stdout.read().split()]
    process.stdout.close()
    process.wait()
    after = say(tmp_path, "after")
    found = lines(tmp_path)
    assert found[-1] == after
    numbers = [int(line.body["text"].split()[0]) for line in found[:-1]]
    assert numbers[: len(acknowledged)] == acknowledged


def test_a_line_the_disk_refuses_is_not_acknowledged(tmp_path: Path) -> None:
    say(tmp_path, "one")
    size = (tmp_path / SHARED).stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, hard))
    try:
        with pytest.raises(WriteFailed, match="cli"):
            say(tmp_path, "two")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    say(tmp_path, "three")
    assert texts(tmp_path) == ["one", "three"]


def raw(**changed: Any) -> bytes:
    good = {
        "v": 1,
        "id": "an-id",
        "op": "remember",
        "at": "2026-06-01T03:00:00Z",
        "actor": "person",
        "scope": list(SCOPE.keys()),
        "text": "words",
    }
    return orjson.dumps({k: v for k, v in {**good, **changed}.items() if v is not ...}) + b"\n"


def write(folder: Path, *found: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / SHARED
    path.write_bytes(b"".join(found))
    return path


BAD: dict[str, bytes] = {
    "another version": raw(v=2),
    "an unknown op": raw(op="dream"),
    "an unknown actor": raw(actor="ghost"),
    "a scope with a blank key": raw(scope=["me", "user", "", "p"]),
    "a scope of three": raw(scope=["me", "user", "p"]),
    "no id": raw(id=...),
    "no text": raw(text=...),
    "a text that is none": raw(text=7),
    "a time that is none": raw(at="yesterday"),
    "a time that is a number": raw(at=12),
    "a decision about nothing": raw(op="decide", verb="reject"),
    "units that are none": raw(op="touch", units=[["lesson"], 3]),
    "digests that are none": raw(
        op="decide", verb="forget", unit="lesson", unit_id="x", digests=[1]
    ),
    "a project that is none": raw(project={"project_id": "p"}),
    "a list": b"[1, 2]\n",
    "no JSON": b"{half a line\n",
    "bytes": b"\x00\xff\xfe\n",
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_what_is_no_line_of_ours_is_counted_and_passed_over(tmp_path: Path, line: bytes) -> None:
    path = write(tmp_path, raw(id="1"), line, raw(id="2"))
    (read,) = unfolded(tmp_path, {})
    assert [one.id for one in read.lines] == ["1", "2"]
    assert (read.bad, read.cut, read.end) == (1, 0, path.stat().st_size)


@given(st.lists(st.one_of(st.binary(max_size=60), st.just(raw())), max_size=8))
@settings(max_examples=100, deadline=None)
def test_any_bytes_can_be_read(parts: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), *parts)
        read = read_segment(path, 0)
        assert read.end + read.cut == path.stat().st_size


def test_blank_lines_are_nothing(tmp_path: Path) -> None:
    write(tmp_path, b"\n\n", raw(), b"  \n")
    (read,) = unfolded(tmp_path, {})
    assert (len(read.lines), read.bad) == (1, 0)


def test_a_line_that_stands_twice_is_taken_once(tmp_path: Path) -> None:
    write(tmp_path, raw(id="1"), raw(id="2"), raw(id="1", text="again"))
    (tmp_path / f"{TODAY}T1-long.jsonl").write_bytes(raw(id="2") + raw(id="3"))
    assert sorted(line.id for line in lines(tmp_path)) == ["1", "2", "3"]


# --- retiring


def covered(folder: Path, *, less: int = 0) -> dict[str, int]:
    return {path.name: path.stat().st_size - less for path in folder.glob("*.jsonl")}


def test_a_segment_that_every_view_covers_is_put_away(tmp_path: Path) -> None:
    say(tmp_path, "old", at=NOW - DAY)
    name = f"{(NOW - DAY).strftime('%Y-%m-%d')}-cli.jsonl"
    assert retire(tmp_path, covered(tmp_path), today=TODAY) == [name]
    assert (tmp_path / "applied" / name).is_file()
    assert lines(tmp_path) == []
    assert retire(tmp_path, {}, today=TODAY) == []


def test_one_that_is_not_wholly_covered_stays(tmp_path: Path) -> None:
    say(tmp_path, "old", at=NOW - DAY)
    assert retire(tmp_path, covered(tmp_path, less=1), today=TODAY) == []
    assert retire(tmp_path, {}, today=TODAY) == []
    assert texts(tmp_path) == ["old"]


def test_todays_is_never_put_away(tmp_path: Path) -> None:
    say(tmp_path, "new")
    assert retire(tmp_path, covered(tmp_path), today=TODAY) == []
    assert texts(tmp_path) == ["new"]


def test_one_that_a_living_process_owns_stays(tmp_path: Path) -> None:
    path = tmp_path / "2026-05-01T00-abcd.jsonl"
    path.write_bytes(raw())
    with path.open("rb") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        assert retire(tmp_path, covered(tmp_path), today=TODAY) == []
    assert retire(tmp_path, covered(tmp_path), today=TODAY) == [path.name]


def test_a_name_is_not_used_again_once_it_was_put_away(tmp_path: Path) -> None:
    yesterday = NOW - DAY
    for expected in ("-cli.jsonl", "-cli-2.jsonl", "-cli-3.jsonl"):
        say(tmp_path, "late", at=yesterday)
        (name,) = retire(tmp_path, covered(tmp_path), today=TODAY)
        assert name == f"{yesterday.strftime('%Y-%m-%d')}{expected}"


def test_the_day_of_a_segment_is_that_of_utc(tmp_path: Path) -> None:
    say(tmp_path, at=datetime(2026, 6, 1, 23, 59, 59, tzinfo=UTC))
    say(tmp_path, at=datetime.fromisoformat("2026-06-02T01:59:59+02:00"))
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["2026-06-01-cli.jsonl"]


def test_every_op_can_be_appended_and_read(tmp_path: Path) -> None:
    bodies = {
        "remember": {"text": "t"},
        "touch": {"units": [["lesson", "l"]]},
        "decide": {"verb": "reject", "unit": "lesson", "unit_id": "l"},
        "expose": {"channel": "prompt"},
        "edit_file": {"lesson_id": "l", "text": "t"},
        "event": told(),
    }
    assert bodies.keys() == journal.OPS.keys()
    for op, body in bodies.items():
        append(tmp_path, op, body, scope=SCOPE, actor=Actor.HOST, at=NOW)
    assert [line.op for line in lines(tmp_path)] == list(bodies)
