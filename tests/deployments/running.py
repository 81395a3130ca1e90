"""`everest up` as a person has it running, for the tests that look at it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.prefect_home import PrefectHome, server_up
from tests.prefect_server import Server, free_port, until
from tests.serving.shipped import COMMAND, Everest


class Up:
    """A running `everest up` and the person who started it."""

    def __init__(self, base: Path, **env: str | None) -> None:
        self.person = Everest(base)
        self.port = free_port()
        self.proxy_port = free_port()
        self.env: dict[str, str | None] = {
            "EVEREST_PREFECT_PORT": str(self.port),
            "EVEREST_PROXY_PORT": str(self.proxy_port),
            **env,
        }
        self.home = PrefectHome(self.person.home / "prefect")
        self.said = base / "said"
        with self.said.open("wb") as out:
            self.process = subprocess.Popen(
                [str(COMMAND), "up"],
                env=self.person.env(**self.env),
                cwd=self.person.cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def ready(self) -> Server:
        """Wait until it tells that everything runs."""
        until(lambda: self.ended or "Ctrl-C" in self.told, lambda: self.told)
        watched = server_up(self.home)
        assert watched is not None, self.told
        return Server(self.home, watched, self.process.pid)

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def told(self) -> str:
        return self.said.read_text()

    def remains(self) -> list[str]:
        """Return the command lines of all processes that work in this home."""
        listed = subprocess.run(
            ["ps", "-ww", "-eo", "pid=,command="], capture_output=True, text=True, check=True
        )
        pids = (int(line.split()[0]) for line in listed.stdout.splitlines())
        return [found for pid in pids if (found := _works_in(pid, self.person.home))]


def _works_in(pid: int, folder: Path) -> str:
    """Return a process's command line if its environment names the folder as Everest's home."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
    return command if f"EVEREST_HOME={folder}".encode() in environ else ""


@contextmanager
def running_up(base: Path, **env: str | None) -> Iterator[Up]:
    """Run it until the end of the block; an environment's name given as None is left out."""
    up = Up(base, **env)
    try:
        yield up
    finally:
        up.process.terminate()
        up.process.wait(60)
