"""A process with Everest loaded that forks a child for each command: quick, and as real as a start.

A child runs the shipped entry in the environment it was given and ends by itself or by SIGKILL at
the step it was told to die at. The parent starts no thread and opens no store, so a fork is clean.
"""

from __future__ import annotations

import importlib
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Order:
    """A command to run, as a person would: words, environment, folder and standard input.

    Attributes:
        die_at: number of the step at which to be killed, the first being 1; 0 for never.
        die_on: the name of the step to be killed at, with a pass's own; "" for none.
        most_bytes: the longest that a file may become, as where a disk is full; 0 for any length.
        at_terminal: whether a terminal is at both ends.
        function: `module:name` of a function to call with `words` instead of the command.
    """

    words: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: str = ""
    die_at: int = 0
    die_on: str = ""
    most_bytes: int = 0
    at_terminal: bool = False
    function: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code, or minus the signal; what it said; the steps passed."""

    code: int
    out: str
    err: str
    steps: tuple[str, ...] = field(default=(), repr=False)


class Nursery:
    """The parent process, seen from the tests."""

    def __init__(self, *warm: Order, inside: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            [*inside, sys.executable, "-m", "tests.trust.nursery"],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask({"warm": [asdict(order) for order in warm]})

    def __call__(self, order: Order) -> Ended:
        """Run a command to its end."""
        told = self._ask(asdict(order))
        return Ended(told["code"], told["out"], told["err"], tuple(told["steps"]))

    def close(self) -> None:
        """End the parent."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait(20)

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def _serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "warm" in asked:
            for order in asked["warm"]:
                _load(_order(order))
            answer: dict[str, Any] = {"loaded": len(sys.modules)}
        else:
            answer = asdict(_run(_order(asked)))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _order(told: dict[str, Any]) -> Order:
    return Order(**{**told, "words": tuple(told["words"])})


def _load(order: Order) -> None:
    """Load here what the command loads, found by running it in a child."""
    ended = _run(order, then=_tell_loaded)
    assert ended.code == 0, f"{order.words}: {ended.code} {ended.out} {ended.err}"
    told = json.loads(ended.steps[-1])
    for name in told["modules"]:
        if name != "__main__" and not name.startswith("prefect"):
            importlib.import_module(name)
    for pattern, flags in told["patterns"]:
        re.compile(pattern, flags)
    assert threading.active_count() == 1


def _tell_loaded(steps: list[str]) -> None:
    # by the flags that they were asked for with: those that a pattern has are more
    compiled = list(re._cache)  # type: ignore[attr-defined]
    loaded = {
        "modules": [name for name, module in sys.modules.items() if module is not None],
        "patterns": [(text, int(flags)) for kind, text, flags in compiled if kind is str],
    }
    steps.append(json.dumps(loaded))


def _run(order: Order, then: Callable[[list[str]], None] = lambda _: None) -> Ended:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "in").write_text(order.stdin)
        ours, theirs = pty.openpty() if order.at_terminal else (-1, -1)
        child = os.fork()
        if not child:
            _be_the_command(order, place, theirs, then)
        if order.at_terminal:
            os.close(theirs)
            (place / "out").write_bytes(_all_of(ours))
        _, status = os.waitpid(child, 0)
        return Ended(
            os.waitstatus_to_exitcode(status),
            _text(place / "out"),
            _text(place / "err"),
            tuple(_text(place / "steps").splitlines()),
        )


def _be_the_command(
    order: Order, place: Path, terminal: int, then: Callable[[list[str]], None]
) -> None:
    """Run the order in this forked child; never returns."""
    code = 70
    try:
        _dress(order, place, terminal)
        steps = _watch(place / "steps", order)
        code = _called(order) if order.function else _commanded(order)
        then(steps)
        with (place / "steps").open("a") as file:
            file.writelines(f"{step}\n" for step in steps)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001  a child must never run on as the parent
        import traceback  # noqa: PLC0415

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _dress(order: Order, place: Path, terminal: int) -> None:
    """Give the child its own folder, environment and streams."""
    os.environ.clear()
    os.environ.update(order.env)
    os.chdir(order.cwd)
    if order.most_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order.most_bytes, resource.RLIM_INFINITY))
    os.umask(0o077)
    for number, name, flags in (
        (0, "in", os.O_RDONLY),
        (1, "out", os.O_WRONLY | os.O_CREAT),
        (2, "err", os.O_WRONLY | os.O_CREAT),
    ):
        opened = terminal if terminal >= 0 else os.open(place / name, flags)
        os.dup2(opened, number)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(0, closefd=False),
        os.fdopen(1, "w", closefd=False),
        os.fdopen(2, "w", closefd=False),
    )


def _watch(trace: Path, order: Order) -> list[str]:
    from tasks.waypoints import observe  # noqa: PLC0415  the child's

    steps: list[str] = []

    def observer(name: str, detail: str) -> None:
        steps.append(f"{name} {detail}".strip())
        if len(steps) == order.die_at or order.die_on in (name, steps[-1]):
            trace.write_text("".join(f"{step}\n" for step in steps))
            os.kill(os.getpid(), signal.SIGKILL)

    observe(observer)
    return steps


def _commanded(order: Order) -> int:
    from serving.cli.main import run  # noqa: PLC0415  the child's

    sys.argv = ["everest", *order.words]
    return run(list(order.words))


def _called(order: Order) -> int:
    module, name = order.function.split(":")
    json.dump(getattr(importlib.import_module(module), name)(*order.words), sys.stdout)
    return 0


def _all_of(descriptor: int) -> bytes:
    parts: list[bytes] = []
    try:
        while part := os.read(descriptor, 65536):
            parts.append(part)
    except OSError:  # Linux tells so that the other side is closed
        pass
    finally:
        os.close(descriptor)
    return b"".join(parts)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    _serve()
