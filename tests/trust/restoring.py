"""Kill a restore at each of its own steps, and see what the next command makes of the home.

Run as a program, so that a child is forked from a process that opened no store: it prints a line of
JSON for each step.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tasks.compose import Setting
from tasks.restore import restore
from tasks.store import journal
from tasks.store.digest import store_digest
from tasks.waypoints import observe
from tests.store.build import NOW, home_in


def again(home: Path, file: Path) -> str:
    """Restore a backup into a home; return the digest that it comes to."""
    house = home_in(home)
    where = Setting(house.settings, house.places, (), None)
    return restore(where, file, at=NOW, lose_decisions=False).digest


def opened(home: Path, _: Path) -> str:
    """Open the store, as any command that writes does; return its digest."""
    with home_in(home).opened() as store:
        return store_digest(store.database)


def said(home: Path) -> list[str]:
    """Return the text of every note that stands in a journal under a home, wherever it was put."""
    return sorted(
        line.body["text"]
        for folder in home.rglob("journal")
        for read in journal.unfolded(folder, {})
        for line in read.lines
        if line.op == "remember"
    )


def _steps(home: Path, file: Path) -> list[str]:
    steps: list[str] = []
    observe(lambda name, detail: steps.append(f"{name} {detail}"))
    again(home, file)
    observe(None)
    return steps


def _die_at(step: int) -> None:
    passed = 0

    def observer(_name: str, _detail: str) -> None:
        nonlocal passed
        passed += 1
        if passed == step:
            os.kill(os.getpid(), signal.SIGKILL)

    observe(observer)


def _child(work: Callable[[], object], out: Path) -> int:
    pid = os.fork()
    if not pid:
        code = 1
        try:
            out.write_text(json.dumps(work()))
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _of(base: Path, file: Path, step: int, after: Callable[[Path, Path], str]) -> dict[str, object]:
    home, out = base / "home", base / "out"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(base / "kept", home)

    def killed() -> None:
        _die_at(step)
        again(home, file)

    code = _child(killed, out)
    ended = _child(
        lambda: [after(home, file), said(home), sorted(p.name for p in home.iterdir())], out
    )
    digest, notes, names = json.loads(out.read_text()) if ended == 0 else ("", [], [])
    return {"killed": code, "ended": ended, "digest": digest, "said": notes, "names": names}


def main(base: Path, file: Path) -> None:
    """Print what became of the home `base`/kept for each step of restoring `file` into it."""
    out = base / "steps"
    shutil.copytree(base / "kept", base / "home")
    assert _child(lambda: _steps(base / "home", file), out) == 0
    for number, step in enumerate(json.loads(out.read_text()), 1):
        if step.startswith("restore."):
            for after in (again, opened):
                told = {"step": step, "after": after.__name__, **_of(base, file, number, after)}
                sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
