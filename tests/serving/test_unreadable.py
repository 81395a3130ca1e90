"""What of a home is there and cannot be read is told, and never taken for empty.

A folder that may not be read is met as anybody meets it; other ways of being unreadable hold for
root as well.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.client import over_socket
from tests.serving.running import RunningProxy, running_proxy
from tests.serving.shipped import Everest, Told

WAY_OUT = "then run this again"
RECALL = ("call", "recall", json.dumps({"query": "pnpm"}), "--project", "paperboat")
READING = (
    ("lessons",),
    ("recall", "pnpm", "--project", "paperboat"),
    RECALL,
    ("status",),
)
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="rights are given up by Linux's own call"
)


def plainly(told: Told, code: int, *said: str) -> None:
    assert told.code == code, told.out + told.err
    assert "Traceback" not in told.err
    for words in said:
        assert words in told.err


def a_file(path: Path) -> None:
    path.write_bytes(b"not what is expected here\n")


def a_circle(path: Path) -> None:
    path.symlink_to(path)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def a_folder(path: Path) -> None:
    path.mkdir()


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as door:  # its path may be too long for a socket's
        before = Path.cwd()
        os.chdir(path.parent)
        try:
            door.bind(path.name)
        finally:
            os.chdir(before)


def rejected(person: Everest) -> str:
    """Reject a lesson of the first night; return its id, which is listed no more."""
    lesson = str(person.lessons("--project", "paperboat")[0]["lesson_id"])
    assert person.at_terminal("reject", lesson, "--reason", "wrong", typed="y\n").code == 0
    assert lesson not in [one["lesson_id"] for one in person.lessons()]
    assert person("status", "--json").data["unfolded"] == 1
    return lesson


# --- the journal ---


@pytest.mark.parametrize("stand", [a_file, a_circle])
def test_a_lesson_does_not_come_back_while_the_journal_cannot_be_read(
    person: Everest, stand: Callable[[Path], None]
) -> None:
    lesson, journal = rejected(person), person.home / "journal"
    aside = journal.rename(person.home / "journal-aside")
    stand(journal)
    for words in READING:
        told = person(*words)
        plainly(told, 4, str(journal), WAY_OUT)
        assert lesson not in told.out
    journal.unlink()
    aside.rename(journal)
    assert lesson not in [one["lesson_id"] for one in person.lessons()]


@linux
@pytest.mark.parametrize("segment", [False, True], ids=["folder", "segment"])
def test_nor_while_it_may_not_be_read(person: Everest, segment: bool) -> None:  # noqa: FBT001
    lesson, journal = rejected(person), person.home / "journal"
    closed = min(journal.glob("*.jsonl")) if segment else journal
    mode = closed.stat().st_mode
    closed.chmod(0)
    for words in READING:
        told = person.as_anybody(*words)
        plainly(told, 4, str(closed), "Permission denied", WAY_OUT)
        assert lesson not in told.out
    closed.chmod(mode)
    listed = person.as_anybody("lessons", "--json")
    assert listed.code == 0, listed.err
    assert lesson not in listed.out


@pytest.mark.parametrize("make", [a_pipe, a_link_to_a_pipe, a_folder, a_circle, a_socket])
def test_a_segment_that_is_no_file_is_refused_and_keeps_nobody_waiting(
    newcomer: Everest, make: Callable[[Path], None]
) -> None:
    assert newcomer("remember", "Port 8123.").code == 0
    segment = newcomer.home / "journal" / "2026-01-01-cli.jsonl"
    make(segment)
    recall = ("recall", "port")
    for words in (recall, ("remember", "x")):
        plainly(newcomer(*words), 4, str(segment), WAY_OUT)
    segment.rmdir() if make is a_folder else segment.unlink()
    told = newcomer(*recall)
    assert told.code == 0, told.err
    assert "8123" in told.out


def test_a_night_refuses_it_too(newcomer: Everest) -> None:
    segment = newcomer.home / "journal" / "2026-01-01-cli.jsonl"
    segment.parent.mkdir(parents=True)
    a_pipe(segment)
    plainly(newcomer("night"), 4, str(segment), WAY_OUT)


def test_a_pipe_in_the_place_of_todays_segment_is_not_written_to(newcomer: Everest) -> None:
    assert newcomer("remember", "one", "--everywhere").code == 0
    [segment] = (newcomer.home / "journal").glob("*.jsonl")
    kept = segment.read_bytes()
    segment.unlink()
    a_pipe(segment)
    told = newcomer("remember", "two", "--everywhere")
    assert told.code in (4, 5), told.err
    assert str(segment) in told.err
    assert "Traceback" not in told.err
    segment.unlink()
    segment.write_bytes(kept)
    assert newcomer("remember", "two", "--everywhere").code == 0


# --- the ledger, the key, the relay, the inbox ---


def test_a_pipe_in_the_ledger_is_refused(person: Everest) -> None:
    segment = person.home / "ledger" / "000002.jsonl"
    a_pipe(segment)
    for words in (("night",), ("rebuild",)):
        plainly(person(*words), 4, str(segment), WAY_OUT)
    segment.unlink()
    assert person("check").code == 0


@linux
@pytest.mark.parametrize("name", ["ledger", "keys/digest.key"])
def test_a_ledger_or_a_key_that_may_not_be_read_is_told(person: Everest, name: str) -> None:
    closed = person.home / name
    mode = closed.stat().st_mode
    closed.chmod(0)
    told = person.as_anybody("night")
    closed.chmod(mode)
    plainly(told, 4, str(closed), "Permission denied")
    assert person.as_anybody("night").code == 0


def test_what_is_no_file_in_relay_and_inbox_is_named_and_the_rest_taken_in(
    person: Everest,
) -> None:
    event = {"kind": "said", "text": "Port 8123 it is.", "role": "user", "project": "paperboat"}
    for folder in ("relay", "inbox"):
        (person.home / folder).mkdir(exist_ok=True)
    pipes = [person.home / "relay" / "shop-0a1b2c3d.jsonl", person.home / "inbox" / "a.jsonl"]
    for pipe in pipes:
        a_pipe(pipe)
    whole = person.home / "inbox" / "b.jsonl"
    whole.write_text(json.dumps(event) + "\n")
    told = person("ingest", "--json")
    assert told.code == 0, told.err
    problems = "\n".join(told.data["problems"])
    assert all(str(pipe) in problems for pipe in pipes), problems
    assert not whole.exists(), "the file beside it was taken in"


# --- the pointer to the view ---


def _pointer(data: bytes) -> Callable[[Path], Path]:
    def damage(view: Path) -> Path:
        (view / "current").write_bytes(data)
        return view / "current"

    return damage


def _pipe_for(name: str) -> Callable[[Path], Path]:
    def damage(view: Path) -> Path:
        (view / name).unlink()
        a_pipe(view / name)
        return view / name

    return damage


def _manifest(**fields: Any) -> Callable[[Path], Path]:
    def damage(view: Path) -> Path:
        path = view / "1.json"
        path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}))
        return path

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        _pointer(b"\xed\xa0"),
        _pointer(b"x" * 300),
        _pointer(b"a\0b"),
        _pointer(b""),
        _pointer(b"../../../etc"),
        _pointer(b"."),
        _pipe_for("current"),
        _pipe_for("1.json"),
        _manifest(offsets=[]),
        _manifest(scopes=[[["", "", "", ""], "a", "b"]]),
    ],
    ids=["bytes", "long", "zero", "empty", "up", "dot", "pipe", "piped", "offsets", "scopes"],
)
def test_a_damaged_pointer_is_told(person: Everest, damage: Callable[[Path], Path]) -> None:
    assert (person.home / "view" / "current").read_bytes() == b"1.json"
    damaged = damage(person.home / "view")
    plainly(person("lessons"), 4, str(damaged), "`everest rebuild`")


@pytest.mark.parametrize("damage", [_pointer(b"\xed\xa0"), _pipe_for("1.json")])
def test_every_reader_tells_of_it_and_a_rebuild_mends_it(
    person: Everest, damage: Callable[[Path], Path]
) -> None:
    before = person.digest()
    damaged = damage(person.home / "view")
    for words in (*READING[1:], ("check",)):
        plainly(person(*words), 4, str(damaged), "`everest rebuild`")
    with running_proxy(person) as proxy:
        health = over_socket(proxy, "GET", "/health")
        assert health.status == 200
        assert any(str(damaged) in one for one in health.data["problems"])
    assert person("rebuild").code == 0
    assert person.digest() == before


@linux
@pytest.mark.parametrize("name", ["current", "1.json"])
def test_a_pointer_that_may_not_be_read_is_told_and_a_rebuild_mends_it(
    person: Everest, name: str
) -> None:
    closed = person.home / "view" / name
    closed.chmod(0)
    plainly(person.as_anybody("lessons"), 4, str(closed), "Permission denied", "everest rebuild")
    rebuilt = person.as_anybody("rebuild")
    assert rebuilt.code == 0, rebuilt.err
    listed = person.as_anybody("lessons")
    assert listed.code == 0, listed.err


# --- the warm process ---


def model_state(proxy: RunningProxy) -> str:
    state: str = over_socket(proxy, "GET", "/health").data["model"]["state"]
    return state


def eventually(wanted: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 50
    while not wanted():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def reader_lives(proxy: RunningProxy) -> None:
    """Let the reader's thread take up another model, as it alone does."""
    choice = proxy.person.home / "model.json"
    for embed, state in (("hashed", "loaded"), ("nonsense", "unusable")):
        choice.write_text(json.dumps({"embed": embed}))
        eventually(lambda state=state: model_state(proxy) == state)  # type: ignore[misc]


def ended(proxy: RunningProxy) -> str:
    """End a proxy; return what it wrote on standard error."""
    proxy.process.send_signal(signal.SIGTERM)
    said: bytes = proxy.process.communicate(timeout=30)[1]
    return said.decode()


@pytest.mark.parametrize("place", ["journal", "view"])
def test_the_warm_process_tells_what_it_cannot_read_and_goes_on(
    newcomer: Everest, place: str
) -> None:
    assert newcomer("remember", "Port 8123.", "--everywhere").code == 0
    folder = newcomer.home / place
    folder.mkdir(exist_ok=True)
    with running_proxy(newcomer, EVEREST_EMBED=None) as proxy:
        eventually(lambda: over_socket(proxy, "GET", "/health").data["status"] == "ok")
        aside = folder.rename(folder.with_name("aside"))
        a_file(folder)
        health = over_socket(proxy, "GET", "/health")
        assert (health.status, health.data["status"]) == (200, "degraded")
        assert any(str(folder) in one for one in health.data["problems"])
        assert health.data["journal"]["waiting"] is None
        time.sleep(2)  # the thread looks four times meanwhile
        folder.unlink()
        aside.rename(folder)
        mended = over_socket(proxy, "GET", "/health").data
        assert mended["problems"] == []
        assert mended["journal"]["waiting"] == 1
        reader_lives(proxy)
        assert "Exception in thread" not in ended(proxy)


def test_a_fault_of_ours_is_logged_by_its_kind_and_the_reader_goes_on(person: Everest) -> None:
    for path in (person.home / "view").rglob("lessons.npy"):
        np.save(path, np.array([10**6]), allow_pickle=False)
    with running_proxy(person, EVEREST_EMBED=None) as proxy:
        assert proxy.process.stderr is not None
        line = proxy.process.stderr.readline().decode()
        assert "a fault of ours: IndexError in the reader's thread" in line
        reader_lives(proxy)
        assert "Exception in thread" not in ended(proxy)
