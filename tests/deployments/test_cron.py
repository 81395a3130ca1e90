"""Nights from a crontab, beside a stand-in of the crontab program that behaves as Debian's does."""

from __future__ import annotations

import os
import plistlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployments.cron import is_scheduled, schedule, take_out, unschedule
from tasks.compose import Setting
from tasks.errors import CrontabFailed
from tasks.settings import Places, Settings

STAND_IN = """#!/bin/sh
tab="$(dirname "$0")/tab"
case "$1" in
  -l) test -e "$tab" || { echo "no crontab for me" >&2; exit 1; }; cat "$tab" ;;
  -r) rm "$tab" ;;
  -) cat > "$tab.new"; test ! -s "$tab.new" || test -z "$(tail -c1 "$tab.new")" || exit 1
     grep -q refuse "$tab.new" && { echo "bad minute" >&2; exit 1; }; mv "$tab.new" "$tab" ;;
esac
"""
OTHERS = b"# mine\nMAILTO=me\n\n5 4 * * *\ttrue # 100\\% mine \xff\n"


@pytest.fixture
def tab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the file that the stand-in keeps the crontab in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "crontab").write_text(STAND_IN)
    (folder / "crontab").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder / "tab"


def _where(base: Path, name: str = "it's 100% home") -> Setting:
    settings = Settings.load(home=base / name)
    return Setting(settings, Places(settings.home), (), None)


def test_others_lines_stay_byte_for_byte_and_an_undo_leaves_them_alone(
    tab: Path, tmp_path: Path
) -> None:
    tab.write_bytes(OTHERS)
    where = _where(tmp_path)
    assert schedule(where, dry_run=False).changed
    assert tab.read_bytes().startswith(OTHERS)
    assert is_scheduled(where)
    assert not schedule(where, dry_run=False).changed
    later = tab.read_bytes() + b"1 1 1 1 1 later\n"
    tab.write_bytes(later)
    assert unschedule(where, dry_run=False).changed
    assert tab.read_bytes() == OTHERS + b"1 1 1 1 1 later\n"
    assert not unschedule(where, dry_run=False).changed
    assert not is_scheduled(where)


def test_with_no_crontab_one_comes_and_goes(tab: Path, tmp_path: Path) -> None:
    where = _where(tmp_path)
    schedule(where, dry_run=False)
    assert b"--if-due" in tab.read_bytes()
    unschedule(where, dry_run=False)
    assert not tab.exists()


def test_the_line_is_a_command_that_a_shell_runs(tab: Path, tmp_path: Path) -> None:
    where = _where(tmp_path)
    schedule(where, dry_run=False)
    (line,) = [one for one in tab.read_text().splitlines() if not one.startswith("#")]
    minute, *stars, command = line.split(" ", 5)
    assert minute.isdigit()
    assert stars == ["*"] * 4
    assert "%" not in command.replace("\\%", ""), "cron would end the command there"
    assert str(where.places.home).replace("'", "'\"'\"'").replace("%", "\\%") in command
    where.places.home.joinpath("paused").touch()
    shell = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    words = ["/bin/sh", "-c", command.replace("\\%", "%")]
    assert subprocess.run(words, env=shell, check=True).returncode == 0
    assert "paused" in (where.places.home / "cron.log").read_text()


def test_a_dry_run_changes_nothing(tab: Path, tmp_path: Path) -> None:
    found = schedule(_where(tmp_path), dry_run=True)
    assert found.changed
    assert "--if-due" in found.lines
    assert not tab.exists()
    assert not (tmp_path / "it's 100% home").exists()


def test_two_homes_have_lines_of_their_own(tab: Path, tmp_path: Path) -> None:
    one, two = _where(tmp_path, "one"), _where(tmp_path, "two")
    schedule(one, dry_run=False)
    schedule(two, dry_run=False)
    unschedule(one, dry_run=False)
    assert not is_scheduled(one)
    assert is_scheduled(two)


def test_lines_that_were_put_out_of_use_stay_and_are_not_taken_for_ours(
    tab: Path, tmp_path: Path
) -> None:
    where = _where(tmp_path)
    schedule(where, dry_run=False)
    out_of_use = b"".join(b"#" + line for line in tab.read_bytes().splitlines(keepends=True))
    tab.write_bytes(out_of_use)
    assert not is_scheduled(where)
    assert schedule(where, dry_run=False).changed
    assert is_scheduled(where)
    assert not schedule(where, dry_run=False).changed
    assert unschedule(where, dry_run=False).changed
    assert tab.read_bytes() == out_of_use


@pytest.mark.parametrize("cut", [b"# x: end\n", b"# x: begin"])
def test_a_missing_mark_takes_nobody_elses_lines(cut: bytes) -> None:
    marks = b"# x: begin (written by Everest; `everest setup --cron --undo` removes it)\n"
    ours = marks + b"1 * * * * env python -P -m serving.cli night --if-due\n" + b"# x: end\n"
    assert take_out(OTHERS + ours + OTHERS, "x") == OTHERS + OTHERS
    broken = (OTHERS + ours + OTHERS).replace(cut, b"")
    kept = take_out(broken, "x")
    assert kept.startswith(OTHERS)
    assert kept.endswith(OTHERS)


def test_no_crontab_program_is_told_with_the_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CrontabFailed, match="everest up --install"):
        schedule(_where(tmp_path), dry_run=False)
    assert not unschedule(_where(tmp_path), dry_run=False).changed


def test_a_refusal_is_quoted_and_changes_nothing(tab: Path, tmp_path: Path) -> None:
    tab.write_bytes(b"# refuse\n")
    with pytest.raises(CrontabFailed, match="bad minute"):
        schedule(_where(tmp_path), dry_run=False)
    assert tab.read_bytes() == b"# refuse\n"


def test_on_a_mac_launchd_does_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    where = _where(tmp_path, "home")
    found = schedule(where, dry_run=False, platform="darwin")
    assert found.changed
    assert any("bootstrap" in command for command in found.by_hand)
    told = plistlib.loads(Path(found.where).read_bytes())
    assert told["StartCalendarInterval"] == {"Hour": 3, "Minute": 30}
    assert is_scheduled(where, platform="darwin")
    assert unschedule(where, dry_run=False, platform="darwin").changed
    assert not os.path.lexists(found.where)
