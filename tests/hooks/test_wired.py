"""The command that is wired: right for any path, and silent when anything that it needs is gone."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.errors import UsageError
from tasks.hooks.wired import CLIENT, MARK, command, is_ours

ODD = [
    "plain",
    "two words",
    "it's",
    'a "quoted" one',
    "$HOME and `id`",
    "back\\slash",
    "ünï",
    "-x",
    "*",
]


@pytest.fixture
def client(tmp_path: Path) -> Path:
    """Give a client that tells what it was called with."""
    place = tmp_path / "the client's" / MARK
    place.parent.mkdir(parents=True)
    place.write_text("import sys; print(sys.argv[1:], sys.flags.isolated, sys.flags.no_site)")
    return place


def run(line: str) -> tuple[int, str, str]:
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, check=False, input="", timeout=20
    )
    return done.returncode, done.stdout, done.stderr


def with_client(line: str, client: Path) -> str:
    return line.replace(shlex.quote(str(CLIENT)), shlex.quote(str(client)))


@pytest.mark.parametrize("name", ODD)
def test_paths_come_through_the_shell_as_they_are(tmp_path: Path, client: Path, name: str) -> None:
    python = tmp_path / name / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    home = tmp_path / name / "home"
    line = command(python, home, home / "door.sock", "claude-code", "Stop")

    code, out, err = run(with_client(line, client))

    expected = ["claude-code", "Stop", str(home), str(home / "door.sock")]
    assert (code, out.strip(), err) == (0, f"{expected} 1 1", "")
    assert is_ours(line, home)


def test_a_path_that_no_settings_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another folder"):
        command(Path(sys.executable), tmp_path / "a\nb", tmp_path / "s", "codex", "Stop")


@pytest.mark.parametrize("gone", ["interpreter", "link", "client", "all of it"])
def test_what_is_gone_is_silence(tmp_path: Path, client: Path, gone: str) -> None:
    python, base = tmp_path / "bin" / "python", tmp_path / "base"
    python.parent.mkdir()
    shutil.copy(sys.executable, base)
    python.symlink_to(base if gone == "link" else sys.executable)
    line = with_client(command(python, tmp_path, tmp_path / "s", "gemini", "AfterAgent"), client)
    assert gone == "link" or run(line)[1], "it runs while all is there"

    if gone in ("interpreter", "all of it"):
        python.unlink()
    if gone in ("client", "all of it"):
        client.unlink()
    if gone == "link":
        base.unlink()

    assert run(line) == (0, "", "")


def test_an_interpreter_that_cannot_start_says_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho trouble >&2\n")
    broken.chmod(0o700)

    _, out, err = run(command(broken, tmp_path, tmp_path / "s", "codex", "Stop"))

    assert (out, err) == ("", "")


def test_ours_are_known_by_their_home(tmp_path: Path) -> None:
    line = command(Path(sys.executable), tmp_path, tmp_path / "s", "codex", "Stop")

    assert is_ours(line, tmp_path)
    assert not is_ours(line, tmp_path / "other")
    assert not is_ours(f"echo {tmp_path} {CLIENT}", tmp_path)
    assert not is_ours("echo 'unclosed", tmp_path)
