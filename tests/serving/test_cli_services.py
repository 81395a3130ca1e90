"""`everest up --install`, `down` and `logs` by the shipped command, beside a stand-in of systemctl.

The stand-in notes what it is told and says what a file beside it says; the real one needs a login.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tasks.store.lock import writer_lock
from tests.serving.shipped import Everest, Told, tree_of

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="it stands in for systemd")

STAND_IN = """#!/bin/sh
cd "$(dirname "$0")"
case "$*" in
  *show-environment*) test -e session ;;
  *is-active*) test -e active ;;
  *) echo "$*" >> told; test ! -e refuses || { echo "it will not" >&2; exit 1; } ;;
esac
"""


class Machine:
    """A person's machine with a stand-in of systemctl."""

    def __init__(self, base: Path) -> None:
        self.person = Everest(base)
        self.bin = base / "bin"
        self.bin.mkdir()
        (self.bin / "systemctl").write_text(STAND_IN)
        (self.bin / "systemctl").chmod(0o755)
        (self.bin / "session").touch()
        self.units = self.person.user / ".config" / "systemd" / "user"

    def __call__(self, *words: str) -> Told:
        return self.person(*words, PATH=f"{self.bin}:/usr/bin:/bin")

    def told(self) -> list[str]:
        """Return what systemctl was told since this was last asked."""
        path = self.bin / "told"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [line.removeprefix("--user ").split()[0] for line in lines]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_it_is_installed_once_and_taken_away_again(machine: Machine) -> None:
    before = tree_of(machine.person.user)
    told = machine("up", "--install", "--json")
    assert told.code == 0, told.err
    assert len(told.data["written"]) == 3
    assert machine.told() == ["daemon-reload", "enable", "restart"]
    (machine.bin / "active").touch()
    assert machine("up", "--install", "--json").data["written"] == []
    assert machine.told() == []
    told = machine("down", "--uninstall", "--json")
    assert told.data["stopped"]
    assert len(told.data["removed"]) == 3
    assert machine.told() == ["stop", "disable", "daemon-reload"]
    assert not list(machine.units.iterdir())
    assert {name for name in tree_of(machine.person.user) if name not in before} <= {
        ".config",
        ".config/systemd",
        ".config/systemd/user",
    }
    assert "No service was installed" in machine("down", "--uninstall").out


def test_a_dry_run_shows_all_and_writes_nothing(machine: Machine) -> None:
    told = machine("up", "--install", "--dry-run")
    assert told.code == 0, told.err
    assert "ExecStart=" in told.out
    assert "Would run: systemctl --user enable" in told.out
    assert machine.told() == []
    assert not machine.units.exists()
    assert not machine.person.home.exists()


def test_with_no_session_the_commands_are_the_persons(machine: Machine) -> None:
    (machine.bin / "session").unlink()
    told = machine("up", "--install")
    assert told.code == 0, told.err
    assert "  systemctl --user daemon-reload" in told.out
    assert machine.told() == []
    assert len(list(machine.units.iterdir())) == 3


def test_an_edited_or_foreign_unit_is_refused(machine: Machine) -> None:
    machine("up", "--install")
    machine.told()
    service = next(machine.units.glob("*night.service"))
    service.write_text(service.read_text() + "Nice=19\n")
    told = machine("up", "--install")
    assert told.code == 2
    assert str(service) in told.err
    assert machine.told() == []
    left = machine("down", "--uninstall", "--json").data["left"]
    assert left == [str(service)]
    assert service.read_text().endswith("Nice=19\n")


def test_a_manager_that_refuses_is_quoted(machine: Machine) -> None:
    (machine.bin / "refuses").touch()
    told = machine("up", "--install")
    assert told.code == 6
    assert "it will not" in told.err


CRONTAB = """#!/bin/sh
tab="$(dirname "$0")/tab"
case "$1" in
  -l) cat "$tab" 2>/dev/null || { echo "no crontab for me" >&2; exit 1; } ;;
  -r) rm "$tab" ;;
  -) cat > "$tab" ;;
esac
"""


def test_nights_go_into_the_crontab_and_out_of_it(machine: Machine) -> None:
    (machine.bin / "crontab").write_text(CRONTAB)
    (machine.bin / "crontab").chmod(0o755)
    mine = "7 7 * * * mine\n"
    (machine.bin / "tab").write_text(mine)
    told = machine("setup", "--cron")
    assert told.code == 0, told.err
    assert "night --if-due" in told.out
    assert "night --if-due" in (machine.bin / "tab").read_text()
    assert machine("setup", "--cron", "--json").data["changed"] is False
    assert machine("setup", "--cron", "--agent", "codex").code == 2
    assert machine("setup", "--cron", "--undo", "--json").data["changed"] is True
    assert (machine.bin / "tab").read_text() == mine


def test_with_no_crontab_program_the_other_way_is_told(machine: Machine) -> None:
    told = machine.person("setup", "--cron", PATH=str(machine.bin))
    assert told.code == 2
    assert "everest up --install" in told.err


def test_logs_are_one_list_in_order_and_of_one_part(machine: Machine) -> None:
    assert "Nothing is logged yet: `everest up` does not run here." in machine("logs").out
    assert machine("logs", "hooks").out == "No hook has failed.\n"
    with writer_lock(machine.person.home / "prefect" / "up.lock", wait=0, started="now"):
        told = machine("logs", "schedules").out
        assert told == "schedules wrote nothing yet: `everest up` runs here.\n"
    prefect, spool = machine.person.home / "prefect", machine.person.home / "spool"
    prefect.mkdir(parents=True, exist_ok=True)
    spool.mkdir()
    (prefect / "server.log.1").write_text("2026-05-04T10:00:00Z first\n")
    (prefect / "server.log").write_text("2026-05-04T10:00:02Z third\n  its second line\n")
    (prefect / "proxy.log").write_text("2026-05-04T10:00:01Z second\n")
    (spool / "failures").write_text("1777888803 claude-code Stop Late\n")
    lines = machine("logs", "--json").data
    assert [(one["part"], one["text"]) for one in lines] == [
        ("server", "first"),
        ("proxy", "second"),
        ("server", "third"),
        ("server", "  its second line"),
        ("hooks", "claude-code Stop Late"),
    ]
    assert [one["text"] for one in machine("logs", "server", "-n", "1", "--json").data] == [
        "  its second line"
    ]
    told = machine("logs", "nothing")
    assert told.code == 2
    assert "schedules" in told.err


def test_logs_are_followed_over_a_change_of_file(machine: Machine) -> None:
    prefect = machine.person.home / "prefect"
    prefect.mkdir(parents=True)
    log = prefect / "proxy.log"
    log.write_text("2026-05-04T10:00:00Z old\n")
    following = machine.person.start("logs", "proxy", "--follow", "--json")
    assert following.stdout is not None
    try:
        assert json.loads(following.stdout.readline())["text"] == "old"
        with log.open("a") as file:
            file.write("2026-05-04T10:00:01Z new\n")
        assert json.loads(following.stdout.readline())["text"] == "new"
        log.rename(prefect / "proxy.log.1")
        log.write_text("2026-05-04T10:00:02Z newer\n")
        assert json.loads(following.stdout.readline())["text"] == "newer"
    finally:
        following.terminate()
        following.communicate()
