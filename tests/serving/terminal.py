"""A person at a terminal: types into a program that fills the screen, and reads what it shows."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SIZE = ("-x", "150", "-y", "50")
_LONGEST = 60.0
_STILL = 0.7


@dataclass(frozen=True, slots=True)
class Terminal:
    """A screen in a `tmux` of its own."""

    socket: Path

    def types(self, words: str) -> None:
        """Type words and press Enter, as two things: what comes in one go counts as pasted."""
        self._tmux("send-keys", "-l", words)
        wait_until(lambda: words[-20:] in self.screen())
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names."""
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        """Return what stands on the screen; nothing once the program has ended."""
        return self._tmux("capture-pane", "-p")

    def sees(self, words: str, *, times: int = 1) -> None:
        """Wait until words stand on the screen so many times."""
        wait_until(lambda: self.screen().count(words) >= times, told=self.screen)

    def settles(self) -> None:
        """Wait until nothing on the screen has changed for a while."""
        before = ""
        while (now := self.screen()) != before:
            before = now
            time.sleep(_STILL)

    def is_over(self) -> bool:
        """Tell whether the program has ended."""
        return not self._tmux("list-sessions")

    def _tmux(self, *words: str) -> str:
        """Return what tmux tells, nothing when its server is gone."""
        command = ["tmux", "-S", str(self.socket), "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@contextmanager
def terminal(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, socket: Path
) -> Iterator[Terminal]:
    """Run a program on a screen until the block ends; then nothing of it is left."""
    begin = ["tmux", "-S", str(socket), "-f", "/dev/null", "new-session", "-d", *_SIZE, *command]
    subprocess.run(begin, env=dict(env), cwd=cwd, check=True)
    try:
        yield Terminal(socket)
    finally:
        end = ["tmux", "-S", str(socket), "kill-server"]
        subprocess.run(end, capture_output=True, check=False)


def wait_until(
    holds: Callable[[], object], *, within: float = _LONGEST, told: Callable[[], object] = str
) -> None:
    """Wait until something holds; when it does not in time, fail with what is `told`."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, told()
        time.sleep(0.1)
