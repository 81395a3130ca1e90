"""The hook client beside a warm process: it hands on, prints, and never stands in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import timedelta
from itertools import count, takewhile
from pathlib import Path

import pytest

from tasks.domain.clock import utc_now
from tasks.hooks import client
from tasks.hooks.failures import lately
from tasks.spool import waits
from tests.hooks.homes import Hooked
from tests.hooks.serving import Answer, Served, answering, hanging, saying, serving
from tests.prefect_server import until
from tests.store.build import home_in

PROMPT = {"prompt": "please run the tests"}
TOLD = b'{"hookSpecificOutput":{"additionalContext":"\xc3\xbc \\n"}}'
_MODULES = """
import posix, sys
posix._exit = lambda code: sys.exit(",".join(sorted(sys.modules)))
sys.argv = sys.argv[1:]
place = sys.argv[0]
exec(compile(open(place).read(), place, "exec"), {"__name__": "__main__", "__file__": place})
"""
_ALARMED = """
import signal, sys
number, place, *told = sys.argv[1:]
sys.argv = [place, *told]
number = int(number)

def each(frame, event, _):
    if frame.f_code.co_filename != place:
        return None
    if event == "line" and signal.getitimer(signal.ITIMER_REAL)[0]:
        count()
    return each

def count():
    global number
    number -= 1
    if number == 0:
        sys.settrace(None)
        sys.stderr.write("alarm")
        sys.stderr.flush()
        signal.raise_signal(signal.SIGALRM)

code = compile(open(place).read(), place, "exec")
sys.settrace(each)
exec(code, {"__name__": "__main__", "__file__": place})
"""
"""Run the client with an alarm just before the nth line that it comes to while one may come."""


@pytest.fixture
def hook(tmp_path: Path) -> Hooked:
    """Give a home that learned nothing."""
    home = home_in(tmp_path / "home")
    home.places.home.mkdir()
    return Hooked(home, tmp_path)


@pytest.fixture
def brisk(hook: Hooked) -> Hooked:
    """Give the same with a second for a hook, for tests in which it waits in vain."""
    hook.env["EVEREST_HOOK_SECONDS"] = "1"
    return hook


def test_the_input_goes_to_the_warm_process_and_its_answer_is_printed(hook: Hooked) -> None:
    with serving(hook.home.places.socket, answering(TOLD)) as served:
        ran = hook("UserPromptSubmit", PROMPT)
        mute = hook("AfterTool", b"\x00\xff no JSON", agent="gemini")

    assert (ran.code, ran.out, ran.err) == (0, TOLD, b"")
    assert mute.out == TOLD
    (first, body), second = served.requests
    assert first == "POST /hook/claude-code/UserPromptSubmit HTTP/1.1"
    assert json.loads(body) == hook.told(**PROMPT)
    assert second == ("POST /hook/gemini/AfterTool HTTP/1.1", b"\x00\xff no JSON")
    assert hook.failures() == []


def test_a_whole_file_in_a_tool_call_is_handed_on(hook: Hooked) -> None:
    with serving(hook.home.places.socket, answering(b"")) as served:
        large = json.dumps({"tool_input": {"content": "x" * 3_000_000}}).encode()
        assert hook("PreToolUse", large).code == 0
        assert hook("PreToolUse", b"x" * (client.LONGEST + 1)).code == 0

    assert [len(body) for _, body in served.requests] == [len(large)]
    assert hook.failures()[0].endswith("claude-code PreToolUse Unusable")


@pytest.mark.parametrize(("written", "answered"), [(b'{"prompt":"x"}\n', 1), (b'{"pro', 0)])
def test_an_input_that_nobody_closes_is_not_waited_for(
    brisk: Hooked, written: bytes, answered: int
) -> None:
    hook = brisk
    with serving(hook.home.places.socket, answering(TOLD)) as served:
        ours, theirs = os.pipe()
        process = subprocess.Popen(
            ["sh", "-c", hook.line("Stop")],
            stdin=ours,
            stdout=subprocess.PIPE,
            env=hook.environment(),
        )
        os.write(theirs, written)
        out, _ = process.communicate(timeout=60)
        os.close(theirs)
        os.close(ours)

    assert process.returncode == 0
    assert out == (TOLD if answered else b"")
    assert len(served.requests) == answered


@pytest.mark.parametrize(
    "answer",
    [
        answering(b"no", "404 Not Found"),
        answering(b"no", "503 Service Unavailable"),
        saying(b""),
        saying(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\ncut"),
        saying(b"HTTP/1.1 200 OK\r\n\r\nno length"),
        saying(b"\x00" * 2_000_000),
        saying(b"SSH-2.0-other\r\n"),
    ],
    ids=["404", "503", "nothing", "cut", "no length", "endless", "no HTTP"],
)
def test_an_answer_that_is_none_is_silence_and_a_count(hook: Hooked, answer: Answer) -> None:
    with serving(hook.home.places.socket, answer):
        ran = hook("UserPromptSubmit", PROMPT)

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert len(hook.failures()) == 1


def test_a_warm_process_that_hangs_is_left(brisk: Hooked) -> None:
    hook = brisk
    with serving(hook.home.places.socket, hanging):
        ran = hook("UserPromptSubmit", PROMPT)
        assert not waits(hook.home.places.spool)
        end = hook("SessionEnd", {"transcript_path": "/t/one.jsonl"})

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert hook.failures()[0].endswith("claude-code UserPromptSubmit Late")
    assert (end.code, end.out) == (0, b"")
    assert [one["transcript_path"] for one in hook.spooled()] == ["/t/one.jsonl"]


@pytest.mark.parametrize("event", ["SessionEnd", "PreCompact"])
def test_what_must_not_be_lost_gets_done_when_all_is_too_slow(hook: Hooked, event: str) -> None:
    """No time at all is given: it goes on behind the agent's back, and a prompt's hook does not."""
    hook.env["EVEREST_HOOK_SECONDS"] = "0"
    ran = hook(event, {"transcript_path": "/t/one.jsonl"})
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    until(hook.spooled)
    assert hook.failures() == []
    assert hook("UserPromptSubmit", PROMPT).code == 0
    assert [one["transcript_path"] for one in hook.spooled()] == ["/t/one.jsonl"]
    assert [one.split()[-1] for one in hook.failures()] == ["Late"]


def test_what_is_written_only_after_the_hook_has_ended_is_read_all_the_same(hook: Hooked) -> None:
    hook.env["EVEREST_HOOK_SECONDS"] = "0"
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        ["sh", "-c", hook.line("SessionEnd")],
        stdin=ours,
        stdout=subprocess.PIPE,
        env=hook.environment(),
    )
    os.close(ours)
    assert process.communicate(timeout=60) == (b"", None), "the agent waits for nothing"
    os.write(theirs, json.dumps(hook.told(transcript_path="/t/late.jsonl")).encode())
    os.close(theirs)
    until(hook.spooled)
    assert [one["transcript_path"] for one in hook.spooled()] == ["/t/late.jsonl"]


@pytest.mark.parametrize("beside", ["a warm process", "none"])
def test_an_end_is_noted_wherever_the_alarm_comes(
    hook: Hooked, tmp_path: Path, beside: str
) -> None:
    """Before each line in turn: what was read, sent or begun by then is lost at none."""
    hook.env["EVEREST_HOOK_SECONDS"] = "60"  # no alarm but ours
    python = tmp_path / "python"
    python.symlink_to(sys.executable)  # with no `everest` beside it, which each would start

    def handed() -> set[str]:
        bodies = [json.loads(body) for _, body in served.requests]
        return {one["transcript_path"] for one in (*bodies, *hook.spooled())}

    def alarmed(line: int) -> bool:
        told = hook.told(transcript_path=f"/t/{line}.jsonl")
        return ended(hook, python, line, json.dumps(told).encode())

    served = Served()
    with ExitStack() as stack:
        if beside == "a warm process":
            served = stack.enter_context(serving(hook.home.places.socket, answering(b"")))
        lines = list(takewhile(alarmed, count(1)))
        assert len(lines) > 30
        until(lambda: handed() >= {f"/t/{line}.jsonl" for line in (*lines, len(lines) + 1)})
    assert hook.failures() == []


@pytest.mark.parametrize("event", ["SessionEnd", "PreCompact"])
@pytest.mark.parametrize("beside", ["a warm process", "none"])
@pytest.mark.parametrize("body", [b"", b"{", b'{"cwd":"/a}', b"\xff", b"[]", b"{}"])
def test_an_end_of_which_nothing_can_be_read_is_a_failure(
    hook: Hooked, event: str, beside: str, body: bytes
) -> None:
    with ExitStack() as stack:
        if beside == "a warm process":
            stack.enter_context(serving(hook.home.places.socket, answering(b"")))
        assert hook(event, hook.told(transcript_path="/t")).code == 0
        assert hook("Stop", body).code == 0
        assert hook.failures() == []

        ran = hook(event, body)

        assert (ran.code, ran.out, ran.err) == (0, b"", b"")
        until(hook.failures)
    assert [one.split()[1:] for one in hook.failures()] == [["claude-code", event, "Unusable"]]
    assert lately(hook.home.places.spool, now=utc_now() + timedelta(seconds=1)).count == 1


def test_what_another_account_serves_is_not_read(hook: Hooked) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can start a process of another account")
    path = hook.home.places.socket
    script = (
        "import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]);"
        "os.setuid(65534); s.listen(); print(flush=True); c, _ = s.accept(); c.recv(9);"
        "c.sendall(b'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nno')"
    )
    process = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        assert hook("UserPromptSubmit", PROMPT).out == b""
    finally:
        process.kill()
        process.communicate()
    assert hook.failures()[0].endswith("Unusable")


@pytest.mark.parametrize(
    "how",
    ["child", "variable", "file", "file until later", "unreadable file", "no number", "pipe"],
)
def test_nothing_is_done_where_we_are_to_rest(hook: Hooked, how: str) -> None:
    pause = hook.place / "paused"
    with serving(hook.home.places.socket, answering(TOLD)) as served:
        assert hook("UserPromptSubmit", PROMPT).out == TOLD
        match how:
            case "child":
                hook.env["EVEREST_CHILD"] = "1"
            case "variable":
                hook.env["EVEREST_PAUSED"] = "1"
            case "file":
                pause.touch()
            case "file until later":
                pause.write_text(f"{time.time() + 900:.0f}\n")
            case "unreadable file":
                pause.write_text("\x00\ufffd soon")
            case "no number":
                pause.write_text("nan")
            case "pipe":
                os.mkfifo(pause)

        ran = hook("UserPromptSubmit", PROMPT)
        end = hook("SessionEnd", {"transcript_path": "/t"})

    assert (ran.code, ran.out, end.code) == (0, b"", 0)
    assert len(served.requests) == 1
    assert not (hook.place / "spool").exists()


def test_a_pause_that_is_over_holds_nothing_back(hook: Hooked) -> None:
    (hook.place / "paused").write_text(f"{time.time() - 9:.0f}\n")
    with serving(hook.home.places.socket, answering(TOLD)):
        assert hook("UserPromptSubmit", PROMPT).out == TOLD


def test_a_home_that_was_removed_is_not_made_again(hook: Hooked) -> None:
    hook.place.rmdir()

    ran = hook("SessionEnd", {"transcript_path": "/t"})

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert not hook.place.exists()


def test_a_home_that_cannot_be_written_is_silence(brisk: Hooked) -> None:
    hook = brisk
    (hook.place / "spool").write_text("a file where the folder would be")
    with serving(hook.home.places.socket, hanging):
        ran = hook("UserPromptSubmit", PROMPT)

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")


def test_a_pipe_in_the_place_of_the_failures_is_not_waited_for(hook: Hooked) -> None:
    (hook.place / "spool").mkdir()
    os.mkfifo(hook.place / "spool" / "failures")

    ran = hook("UserPromptSubmit", b"x" * (client.LONGEST + 1))

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")


def test_failures_are_counted_up_to_a_size(hook: Hooked) -> None:
    failures = hook.place / "spool" / "failures"
    failures.parent.mkdir()
    failures.write_bytes(b"x" * 300_000)

    hook("UserPromptSubmit", b"x" * (client.LONGEST + 1))

    assert failures.stat().st_size == 300_000


def test_beside_a_warm_process_it_loads_next_to_nothing(hook: Hooked) -> None:
    with serving(hook.home.places.socket, answering(TOLD)):
        loaded = modules(hook)
    bare = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import sys; print(*sys.modules, sep=',')"],
        capture_output=True,
        check=True,
    )

    new = loaded - set(bare.stdout.decode().strip().split(","))
    assert new == {"_socket"}


def test_without_one_it_loads_no_slow_module(hook: Hooked) -> None:
    loaded = modules(hook)

    ours = {name for name in loaded if name.partition(".")[0] in ("tasks", "serving", "flows")}
    assert "tasks.hooks.alone" in ours
    assert ours <= {
        "tasks",
        *("tasks.bearing", "tasks.bearing_words"),
        "tasks.embedding",
        "tasks.embedding.words",
        *("tasks.hooks", "tasks.hooks.alone", "tasks.hooks.folder", "tasks.hooks.heard"),
        *("tasks.hooks.plain", "tasks.hooks.published", "tasks.hooks.unfolded"),
    }
    others = {name.partition(".")[0] for name in loaded - ours} - {"__main__"}
    assert others <= sys.stdlib_module_names
    assert loaded.isdisjoint({"re", "json", "enum", "typing", "os", "hashlib", "site", "socket"})


def ended(hook: Hooked, python: Path, line: int, body: bytes) -> bool:
    """Run the client with an alarm before a line; return whether it came so far."""
    places = hook.home.places
    told = ["claude-code", "SessionEnd", str(places.home), str(places.socket)]
    done = subprocess.run(
        [python, "-I", "-S", "-c", _ALARMED, str(line), str(Path(client.__file__)), *told],
        input=body,
        capture_output=True,
        env=hook.environment(),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr in (b"", b"alarm")
    return done.stderr == b"alarm"


def modules(hook: Hooked) -> set[str]:
    """Return what the client had loaded when it ended."""
    places = hook.home.places
    told = ["claude-code", "UserPromptSubmit", str(places.home), str(places.socket)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _MODULES, str(Path(client.__file__)), *told],
        input=json.dumps(hook.told(**PROMPT)).encode(),
        capture_output=True,
        check=False,
    )
    return set(done.stderr.decode().strip().split(","))
