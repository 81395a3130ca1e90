import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from tasks.domain.canon import canon
from tasks.domain.ids import note_id
from tasks.domain.scope import Scope
from tasks.said import MAX_NOTE
from tasks.store.keys import digest_key
from tests.serving.shipped import COMMAND, Everest, Told, tree_of

WITHOUT_NETWORK = """
import socket, sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise SystemExit(f"went to the network: {event} {arguments!r}")
sys.addaudithook(refuse)
from serving.cli.main import run
sys.exit(run(sys.argv[1:]))
"""

VISIT = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')"

HOLDER = """
import sys, time
from pathlib import Path
from tasks.store.lock import writer_lock
with writer_lock(Path(sys.argv[1]), wait=0, started="2026-01-02T03:04:05Z"):
    print("held", flush=True)
    time.sleep(600)
"""


def _plainly(told: Told, code: int, *said: str) -> None:
    assert told.code == code, told.out + told.err
    assert "Traceback" not in told.err
    for words in said:
        assert words in told.err


def _night_on(person: Everest, folder: Path) -> Told:
    return person("night", "--transcripts", str(folder))


@pytest.fixture
def week(newcomer: Everest) -> Path:
    """Give a folder with the demo week's transcripts."""
    newcomer.works_a_week(datetime.now(UTC))
    return newcomer.claude


def test_a_missing_folder_of_transcripts_is_named(newcomer: Everest) -> None:
    folder = newcomer.base / "nowhere"
    _plainly(_night_on(newcomer, folder), 2, str(folder), "No such file", "--transcripts")


def test_a_file_in_place_of_the_folder_is_named(newcomer: Everest) -> None:
    file = newcomer.base / "file.txt"
    file.touch()
    _plainly(_night_on(newcomer, file), 2, str(file), "Not a directory")


def test_a_folder_of_links_in_a_circle_is_named(newcomer: Everest) -> None:
    circle = newcomer.base / "circle"
    circle.symlink_to(circle)
    _plainly(_night_on(newcomer, circle), 2, str(circle), "symbolic links")


@pytest.mark.skipif(sys.platform != "linux", reason="rights are given up by Linux's own call")
def test_a_folder_that_may_not_be_read_is_named(newcomer: Everest, week: Path) -> None:
    week.chmod(0)
    try:
        told = newcomer.as_anybody("night", "--transcripts", str(week))
    finally:
        week.chmod(0o700)
    _plainly(told, 2, str(week), "Permission denied")


@pytest.mark.skipif(sys.platform != "linux", reason="rights are given up by Linux's own call")
def test_a_project_that_may_not_be_read_is_told_and_the_others_are_read(
    newcomer: Everest, week: Path
) -> None:
    closed = next(iter(sorted((week / "projects").iterdir())))
    closed.chmod(0)
    try:
        told = newcomer.as_anybody("ingest", "--transcripts", str(week), "--json")
    finally:
        closed.chmod(0o700)
    assert told.code == 0, told.err
    assert told.data["problems"] == [f"{closed}: Permission denied"]
    assert 0 < told.data["files"] < 12


def _folder(path: Path, _data: bytes) -> None:
    path.mkdir()


def _truncated(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data)[:-200])


def _damaged(path: Path, data: bytes) -> None:
    packed = bytearray(gzip.compress(data))
    packed[300:340] = b"\xff" * 40
    path.write_bytes(packed)


def _no_gzip(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _empty(path: Path, _data: bytes) -> None:
    path.touch()


def _noise(path: Path, _data: bytes) -> None:
    path.write_bytes(bytes(range(1, 256)) * 40 + b"\n")


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("x.jsonl", _folder, "a folder, named like a transcript"),
        ("x.jsonl.gz", _truncated, "the compressed file is cut off"),
        ("x.jsonl.gz", _damaged, "the compressed file is damaged"),
        ("x.jsonl.gz", _no_gzip, "the compressed file is damaged"),
        ("x.jsonl", _empty, "the file is empty"),
        ("x.jsonl", _noise, "record"),
    ],
    ids=["folder", "cut gzip", "damaged gzip", "no gzip", "empty", "noise"],
)
def test_a_bad_file_is_named_and_the_others_are_read(
    newcomer: Everest, week: Path, name: str, make: object, said: str
) -> None:
    one = min(week.rglob("*.jsonl"))
    bad = one.with_name(name)
    assert callable(make)
    make(bad, one.read_bytes())
    told = newcomer("ingest", "--json")
    assert told.code == 0, told.err
    assert [problem for problem in told.data["problems"] if str(bad) in problem]
    assert said in " ".join(told.data["problems"])
    assert told.data["sessions"] >= 12
    again = newcomer("ingest", "--json").data
    assert again["sessions"] == 0
    assert again["changed"] <= 1, "one of which nothing could be read is tried again"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc for how far it has read")
def test_a_file_that_shrinks_while_it_is_read_is_told_and_read_again(
    newcomer: Everest, week: Path
) -> None:
    file = min(week.rglob("*.jsonl"))
    lines = file.read_bytes().splitlines(keepends=True)
    turns = [line for line in lines if b'"uuid":"' in line]
    with file.open("ab") as more:
        for number in range(3000):
            for line in turns:
                more.write(line.replace(b'"uuid":"', b'"uuid":"%06d' % number))
    size = file.stat().st_size
    with newcomer.start("ingest", "--json") as running:
        _wait_until_read(running.pid, file, size // 20)
        running.send_signal(signal.SIGSTOP)
        os.truncate(file, size // 100)
        running.send_signal(signal.SIGCONT)
        out, err = running.communicate(timeout=100)
    assert running.returncode == 0, err
    assert any("shorter" in problem for problem in json.loads(out)["problems"])
    again = newcomer("ingest", "--json")
    assert again.data["changed"] == 1
    assert newcomer("ingest", "--json").data["changed"] == 0


def _wait_until_read(pid: int, file: Path, position: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if _position(pid, file) > position:
            return
        time.sleep(0.002)
    pytest.fail("the file was never read that far")


def _position(pid: int, file: Path) -> int:
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            if link.readlink() == file:
                told = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text()
                return int(told.split()[1])
        except OSError:
            continue
    return 0


def _can_mount() -> bool:
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    tried = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


FULL_DISK = """
set -eu
folder=$1; everest=$2; kept=$(mktemp -d)
cp -a "$folder/." "$kept"
mount -t tmpfs -o size=64k none "$folder"
cp -a "$kept/." "$folder"
cat /dev/zero > "$folder/filler" 2>/dev/null || true
before=$(cat "$folder/MEMORY.md")
code=0; "$everest" render || code=$?
echo "full: $code"
test "$before" = "$(cat "$folder/MEMORY.md")" && echo "untouched"
ls -a "$folder" | grep -c part || true
rm "$folder/filler"
code=0; "$everest" render || code=$?
echo "room: $code"
grep -c "everest-" "$folder/MEMORY.md" || true
"""


@pytest.mark.skipif(not _can_mount(), reason="a small disk needs leave to mount one")
def test_a_full_disk_at_a_render_leaves_what_was_there(person: Everest) -> None:
    index = min(person.claude.rglob("MEMORY.md"))
    assert person("render", EVEREST_HOLDOUT="1").code == 0  # now every line waits to be written
    index.write_text("A line of the person's own.\n")
    told = person.run(
        ["unshare", "-rm", "sh", "-c", FULL_DISK, "sh", str(index.parent), str(COMMAND)]
    )
    assert told.code == 0, told.out + told.err
    assert "full: 5\nuntouched\n0\n" in told.out, told.out + told.err
    assert "No space left on device" in told.err
    assert "free space" in told.err
    assert re.search(r"room: 0\n[1-9]\d*\n", told.out), told.out


def test_a_store_of_a_newer_schema_is_left_alone(person: Everest) -> None:
    with duckdb.connect(str(person.home / "memory.duckdb")) as store:
        store.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    before = (person.home / "memory.duckdb").read_bytes()
    _plainly(person("night"), 4, "schema 99", "upgrade Everest", "nothing was changed")
    assert (person.home / "memory.duckdb").read_bytes() == before
    assert person.recalled("pnpm"), "reading goes on"


@pytest.mark.parametrize("damage", ["noise", "half", "empty", "header"])
def test_a_corrupt_store_is_kept_aside_and_a_rebuild_makes_it_again(
    person: Everest, damage: str
) -> None:
    store, digest = person.home / "memory.duckdb", person.digest()
    data = store.read_bytes()
    spoilt = {
        "noise": b"no store at all\n" * 4000,
        "half": data[: len(data) // 2],
        "empty": b"",
        "header": b"\x00" * 4096 + data[4096:],
    }[damage]
    store.write_bytes(spoilt)
    _plainly(person("night"), 4, str(store), "memory.duckdb.corrupt-1", "`everest rebuild`")
    assert (person.home / "memory.duckdb.corrupt-1").read_bytes() == spoilt
    assert person.recalled("pnpm"), "reading goes on"
    told = person("rebuild", "--json")
    assert told.code == 0, told.err
    assert told.data["digest"] == digest
    assert person("night").code == 0
    assert person.digest() == digest


@pytest.fixture
def held(person: Everest) -> Iterator[subprocess.Popen[bytes]]:
    """Give a living process that holds the store of `person`."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(person.home / "store.lock")],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    yield holder
    holder.kill()
    holder.wait()
    holder.stdout.close()


def test_a_lock_of_the_living_is_named_and_one_of_the_dead_is_no_hindrance(
    person: Everest, held: subprocess.Popen[bytes]
) -> None:
    named = f"process {held.pid}"
    for command in (("night",), ("ingest",), ("render",), ("rebuild",), ("sleep", "--dry-run")):
        told = person(*command, EVEREST_LOCK_WAIT="0.2")
        _plainly(told, 4, named, "2026-01-02T03:04:05Z", "store.lock")
    assert named in person("status").out
    assert person.recalled("pnpm"), "reading goes on"
    assert person("remember", "said meanwhile", "--project", "paperboat").code == 0
    assert named in person.at_terminal("ingest", EVEREST_LOCK_WAIT="0.2").out
    held.kill()
    held.wait()
    assert "nobody" in person("status").out
    assert person("ingest", EVEREST_LOCK_WAIT="0.2").code == 0


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("EVEREST_TIMEZONE", "Mars/Base", "no time zone"),
        ("EVEREST_TIMEZONE", "", "unset it to use the system's"),
        ("EVEREST_TIMEZONE", "../../etc/passwd", "no time zone"),
        ("EVEREST_HOLDOUT", "2", "less than or equal to 1"),
        ("EVEREST_HOLDOUT", "half", "number"),
        ("EVEREST_EMBED", "nonsense", "sentence-transformers, hashed or served"),
        ("EVEREST_EMBED_MODEL", "/nowhere", "/nowhere"),
        ("EVEREST_LOCK_WAIT", "-1", "greater than or equal to 0"),
        ("EVEREST_OWNER", "", "at least 1"),
        ("EVEREST_HOME", "", "unset it to use ~/.everest"),
        ("EVEREST_HOME", " ", "unset it to use ~/.everest"),
        ("EVEREST_HOME", ".", "unset it to use ~/.everest"),
    ],
)
def test_a_bad_setting_is_named_and_nothing_is_begun(
    newcomer: Everest, name: str, value: str, said: str
) -> None:
    env: dict[str, str | None] = {"EVEREST_EMBED": None, name: value}
    _plainly(newcomer("ingest", **env), 2, f"{name}: ", said)
    assert not (newcomer.home / "memory.duckdb").exists()
    assert not any(newcomer.cwd.iterdir())


def test_a_folder_of_the_persons_own_is_no_home(newcomer: Everest) -> None:
    mine = newcomer.base / "mine"
    for name in ("keys/id_rsa", "backups/old", "main.py"):
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).touch()
    before = tree_of(mine)
    env: dict[str, str | None] = {"EVEREST_HOME": str(mine)}
    for words in (("remember", "x", "--everywhere"), ("night",), ("uninstall", "--yes")):
        _plainly(newcomer(*words, **env), 2, f"EVEREST_HOME: {mine}", "'main.py'")
    assert tree_of(mine) == before
    assert newcomer("remember", "x", "--everywhere").code == 0
    (newcomer.home / "notes.txt").touch()
    assert newcomer("status").code == 0, "what is put into a home later changes nothing"


def test_status_tells_of_an_embedding_that_cannot_be_used(reader: Everest) -> None:
    told = reader("status", EVEREST_EMBED="nonsense")
    assert told.code == 0
    assert "cannot be used" in told.out


def test_an_unknown_project_is_told_with_those_there_are(reader: Everest) -> None:
    _plainly(reader("recall", "x", "--project", "nope"), 2, "'nope'", "paperboat", "tidewater")
    _plainly(reader("remember", "x", "--project", "nope"), 2, "'nope'")
    _plainly(reader("project", "ignore", "nope"), 2, "'nope'")


def test_an_ambiguous_project_is_told_with_its_candidates(person: Everest) -> None:
    assert person.at_terminal("project", "rename", "tidewater", "paperboat").code == 0
    assert person("ingest").code == 0
    told = person("recall", "x", "--project", "paperboat")
    _plainly(told, 2, "more than one", "paperboat-", "tidewater-")


def test_an_unknown_or_short_id_is_told(reader: Everest) -> None:
    _plainly(reader("forget", "ffffffffffff"), 2, "'ffffffffffff'", "everest lessons")
    _plainly(reader("forget", "zz"), 2, "too short")
    _plainly(reader("reject", "", "--reason", "x"), 2, "too short")


def test_an_ambiguous_id_is_told_with_its_candidates(person: Everest) -> None:
    project = person("project", "list", "--json").data[0]["id"]
    key = digest_key(person.home / "keys", ledger=person.home / "ledger")
    scope = Scope("me", "user", "default", project)
    seen: dict[str, str] = {}
    for number in range(5000):
        text = f"note number {number}"
        unit = note_id(key, scope, canon(text, 1))
        if unit[:4] in seen:
            break
        seen[unit[:4]] = text
    for note in (text, seen[unit[:4]]):
        assert person("remember", note, "--project", project).code == 0
    told = person("forget", unit[:4])
    _plainly(told, 2, "more than one", unit)
    assert person("forget", unit).code == 0


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"", "empty"),
        (b" \n\t ", "empty"),
        ("\u200b.".encode(), "empty"),
        (b"x" * (MAX_NOTE + 1), f"at most {MAX_NOTE}"),
        ("\N{SNOWMAN}".encode() * 300_000, f"at most {MAX_NOTE}"),
        (b"port \xff\xfe 80", "UTF-8"),
        (b"cut \xe2\x98", "UTF-8"),
    ],
    ids=["empty", "blank", "invisible", "long", "endless", "no UTF-8", "cut UTF-8"],
)
def test_a_note_that_cannot_be_kept_is_told(reader: Everest, stdin: bytes, said: str) -> None:
    before = tree_of(reader.home / "journal")
    told = reader("remember", "--project", "paperboat", stdin=stdin)
    _plainly(told, 2, said)
    assert tree_of(reader.home / "journal") == before


def test_a_note_as_long_as_it_may_be_is_kept(person: Everest) -> None:
    note = ("\N{SNOWMAN} " * MAX_NOTE)[: MAX_NOTE - 1] + "x"
    assert person("remember", "--project", "paperboat", stdin=note).code == 0


def test_a_word_of_the_command_line_that_is_no_text_is_told(reader: Everest) -> None:
    command = [os.fsencode(COMMAND), b"remember", b"port \xff", b"--project", b"paperboat"]
    done = subprocess.run(command, env=reader.env(), capture_output=True, check=False)
    assert done.returncode == 2
    assert b"UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_night_needs_no_network(newcomer: Everest, week: Path) -> None:
    for transcript in sorted(week.rglob("*.jsonl"))[2:]:
        transcript.unlink()
    command = [sys.executable, "-c", WITHOUT_NETWORK]
    told = newcomer.run([*command, "night", "--json"], EVEREST_EMBED="sentence-transformers")
    assert told.code == 0, told.err
    recall = [*command, "recall", "tests", "--project", "paperboat"]
    assert newcomer.run(recall, EVEREST_EMBED="sentence-transformers").code == 0
    guard, _, _ = WITHOUT_NETWORK.partition("from serving")
    tried = newcomer.run([sys.executable, "-c", guard + VISIT])
    assert "went to the network" in tried.err


def test_without_a_home_variable_the_account_s_own_is_taken(newcomer: Everest) -> None:
    told = newcomer("paths", "--json", HOME=None)
    assert told.code == 0, told.err
    assert told.data["home"] == str(newcomer.home)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="takes another account's id")
def test_without_any_home_folder_the_setting_is_named(newcomer: Everest) -> None:
    lost = "os.setuid(54321)\nsys.exit(run(sys.argv[1:]))"
    preload = "import contextlib, io, os, sys\nfrom serving.cli.main import run\n"
    # All is imported while it can still be read: an environment may lie where only root looks.
    preload += "with contextlib.redirect_stdout(io.StringIO()):\n    run(['paths'])\n"
    told = newcomer.run([sys.executable, "-c", preload + lost, "paths"], HOME=None)
    _plainly(told, 2, "HOME: ")
    told = newcomer.run(
        [sys.executable, "-c", preload + lost, "paths"], HOME=None, EVEREST_HOME=None
    )
    _plainly(told, 2, "EVEREST_HOME: ")


def test_a_home_that_cannot_be_made_is_told(newcomer: Everest) -> None:
    (newcomer.base / "file").touch()
    told = newcomer("ingest", EVEREST_HOME=str(newcomer.base / "file" / "home"))
    _plainly(told, 5, f"cannot write {newcomer.base / 'file'}")
